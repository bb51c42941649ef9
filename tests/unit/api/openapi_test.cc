#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/api/api_driver.h"
#include "tests/support/api/json_schema.h"

namespace ackline::api {
namespace {

namespace json = boost::json;
using testing::Answer;
using testing::ApiDriver;
using ::testing::HasSubstr;
using ::testing::Not;

const json::value& document() {
  static const json::value parsed = json::parse(openapi_document());
  return parsed;
}

TEST(OpenApi, IsTheFileThatTheBinaryServesOnBothPorts) {
  std::ifstream file(ACKLINE_SOURCE_DIR "/src/ackline/api/openapi.json");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(openapi_document(), text.str());
  ApiDriver api;
  EXPECT_EQ(api.get("/openapi.json").body, text.str());
  EXPECT_EQ(api.admin_get("/openapi.json").body, text.str());
  EXPECT_EQ(document().at("openapi").as_string(), "3.1.0");
}

TEST(OpenApi, HasExactlyTheRoutesThatAreBuilt) {
  std::set<std::string> in_code;
  std::set<std::string> in_file;
  for (const RouteInfo& route : route_list()) {
    if (route.built) in_code.insert(std::string(route.method) + " " + std::string(route.path));
  }
  for (const auto& path : document().at("paths").as_object()) {
    for (const auto& operation : path.value().as_object()) {
      std::string method(operation.key());
      for (char& c : method) c = static_cast<char>(c - 'a' + 'A');
      in_file.insert(method + " " + std::string(path.key()));
    }
  }
  EXPECT_EQ(in_code, in_file);
}

TEST(OpenApi, SaysWhichPortAndWhichNeedTheToken) {
  for (const RouteInfo& route : route_list()) {
    if (!route.built) continue;
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    const json::value& operation = document().at("paths").at(route.path).at(method);
    EXPECT_EQ(operation.at("tags").at(0).as_string() == "traffic", route.on_traffic) << route.path;
    EXPECT_EQ(operation.as_object().contains("security"), route.needs_token) << route.path;
    for (std::size_t brace = route.path.find('{'); brace != std::string_view::npos;
         brace = route.path.find('{', brace + 1)) {
      const std::string name(route.path.substr(brace + 1, route.path.find('}', brace) - brace - 1));
      bool found = false;
      for (const json::value& parameter : operation.at("parameters").as_array()) {
        found = found || (parameter.at("in").as_string() == "path" &&
                          parameter.at("name").as_string() == std::string_view(name));
      }
      EXPECT_TRUE(found) << route.path << name;
    }
  }
}

TEST(OpenApi, HasExactlyTheErrorWordsOfTheCode) {
  std::set<std::string> in_code;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kFull); ++code) {
    in_code.emplace(error_word(static_cast<ErrorCode>(code)));
  }
  std::set<std::string> in_file;
  for (const json::value& word :
       document().at_pointer("/components/schemas/Problem/properties/error/enum").as_array()) {
    in_file.emplace(word.as_string());
  }
  EXPECT_EQ(in_code, in_file);
}

TEST(OpenApi, EveryReferenceLeadsSomewhereAndEverySchemaIsChecked) {
  const std::string text(openapi_document());
  std::set<std::string> used;
  constexpr std::string_view kStart = "\"#/components/schemas/";
  for (std::size_t at = text.find(kStart); at != std::string::npos;
       at = text.find(kStart, at + 1)) {
    const std::size_t from = at + kStart.size();
    used.insert(text.substr(from, text.find('"', from) - from));
  }
  const testing::SchemaChecker checker(document());
  std::set<std::string> defined;
  for (const auto& schema : document().at_pointer("/components/schemas").as_object()) {
    defined.emplace(schema.key());
    std::vector<std::string> unknown;
    checker.unknown_keywords(schema.value(), unknown);
    EXPECT_EQ(unknown, std::vector<std::string>()) << schema.key();
  }
  EXPECT_EQ(used, defined);
}

TEST(OpenApi, CheckerSeesWhatDoesNotFit) {
  const testing::SchemaChecker checker(document());
  const json::value& schema = document().at_pointer("/components/schemas/Published");
  const auto check = [&](std::string_view text) {
    return checker.check(schema, json::parse(text));
  };
  EXPECT_EQ(check(R"({"status":"accepted","topic":"t","partition":0,"offset":1})"), "");
  EXPECT_NE(check(R"({"status":"accepted","topic":"t","partition":0})"), "");
  EXPECT_NE(check(R"({"status":"accepted","topic":"t","partition":0,"offset":-1})"), "");
  EXPECT_NE(check(R"({"status":"accepted","topic":"t","partition":0,"offset":"1"})"), "");
  EXPECT_NE(check(R"({"status":"kept","topic":"t","partition":0,"offset":1})"), "");
  EXPECT_NE(check(R"({"status":"accepted","topic":"t","partition":0,"offset":1,"x":1})"), "");
}

TEST(LivePage, ComesFromThisServerOnlyAndRunsNothingElse) {
  ApiDriver api;
  const Answer html = api.admin_get("/");
  EXPECT_EQ(html.status, 200);
  EXPECT_THAT(html.header("content-security-policy"), HasSubstr("default-src 'none'"));
  EXPECT_EQ(html.header("x-content-type-options"), "nosniff");
  EXPECT_THAT(html.body, HasSubstr("<html lang=\"en\">"));
  EXPECT_THAT(html.body, HasSubstr("name=\"viewport\""));
  EXPECT_THAT(html.body, HasSubstr("Ackline 0.1.0<"));
  for (const char* path : {"/", "/ui/live.css", "/ui/live.js"}) {
    const std::string text = api.admin_get(path).body;
    EXPECT_GT(text.size(), 200U) << path;
    EXPECT_THAT(text, Not(HasSubstr("http://"))) << path;
    EXPECT_THAT(text, Not(HasSubstr("https://"))) << path;
  }
  EXPECT_THAT(html.body, Not(HasSubstr("style=")));
  EXPECT_THAT(html.body, Not(HasSubstr("onclick")));
  const std::string script = api.admin_get("/ui/live.js").body;
  EXPECT_THAT(script, Not(HasSubstr("innerHTML"))) << "names are text, never markup";
  EXPECT_THAT(api.admin_get("/ui/live.css").body, HasSubstr("prefers-color-scheme"));
}

}  // namespace
}  // namespace ackline::api

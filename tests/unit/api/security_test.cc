#include <gmock/gmock.h>

#include "ackline/api/routes.h"
#include "tests/support/api/api_driver.h"

namespace ackline::api {
namespace {

using http::ListenerKind;
using testing::Answer;
using testing::ApiDriver;
using ::testing::HasSubstr;

// A path of the pattern.
std::string path_of(std::string_view pattern) {
  std::string path;
  bool inside = false;
  for (const char c : pattern) {
    if (c == '{') path += "x";
    inside = c == '{' || (inside && c != '}');
    if (!inside && c != '}') path += c == '*' ? 'x' : c;
  }
  return path;
}

TEST(Security, EveryRouteRefusesForeignHostsAndOrigins) {
  ApiDriver api;
  for (const Route& route : routes()) {
    for (const ListenerKind listener : {ListenerKind::kTraffic, ListenerKind::kAdmin}) {
      const std::string path = path_of(route.path);
      EXPECT_EQ(api.ask(listener, route.method, path, "", {{"Host", "evil.example"}}).error(),
                "forbidden")
          << path;
      const Answer origin =
          api.ask(listener, route.method, path, "",
                  {{"Origin", "https://evil.example"}, {"Authorization", "Bearer sesame"}});
      EXPECT_EQ(origin.status, 403) << path;
      EXPECT_EQ(origin.error(), "forbidden") << path;
    }
  }
  EXPECT_EQ(api.fake_admin.calls, 0);
  EXPECT_EQ(
      api.ask(ListenerKind::kTraffic, "GET", "/livez", "", {{"Origin", "http://127.0.0.1:10105"}})
          .status,
      200);
}

TEST(Security, EveryChangeNeedsTheTokenAndJson) {
  ApiDriver api;
  int changes = 0;
  for (const Route& route : routes()) {
    if (!route.changes) continue;
    ++changes;
    const std::string path = path_of(route.path);
    const auto with = [&](testing::Fields fields) {
      return api.ask(ListenerKind::kAdmin, route.method, path, "{}", std::move(fields));
    };
    const std::pair<std::string, std::string> json{"Content-Type", "application/json"};
    for (const char* token : {"", "sesame", "Basic sesame", "Bearer", "Bearer ", "Bearer sesam",
                              "Bearer sesamee", "Bearer Sesame"}) {
      const Answer answer = with({json, {"Authorization", token}});
      EXPECT_EQ(answer.status, 401) << path << token;
      EXPECT_EQ(answer.error(), "unauthorized");
      EXPECT_EQ(answer.header("www-authenticate"), "Bearer");
    }
    if (route.body == BodyKind::kJson) {
      for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded",
                               "application/cloudevents+json"}) {
        EXPECT_EQ(with({{"Authorization", "Bearer sesame"}, {"Content-Type", type}}).status, 415)
            << path << type;
      }
    }
    EXPECT_NE(with({{"Authorization", "bearer sesame"}, json}).status, 401) << path;
  }
  EXPECT_EQ(changes, 13);
}

TEST(Security, WithoutATokenNothingMayBeChanged) {
  ApiDriver api;
  RouterOptions options;
  options.listener = ListenerKind::kAdmin;
  options.hosts = http::allowed_hosts("127.0.0.1", {});
  api.admin_router =
      make_router(options, {api.traffic, api.fake_admin, api.executor, api.metrics, {}, {}});
  EXPECT_EQ(api.admin("POST", "/admin/drain", "{}").status, 401);
  EXPECT_EQ(api.ask(ListenerKind::kAdmin, "POST", "/admin/drain", "{}",
                    {{"Authorization", "Bearer "}, {"Content-Type", "application/json"}})
                .status,
            401);
  EXPECT_EQ(api.admin_get("/admin/config").body, R"({"items":[],"next":null})");
  EXPECT_EQ(api.admin_get("/metrics").status, 200);
}

TEST(Routing, UnknownPathsAreNotFoundAndSayWhereTheyAre) {
  ApiDriver api;
  EXPECT_EQ(api.get("/nothing").error(), "not_found");
  EXPECT_THAT(api.get("/admin/lag").at("/remedy"), HasSubstr("admin port"));
  EXPECT_THAT(api.admin_get("/events/poll?clientId=c").at("/remedy"), HasSubstr("traffic port"));
  EXPECT_EQ(api.admin_get("/admin/topics/a/b").error(), "not_found");
  EXPECT_EQ(api.admin_get("/admin/topics/").error(), "not_found");
  EXPECT_EQ(api.get("/EVENTS/poll").error(), "not_found");
  EXPECT_EQ(api.get("/").error(), "not_found");
}

TEST(Routing, WrongMethodsSayWhatIsAllowed) {
  ApiDriver api;
  const Answer answer = api.get("/events/ack");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.error(), "method_not_allowed");
  EXPECT_EQ(answer.header("allow"), "POST");
  EXPECT_EQ(api.admin("PUT", "/admin/groups/t/g").header("allow"), "GET, PATCH, DELETE");
  EXPECT_EQ(api.ask(ListenerKind::kTraffic, "OPTIONS", "/events/publish").status, 405);
  EXPECT_EQ(api.ask(ListenerKind::kTraffic, "HEAD", "/events/poll?clientId=c").status, 405);
}

TEST(Routing, HeadIsGetWithoutItsBody) {
  ApiDriver api;
  testing::Wire wire = api.wire();
  wire.send(ApiDriver::request("HEAD", "/livez", "", {}));
  const Answer answer = testing::parse_answer(wire.take());
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "");
}

TEST(Routing, WhatThisBuildLacksAnswersByName) {
  ApiDriver api;
  for (const AbsentRoute& absent : absent_routes()) {
    const ListenerKind listener =
        (absent.listeners & kOnAdmin) != 0 ? ListenerKind::kAdmin : ListenerKind::kTraffic;
    for (const char* method : {"GET", "POST"}) {
      const Answer answer = api.ask(listener, method, path_of(absent.path));
      EXPECT_EQ(answer.status, 501) << absent.path;
      EXPECT_EQ(answer.error(), "unsupported") << absent.path;
      EXPECT_THAT(answer.at("/detail"), HasSubstr(std::string(absent.part)));
    }
  }
}

TEST(Routing, EveryRouteRefusesUnknownParameters) {
  ApiDriver api;
  for (const Route& route : routes()) {
    const ListenerKind listener =
        (route.listeners & kOnAdmin) != 0 ? ListenerKind::kAdmin : ListenerKind::kTraffic;
    if (route.path == "/" || route.path.starts_with("/ui/")) continue;
    const std::string target = path_of(route.path) + "?surprise=1";
    const Answer answer =
        api.ask(listener, route.method, target, "{}",
                {{"Authorization", "Bearer sesame"}, {"Content-Type", "application/json"}});
    EXPECT_EQ(answer.error(), "unknown_field") << route.method << target << answer.body;
    EXPECT_EQ(answer.at("/field"), "surprise") << target;
  }
}

TEST(Routing, MalformedRequestsAreTheConnectionsToRefuse) {
  ApiDriver api;
  testing::Wire wire = api.wire();
  wire.send("GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n");
  EXPECT_THAT(wire.take(), HasSubstr("bad_request"));
  testing::Wire large = api.wire();
  large.send("POST /events/ack HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_THAT(large.take(), HasSubstr("too_large"));
}

}  // namespace
}  // namespace ackline::api

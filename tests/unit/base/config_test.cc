#include "ackline/base/config.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

namespace ackline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ConfigSources yaml(std::string text) {
  return ConfigSources{.file_path = "a.yaml", .file_text = std::move(text)};
}

Error problem_of(const ConfigSources& sources) {
  const ConfigReport report = load_config(sources);
  EXPECT_EQ(report.problems.size(), 1U);
  return report.problems.empty() ? Error{} : report.problems.front();
}

TEST(Config, DefaultsNeedNoSource) {
  const Config config;
  EXPECT_EQ(config.integer("http.port"), 10105);
  EXPECT_EQ(config.duration_ms("delivery.ackTimeout"), 30'000);
  EXPECT_EQ(config.size_bytes("disk.reserve"), std::int64_t{256} << 20);
  EXPECT_EQ(config.string("storage.type"), "local");
  EXPECT_TRUE(config.boolean("topic.autoCreate"));
  EXPECT_TRUE(config.list("http.names").empty());
  EXPECT_EQ(config.number_or_none("retention.holdBytes"), std::nullopt);
  EXPECT_FALSE(config.is_set("http.port"));
  EXPECT_EQ(config.entry("http.port").origin, "default");
}

TEST(Config, TheStrongerSourceWins) {
  ConfigSources sources =
      yaml("http:\n  port: 1\nadmin:\n  port: 1\ntcp: {}\ntopic:\n  partitions: 7\n");
  sources.environment = {"ACKLINE_HTTP_PORT=2", "ACKLINE_ADMIN_PORT=2", "PATH=/bin"};
  sources.definitions = {"http.port=3"};
  const auto config = Config::load(sources);
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->integer("http.port"), 3);
  EXPECT_EQ(config->entry("http.port").origin, "flag");
  EXPECT_EQ(config->integer("admin.port"), 2);
  EXPECT_EQ(config->entry("admin.port").origin, "env ACKLINE_ADMIN_PORT");
  EXPECT_EQ(config->integer("topic.partitions"), 7);
  EXPECT_EQ(config->entry("topic.partitions").origin, "file a.yaml:7");
}

TEST(Config, EnvironmentNamesIgnoreCaseDotsAndUnderscores) {
  ConfigSources sources;
  sources.environment = {"EVENTMESH_DELIVERY_TOPOLOGY=LOCAL_STICKY_PULL",
                         "ACKLINE_delivery_ACK_TIMEOUT=5s", "EVENTMESH_DELIVERY_ACKTIMEOUT=7s"};
  const auto config = Config::load(sources);
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_TRUE(config->is_set("delivery.topology"));
  EXPECT_EQ(config->duration_ms("delivery.ackTimeout"), 5000);
}

TEST(Config, DefinitionsMayCarryThePeersPrefixAndTheLastOneWins) {
  ConfigSources sources;
  sources.definitions = {"eventmesh.http.port=1", "http.port=2"};
  EXPECT_EQ(Config::load(sources)->integer("http.port"), 2);
  sources.definitions = {"http.port"};
  EXPECT_EQ(problem_of(sources).code, ErrorCode::kBadValue);
}

TEST(Config, AnUnknownKeySuggestsTheNearest) {
  const Error error = problem_of(yaml("delivery:\n  ackTimout: 5s\n"));
  EXPECT_EQ(error.code, ErrorCode::kUnknownField);
  EXPECT_EQ(error.field, "delivery.ackTimout");
  EXPECT_THAT(error.detail, HasSubstr("file a.yaml:2"));
  EXPECT_EQ(error.remedy, "Did you mean delivery.ackTimeout?");
  ConfigSources sources;
  sources.environment = {"ACKLINE_HTTP_PROT=1"};
  EXPECT_THAT(problem_of(sources).detail, HasSubstr("env ACKLINE_HTTP_PROT"));
}

TEST(Config, UnknownNamesOfThePeerAreNotes) {
  ConfigSources sources;
  sources.file_path = "eventmesh.properties";
  sources.file_text = "# comment\neventmesh.http.port=7\neventmesh.server.idc = DEFAULT\n";
  sources.environment = {"EVENTMESH_HOME=/opt/x"};
  const auto config = Config::load(sources);
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->integer("http.port"), 7);
  EXPECT_EQ(config->entry("http.port").origin, "file eventmesh.properties:2");
  EXPECT_THAT(config->notes(), ElementsAre(HasSubstr("server.idc"), HasSubstr("EVENTMESH_HOME")));
}

TEST(Config, AKeyOfThePeerWithoutAMeaningHereIsNamedWithTheReason) {
  ConfigSources sources;
  sources.file_path = "eventmesh.properties";
  sources.file_text =
      "eventmesh.ws.port=-1\neventMesh.server.rocketmq5.namesrvAddr=127.0.0.1:9876\n"
      "eventmesh.deliverry.topology=LOCAL_STICKY_PULL\n";
  sources.environment = {"EVENTMESH_A2A_ENABLED=false"};
  const auto config = Config::load(sources);
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_THAT(config->notes(),
              ElementsAre(AllOf(HasSubstr("ws.port is a key of EventMesh"), HasSubstr("WebSocket"),
                                HasSubstr("eventmesh.properties:1")),
                          AllOf(HasSubstr("server.rocketmq5.namesrvAddr"), HasSubstr("later part")),
                          HasSubstr("Did you mean delivery.topology?"),
                          AllOf(HasSubstr("A2A"), HasSubstr("env EVENTMESH_A2A_ENABLED"))));
}

TEST(Config, AKeyOfThePeerThatAsksForProtectionIsRefused) {
  for (const char* line : {"eventmesh.tls.keystore=/k.jks", "eventmesh.security.gate.acl=a:b",
                           "eventmesh.tls.needClientAuth=true"}) {
    const Error error = problem_of({.file_path = "e.properties", .file_text = line});
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << line;
  }
  const auto off =
      Config::load({.file_path = "e.properties",
                    .file_text = "eventmesh.tls.needClientAuth=false\neventmesh.tls.keystore=\n"});
  EXPECT_TRUE(off) << off.error().detail;
}

TEST(Config, AnEmptyValueOfThePeerLeavesTheDefault) {
  const auto config = Config::load({.file_path = "eventmesh.properties",
                                    .file_text = "eventmesh.storage.type=\neventmesh.meta.type\n",
                                    .environment = {"EVENTMESH_HTTP_PORT="}});
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->string("storage.type"), "local");
  EXPECT_EQ(config->integer("http.port"), 10105);
  EXPECT_FALSE(config->is_set("storage.type"));
}

TEST(Config, NamesFromAFileCannotForgeALineOfOutput) {
  const auto config = Config::load(
      {.file_path = "eventmesh.properties", .file_text = "evil\\nproblem: all is lost=1\n"});
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_THAT(config->notes(), ElementsAre(Not(HasSubstr("\n"))));
}

TEST(Config, ADuplicateKeyNamesBothLines) {
  const Error error = problem_of(yaml("http:\n  port: 1\n  port: 2\n"));
  EXPECT_EQ(error.code, ErrorCode::kDuplicateKey);
  EXPECT_THAT(error.detail, HasSubstr("line 2"));
  EXPECT_THAT(error.detail, HasSubstr("a.yaml:3"));
  EXPECT_EQ(problem_of(yaml("http:\n  port: 1\nhttp:\n  host: x\n")).code,
            ErrorCode::kDuplicateKey);
  EXPECT_EQ(problem_of(yaml("http:\n  port: 1\nhttp.port: 2\n")).code, ErrorCode::kDuplicateKey);
  EXPECT_EQ(problem_of(yaml("admin:\n  token: a\n  security:\n    token: b\n")).code,
            ErrorCode::kDuplicateKey);
  ConfigSources properties{.file_path = "x.properties", .file_text = "http.port=1\nhttp.port=2\n"};
  EXPECT_EQ(problem_of(properties).code, ErrorCode::kDuplicateKey);
}

TEST(Config, ABadValueNamesKeyValueAllowedAndOrigin) {
  const Error error = problem_of(yaml("\ndelivery:\n  maxAttempts: -3\n"));
  EXPECT_EQ(error.code, ErrorCode::kBadValue);
  EXPECT_EQ(error.field, "delivery.maxAttempts");
  EXPECT_EQ(error.detail, "delivery.maxAttempts is '-3'; allowed are 1 to 1000 (file a.yaml:3)");
  EXPECT_EQ(error.remedy, "Leave it out for the default of 6.");
  EXPECT_THAT(problem_of(yaml("storage:\n  type: oracle\n")).detail,
              HasSubstr("local, sqlite, postgres, kafka"));
}

TEST(Config, EveryProblemIsReported) {
  const ConfigReport report = load_config(yaml("a: 1\nb: 2\nhttp:\n  port: x\n"));
  EXPECT_EQ(report.problems.size(), 3U);
  EXPECT_EQ(report.config.integer("http.port"), 10105);
  EXPECT_THAT(Config::load(yaml("a: 1\nb: 2\n")).error().detail, HasSubstr("and 1 more"));
}

TEST(Config, BrokenYamlIsAnErrorWithItsLine) {
  EXPECT_THAT(problem_of(yaml("http:\n  port: [1\n")).detail, HasSubstr("a.yaml:"));
  EXPECT_THAT(problem_of(yaml("- a\n- b\n")).detail, HasSubstr("no mapping"));
  EXPECT_EQ(problem_of(yaml("http:\n  names: [{a: b}]\n")).code, ErrorCode::kBadValue);
  EXPECT_EQ(problem_of(yaml("? [a]\n: b\n")).code, ErrorCode::kBadValue);
  EXPECT_EQ(problem_of(yaml(std::string(2 << 20, ' '))).code, ErrorCode::kTooLarge);
  EXPECT_FALSE(load_config(yaml(std::string(20'000, '['))).problems.empty());
}

TEST(Config, ASectionThatIsAnAliasOfItselfIsAProblemAndNoEnd) {
  const Error error = problem_of(yaml("a: &a\n  a: *a\n"));
  EXPECT_EQ(error.code, ErrorCode::kBadValue);
  EXPECT_THAT(error.detail, HasSubstr("is nested over 32 levels deep (file a.yaml:"));
  // Twice as many at each level: said once, and soon.
  EXPECT_THAT(problem_of(yaml("a: &a\n  a: *a\n  b: *a\n")).detail, HasSubstr("nested over"));
}

TEST(Config, SectionsWithEverythingCommentedOutAreEmpty) {
  EXPECT_TRUE(Config::load(yaml("")));
  const auto config = Config::load(yaml("http:\n  # port: 1\nadmin:\n  port: 5\n"));
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->integer("admin.port"), 5);
}

TEST(Config, ListsAreSequencesOrCommas) {
  EXPECT_THAT(Config::load(yaml("http:\n  names: [a.example, b.example]\n"))->list("http.names"),
              ElementsAre("a.example", "b.example"));
  EXPECT_THAT(Config::load(yaml("http.names: a.example , b.example\n"))->list("http.names"),
              ElementsAre("a.example", "b.example"));
}

TEST(Config, SecretsAreNeverShown) {
  const auto config = Config::load(yaml("admin:\n  token: hunter2\n"));
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->string("admin.token"), "hunter2");
  EXPECT_EQ(config->string("admin.security.token"), "hunter2");
  EXPECT_EQ(config->entry("admin.token").shown(), "***");
  EXPECT_EQ(Config().entry("admin.token").shown(), "");
}

TEST(Config, APartThatIsNotBuiltIsNamedAndServeGoesOn) {
  const auto config = Config::load(yaml("tcp:\n  port: 10001\n"));
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_THAT(config->notes(), ElementsAre(HasSubstr("tcp.port is set, but this build has no")));
}

TEST(Config, WhatCannotBeDoneWithoutItsPartIsRefused) {
  const Error gate = problem_of(yaml("security:\n  gate:\n    filters: [token]\n"));
  EXPECT_EQ(gate.code, ErrorCode::kUnsupported);
  const Error log = problem_of(yaml("storage:\n  type: kafka\n"));
  EXPECT_EQ(log.code, ErrorCode::kUnsupported);
  EXPECT_EQ(log.remedy, "This build has local.");
}

TEST(ConfigValue, UnitsAreExactAndOverflowIsRefused) {
  EXPECT_EQ(parse_duration_ms("10ms"), 10);
  EXPECT_EQ(parse_duration_ms("30s"), 30'000);
  EXPECT_EQ(parse_duration_ms("24h"), 86'400'000);
  EXPECT_EQ(parse_duration_ms("30d"), 2'592'000'000);
  EXPECT_EQ(parse_duration_ms("0"), 0);
  EXPECT_EQ(parse_size_bytes("4MiB"), 4 << 20);
  EXPECT_EQ(parse_size_bytes("512"), 512);
  for (const char* bad : {"", "30", "s", "-1s", "1.5s", "30 s", "1w", "9999999999999d", "0x1s"}) {
    EXPECT_FALSE(parse_duration_ms(bad)) << bad;
  }
  for (const char* bad : {"", "4MB", "-1", "4 MiB", "99999999999TiB", "MiB"}) {
    EXPECT_FALSE(parse_size_bytes(bad)) << bad;
  }
  EXPECT_EQ(format_duration_ms(90'000), "90s");
  EXPECT_EQ(format_size_bytes(1536), "1536B");
}

TEST(ConfigKeys, DeclarationsAreSoundAndNamesDoNotMeetInTheEnvironment) {
  std::set<std::string> folded;
  const auto fold = [](std::string_view name) {
    std::string out;
    for (const char c : name) {
      if (c != '.' && c != '_') out += static_cast<char>(std::tolower(c));
    }
    return out;
  };
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(folded.insert(fold(key.name)).second) << key.name;
    if (!key.alias.empty()) EXPECT_TRUE(folded.insert(fold(key.alias)).second) << key.alias;
    EXPECT_TRUE(parse_config_value(key, key.default_value)) << key.name;
    EXPECT_TRUE(key.help.ends_with(".")) << key.name;
    EXPECT_EQ(key.allowed.empty(), key.type != ConfigType::kEnum) << key.name;
    EXPECT_EQ(find_config_key(key.name), &key);
  }
}

}  // namespace
}  // namespace ackline

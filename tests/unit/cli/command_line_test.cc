#include "ackline/cli/command_line.h"

#include <gmock/gmock.h>

#include <set>

#include "ackline/cli/commands.h"

namespace ackline::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CommandLineTest : public ::testing::Test {
 protected:
  ParsedCommand parse(std::vector<std::string> arguments,
                      std::vector<std::string> environment = {}) {
    return parse_command_line(arguments, commands_, environment);
  }
  std::vector<CommandSpec> commands_ = all_commands();
};

TEST_F(CommandLineTest, EveryCommandOfTheInterfaceIsThere) {
  std::set<std::string_view> paths;
  for (const CommandSpec& command : commands_) {
    EXPECT_TRUE(paths.insert(command.path).second) << command.path;
    EXPECT_NE(command.run, nullptr) << command.path;
    EXPECT_FALSE(command.help.empty()) << command.path;
    EXPECT_FALSE(command.examples.empty()) << command.path;
  }
  for (const std::string_view path :
       {"serve",         "demo",          "topic create",   "topic list",      "topic describe",
        "topic delete",  "group list",    "group describe", "group delete",    "publish",
        "consume",       "lag",           "holes",          "explain",         "replay",
        "reset",         "query",         "dlq list",       "dlq show",        "dlq redrive",
        "dlq purge",     "config init",   "config check",   "config show",     "doctor",
        "bench publish", "bench deliver", "bench latency",  "bench in-process"}) {
    EXPECT_TRUE(paths.contains(path)) << path;
  }
}

TEST_F(CommandLineTest, EachCommandHasHelpWithExamples) {
  for (const CommandSpec& command : commands_) {
    std::vector<std::string> words;
    std::string path(command.path);
    const std::size_t space = path.find(' ');
    words.push_back(path.substr(0, space));
    if (space != std::string::npos) words.push_back(path.substr(space + 1));
    words.emplace_back("--help");
    const ParsedCommand parsed = parse(words);
    EXPECT_EQ(parsed.exit, ExitCode::kOk) << path;
    EXPECT_THAT(parsed.message, HasSubstr("Examples:")) << path;
  }
}

TEST_F(CommandLineTest, DefinitionsComeWithAndWithoutASpace) {
  const ParsedCommand parsed = parse({"serve", "-D", "http.port=0", "-Dhttp.names=a,b", "--define",
                                      "data.path=/x y", "-c", "ackline.yaml"});
  ASSERT_NE(parsed.command, nullptr) << parsed.message;
  EXPECT_EQ(parsed.command->path, "serve");
  EXPECT_THAT(parsed.args.all("define"),
              ElementsAre("http.port=0", "http.names=a,b", "data.path=/x y"));
  EXPECT_EQ(parsed.args.text("config"), "ackline.yaml");
}

TEST_F(CommandLineTest, ListsAreSplitAtCommas) {
  const ParsedCommand parsed =
      parse({"consume", "orders", "-g", "billing", "--partitions", "0,1", "-p", "3"});
  ASSERT_NE(parsed.command, nullptr) << parsed.message;
  EXPECT_EQ(parsed.args.text("topic"), "orders");
  EXPECT_EQ(parsed.args.text("group"), "billing");
  EXPECT_THAT(parsed.args.list("partitions"), ElementsAre("0", "1", "3"));
  EXPECT_EQ(parsed.args.integer("concurrency"), 4);
  EXPECT_EQ(parsed.args.text("ack"), "auto");
  EXPECT_FALSE(parsed.args.has("max"));
}

TEST_F(CommandLineTest, PositionalsTakeOneWordEach) {
  const ParsedCommand group = parse({"group", "describe", "orders", "billing"});
  ASSERT_NE(group.command, nullptr) << group.message;
  EXPECT_EQ(group.args.text("topic"), "orders");
  EXPECT_EQ(group.args.text("group"), "billing");
  const ParsedCommand publish = parse({"publish", "orders", "-", "--key", "k"});
  ASSERT_NE(publish.command, nullptr) << publish.message;
  EXPECT_EQ(publish.args.text("file"), "-");
  const ParsedCommand ack = parse({"ack", "--client", "c1", "d-1", "d-2"});
  ASSERT_NE(ack.command, nullptr) << ack.message;
  EXPECT_THAT(ack.args.all("delivery"), ElementsAre("d-1", "d-2"));
  EXPECT_EQ(parse({"topic", "describe", "a", "b"}).exit, ExitCode::kUsage);
}

TEST_F(CommandLineTest, GlobalOptionsStandBeforeOrBehindTheCommand) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"--output", "json", "--server", "http://h:1", "lag"},
                                             {"lag", "--output", "json", "--server", "http://h:1"},
                                             {"lag", "-o", "json", "--server=http://h:1"}}) {
    const ParsedCommand parsed = parse(words);
    ASSERT_NE(parsed.command, nullptr) << parsed.message;
    EXPECT_TRUE(parsed.global.json);
    EXPECT_EQ(parsed.global.api.server, "http://h:1");
    EXPECT_EQ(parsed.global.api.admin, "http://h:10106");
  }
}

TEST_F(CommandLineTest, TheEnvironmentIsWeakerThanAnOption) {
  const std::vector<std::string> environment = {"ACKLINE_SERVER=http://e:7",
                                                "ACKLINE_ADMIN_URL=http://e:8", "ACKLINE_TOKEN=t",
                                                "ACKLINE_DATA_PATH=/data"};
  const ParsedCommand from_environment = parse({"lag"}, environment);
  EXPECT_EQ(from_environment.global.api.server, "http://e:7");
  EXPECT_EQ(from_environment.global.api.admin, "http://e:8");
  EXPECT_EQ(from_environment.global.api.token, "t");
  EXPECT_EQ(from_environment.global.api.data_path, "/data");
  const ParsedCommand named = parse({"lag", "--server", "http://o:1", "--token", "u"}, environment);
  EXPECT_EQ(named.global.api.server, "http://o:1");
  EXPECT_EQ(named.global.api.admin, "http://e:8");
  EXPECT_EQ(named.global.api.token, "u");
}

TEST_F(CommandLineTest, MistakesAreUsageAndNameWhatIsWrong) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {},
           {"nothing"},
           {"topic"},
           {"topic", "create"},
           {"topic", "create", "orders", "--partitions", "0"},
           {"topic", "create", "orders", "--partitions", "many"},
           {"lag", "--output", "xml"},
           {"lag", "--nope"},
           {"consume", "orders", "--ack", "sometimes"},
           {"consume", "orders", "--concurrency", "99999999999999999999"},
           {"holes", "-t", "orders"}}) {
    const ParsedCommand parsed = parse(words);
    EXPECT_EQ(parsed.command, nullptr);
    EXPECT_EQ(parsed.exit, ExitCode::kUsage) << ::testing::PrintToString(words);
    EXPECT_FALSE(parsed.message.empty());
  }
}

TEST_F(CommandLineTest, AMistypedCommandIsToldTheNearestOne) {
  EXPECT_THAT(parse({"lagg"}).message, HasSubstr("Did you mean lag?"));
  EXPECT_THAT(parse({"frobnicate"}).message, HasSubstr("no command frobnicate"));
}

TEST(ExitCodes, TellNotThereFromRefused) {
  EXPECT_EQ(exit_code_of(Error{ErrorCode::kUnavailable, "", "", ""}), ExitCode::kUnavailable);
  EXPECT_EQ(exit_code_of(Error{ErrorCode::kDraining, "", "", ""}), ExitCode::kUnavailable);
  EXPECT_EQ(exit_code_of(Error{ErrorCode::kTopicUnknown, "", "", ""}), ExitCode::kFailed);
  EXPECT_EQ(error_line(Error{ErrorCode::kTopicUnknown, "no topic x", "Create it.", ""}),
            "topic_unknown: no topic x. Create it.");
}

}  // namespace
}  // namespace ackline::cli

#include <gmock/gmock.h>

#include <algorithm>

#include "ackline/cli/command_line.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/data_examination.h"
#include "tests/unit/cli/console_collector.h"
#include "tests/unit/cli/stopped_server.h"

namespace ackline::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DoctorTest : public StoppedServer {};

TEST_F(DoctorTest, ADirectoryWithoutDataIsNamedAndLeftAsItIs) {
  const Examination none = examine_data_directory(fs_, path());
  EXPECT_EQ(none.worst(), FindingLevel::kProblem) << text_of(none);
  EXPECT_FALSE(*fs_.exists(path()));
  ASSERT_TRUE(fs_.make_directories(path()));
  EXPECT_EQ(examine_data_directory(fs_, path()).worst(), FindingLevel::kNote);
  ASSERT_TRUE(fs_.make_directories(path() + "/log"));
  EXPECT_EQ(examine_data_directory(fs_, path()).worst(), FindingLevel::kDamage);
}

TEST_F(DoctorTest, AStoppedServersDataIsHealthyAndARunningOnesIsInUse) {
  start_server();
  publish(100);
  const Examination running = examine_data_directory(fs_, path());
  EXPECT_TRUE(running.in_use);
  EXPECT_EQ(running.worst(), FindingLevel::kNote) << text_of(running);
  stop_server();
  const Examination stopped = examine_data_directory(fs_, path());
  EXPECT_FALSE(stopped.in_use);
  EXPECT_LE(stopped.worst(), FindingLevel::kNote) << text_of(stopped);
  EXPECT_THAT(text_of(stopped), HasSubstr("1 topic, 0 groups"));
  EXPECT_THAT(text_of(stopped), HasSubstr("orders/0"));
  EXPECT_THAT(text_of(stopped), HasSubstr("100 events in 1 segment"));
  // It changed nothing: the server goes on.
  start_server();
  publish(1);
  stop_server();
}

TEST_F(DoctorTest, ADamagedEventIsFoundWithItsFile) {
  start_server();
  publish(100);
  stop_server();
  const std::string segment = find(path() + "/log", ".log");
  ASSERT_FALSE(segment.empty());
  flip(segment, 5000);
  const Examination found = examine_data_directory(fs_, path());
  EXPECT_EQ(found.worst(), FindingLevel::kDamage) << text_of(found);
  EXPECT_THAT(text_of(found), HasSubstr(segment));
  EXPECT_TRUE(std::ranges::all_of(found.findings, [](const Finding& one) {
    return one.level < FindingLevel::kDamage || !one.remedy.empty();
  }));
}

TEST_F(DoctorTest, ANewerFormatAndADamagedFormatAreTold) {
  start_server();
  stop_server();
  const std::string format = path() + "/format";
  const auto good = io::read_file(fs_, format);
  ASSERT_TRUE(good);
  ASSERT_TRUE(io::write_file_atomic(fs_, format, "format zz\n"));
  EXPECT_EQ(examine_data_directory(fs_, path()).worst(), FindingLevel::kDamage);
  ASSERT_TRUE(io::write_file_atomic(fs_, format, *good));
  EXPECT_LE(examine_data_directory(fs_, path()).worst(), FindingLevel::kNote);
}

TEST_F(DoctorTest, AMissingJournalIsDamage) {
  start_server();
  publish(10);
  stop_server();
  const auto names = fs_.list(path() + "/journal");
  ASSERT_TRUE(names);
  ASSERT_FALSE(names->empty());
  ASSERT_TRUE(fs_.remove_all(path() + "/journal/" + names->front()));
  EXPECT_EQ(examine_data_directory(fs_, path()).worst(), FindingLevel::kDamage);
}

TEST_F(DoctorTest, TheCommandEndsWithOneWhenThereIsDamage) {
  start_server();
  publish(100);
  stop_server();
  const auto run = [&] {
    CollectedText text;
    Console console(collecting(text));
    ApiClient api(ApiOptions{.data_path = path(), .data_named = true});
    const Args args;
    Context context{args, console, api, true};
    const auto code = doctor_commands().front().run(context);
    EXPECT_TRUE(Json::parse(text.out)) << text.out;
    return code ? *code : ExitCode::kUsage;
  };
  EXPECT_EQ(run(), ExitCode::kOk);
  flip(find(path() + "/log", ".log"), 5000);
  EXPECT_EQ(run(), ExitCode::kFailed);
}

// A repair of the directory that the file names, which nobody asked for, would be the harm.
TEST_F(DoctorTest, ADirectoryThatIsNamedIsMeantAlsoWhenItIsTheDefault) {
  start_server();
  stop_server();
  const std::string file = directory_.path() + "/prod.yaml";
  ASSERT_TRUE(io::write_file_atomic(fs_, file, "data:\n  path: " + path() + "\n"));
  const std::vector<CommandSpec> commands = all_commands();
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"doctor", "-c", file, "--output", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const ParsedCommand parsed = parse_command_line(words, commands, {});
    CollectedText text;
    Console console(collecting(text));
    ApiClient api(parsed.global.api);
    Context context{parsed.args, console, api, parsed.global.json};
    EXPECT_NE(parsed.command, nullptr) << parsed.message;
    if (parsed.command != nullptr) EXPECT_TRUE(parsed.command->run(context));
    return text.out;
  };
  EXPECT_THAT(run({}), HasSubstr(path()));
  const std::string named = run({"--data", ApiOptions{}.data_path});
  EXPECT_THAT(named, Not(HasSubstr(path())));
  EXPECT_THAT(named, HasSubstr(ApiOptions{}.data_path));
}

}  // namespace
}  // namespace ackline::cli

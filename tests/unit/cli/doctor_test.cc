#include <gmock/gmock.h>

#include <algorithm>

#include "ackline/cli/api_client.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/data_examination.h"
#include "ackline/io/fs/posix_file_system.h"
#include "ackline/runtime/runtime.h"
#include "tests/support/kv/temp_directory.h"
#include "tests/unit/cli/console_collector.h"

namespace ackline::cli {
namespace {

using ::testing::HasSubstr;

class DoctorTest : public ::testing::Test {
 protected:
  // A server on the directory, up to `stop_server`.
  void start_server() {
    const auto config =
        Config::load({.definitions = {"data.path=" + path(), "http.port=0", "admin.port=0"}});
    ASSERT_TRUE(config) << config.error().detail;
    auto started = runtime::Runtime::start(*config);
    ASSERT_TRUE(started) << started.error().detail;
    runtime_ = std::move(*started);
  }
  void publish(int count) {
    ApiOptions options;
    options.server = "http://" + runtime_->addresses().http;
    ApiClient api(options);
    std::string body;
    for (int i = 0; i < count; ++i) {
      body += body.empty() ? "[" : ",";
      body += JsonObject()
                  .text("specversion", "1.0")
                  .text("id", std::to_string(i))
                  .text("source", "/s")
                  .text("type", "t")
                  .str();
    }
    const auto done = api.post(
        Port::kTraffic, Target("/events/publish").query("topic", "orders").query("partition", 0),
        body + "]", "application/cloudevents-batch+json");
    ASSERT_TRUE(done) << done.error().detail;
  }
  void stop_server() {
    runtime_->stop(0);
    runtime_.reset();
  }
  // One bit of the byte `back` before the end of what is not zero.
  void flip(const std::string& file, std::size_t back) {
    auto text = io::read_file(fs_, file);
    ASSERT_TRUE(text) << text.error().detail;
    const std::size_t end = text->find_last_not_of('\0');
    ASSERT_NE(end, std::string::npos);
    ASSERT_GT(end, back);
    (*text)[end - back] = static_cast<char>((*text)[end - back] ^ 1);
    ASSERT_TRUE(io::write_file_atomic(fs_, file, *text));
  }
  // The first file below `directory` whose name ends so.
  std::string find(const std::string& directory, std::string_view suffix) {
    const auto names = fs_.list(directory);
    if (!names) return {};
    for (const std::string& name : *names) {
      const std::string at = io::join(directory, name);
      if (name.ends_with(suffix)) return at;
      if (std::string deeper = find(at, suffix); !deeper.empty()) return deeper;
    }
    return {};
  }
  std::string path() const { return directory_.path() + "/data"; }
  static std::string text_of(const Examination& examination) {
    std::string out;
    for (const Finding& finding : examination.findings) {
      out += std::string(finding_level_name(finding.level)) + " " + finding.where + ": " +
             finding.what + "\n";
    }
    return out;
  }

  io::PosixFileSystem fs_;
  testing::TempDirectory directory_;
  std::unique_ptr<runtime::Runtime> runtime_;
};

TEST_F(DoctorTest, ADirectoryWithoutDataIsNamedAndLeftAsItIs) {
  const Examination none = examine_data_directory(fs_, path());
  EXPECT_EQ(none.worst(), FindingLevel::kNote) << text_of(none);
  EXPECT_FALSE(*fs_.exists(path()));
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
  EXPECT_THAT(text_of(stopped), HasSubstr("1 topics, 0 groups"));
  EXPECT_THAT(text_of(stopped), HasSubstr("orders/0"));
  EXPECT_THAT(text_of(stopped), HasSubstr("100 events in 1 segments"));
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
    ApiClient api(ApiOptions{.data_path = path()});
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

}  // namespace
}  // namespace ackline::cli

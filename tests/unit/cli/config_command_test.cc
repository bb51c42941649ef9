#include <gmock/gmock.h>

#include "ackline/base/config_docs.h"
#include "ackline/cli/commands.h"
#include "ackline/io/fs/posix_file_system.h"
#include "tests/support/kv/temp_directory.h"
#include "tests/unit/cli/console_collector.h"

namespace ackline::cli {
namespace {

using ::testing::HasSubstr;

class ConfigCommandTest : public ::testing::Test {
 protected:
  Result<ExitCode> run(std::string_view path, Args::Values values, bool json = false) {
    text_ = {};
    Console console(collecting(text_));
    ApiClient api(ApiOptions{});
    const Args args(std::move(values));
    Context context{args, console, api, json};
    for (const CommandSpec& command : config_commands()) {
      if (command.path == path) return command.run(context);
    }
    return fail(ErrorCode::kNotFound, "no such command");
  }
  std::string file(std::string_view text) {
    const std::string path = directory_.path() + "/ackline.yaml";
    EXPECT_TRUE(io::write_file_atomic(fs_, path, text));
    return path;
  }
  io::PosixFileSystem fs_;
  testing::TempDirectory directory_;
  CollectedText text_;
};

TEST_F(ConfigCommandTest, InitWritesTheCommentedFileOnce) {
  const std::string path = directory_.path() + "/new.yaml";
  const auto made = run("config init", {{"file", {path}}});
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_EQ(*io::read_file(fs_, path), commented_config_yaml());
  const auto again = run("config init", {{"file", {path}}});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(run("config init", {{"file", {path}}, {"force", {}}}));
  EXPECT_TRUE(run("config init", {{"file", {"-"}}}));
  EXPECT_EQ(text_.out, commented_config_yaml());
}

TEST_F(ConfigCommandTest, CheckNamesEveryMistakeWithItsRemedy) {
  const std::string path = file("delivery:\n  maxAtempts: 3\n  ackTimeout: soon\n");
  const auto checked = run("config check", {{"config", {path}}});
  ASSERT_TRUE(checked);
  EXPECT_EQ(*checked, ExitCode::kFailed);
  EXPECT_THAT(text_.out, HasSubstr("delivery.maxAttempts"));
  EXPECT_THAT(text_.out, HasSubstr("delivery.ackTimeout"));
  const auto good = run("config check", {{"config", {file("delivery:\n  maxAttempts: 3\n")}}});
  EXPECT_EQ(*good, ExitCode::kOk);
  EXPECT_THAT(text_.out, HasSubstr("1 of them set"));
}

TEST_F(ConfigCommandTest, ShowSaysWhereAValueComesFrom) {
  const std::string path = file(
      "delivery:\n  maxAttempts: 3\nadmin:\n  security:\n"
      "    token: abcdefghijklmnopqrstuvwxyz\n");
  const auto shown =
      run("config show", {{"config", {path}}, {"define", {"http.port=0"}}, {"set", {}}});
  ASSERT_TRUE(shown) << shown.error().detail;
  EXPECT_THAT(text_.out, HasSubstr("delivery.maxAttempts"));
  EXPECT_THAT(text_.out, HasSubstr("ackline.yaml:2"));
  EXPECT_THAT(text_.out, HasSubstr("flag"));
  EXPECT_THAT(text_.out, HasSubstr("***"));
  EXPECT_THAT(text_.out, Not(HasSubstr("abcdefgh")));
  ASSERT_TRUE(run("config show", {{"config", {path}}}, true));
  const auto json = Json::parse(text_.out);
  ASSERT_TRUE(json);
  EXPECT_GT((*json)["items"].size(), 30U);
}

TEST_F(ConfigCommandTest, AMissingFileIsSaidWithARemedy) {
  const auto shown = run("config show", {{"config", {directory_.path() + "/none.yaml"}}});
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(shown.error().remedy, HasSubstr("config init"));
}

}  // namespace
}  // namespace ackline::cli

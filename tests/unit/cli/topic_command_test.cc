#include <gmock/gmock.h>

#include <iterator>
#include <sstream>

#include "ackline/cli/commands.h"
#include "tests/unit/cli/console_collector.h"
#include "tests/unit/cli/stopped_server.h"

namespace ackline::cli {
namespace {

class TopicCommandTest : public StoppedServer {
 protected:
  // The words of the line of `orders`: name, partitions, events …
  std::vector<std::string> listed() {
    CollectedText text;
    Console console(collecting(text));
    ApiClient api = client();
    const Args args;
    Context context{args, console, api, false};
    for (const CommandSpec& command : topic_commands()) {
      if (command.path != "topic list") continue;
      const auto code = command.run(context);
      EXPECT_TRUE(code && *code == ExitCode::kOk) << text.err;
    }
    const std::size_t at = text.out.find("orders ");
    if (at == std::string::npos) return {};
    std::istringstream line(text.out.substr(at, text.out.find('\n', at) - at));
    return {std::istream_iterator<std::string>(line), {}};
  }
};

TEST_F(TopicCommandTest, EventsOfAQuarantinedPartitionAreNotKnown) {
  start_server();
  publish(100);
  const auto before = listed();
  ASSERT_GT(before.size(), 3U);
  EXPECT_EQ(before[2], "100");
  stop_server();
  const std::string segment = find(path() + "/log", ".log");
  ASSERT_FALSE(segment.empty());
  ASSERT_TRUE(fs_.remove(segment));
  start_server();
  const auto after = listed();
  stop_server();
  ASSERT_GT(after.size(), 3U);
  EXPECT_EQ(after[2], "–");
  EXPECT_EQ(after.back(), "quarantined");
}

}  // namespace
}  // namespace ackline::cli

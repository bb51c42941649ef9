// `ackline demo`: a story on a real server, then the server to look at.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "ackline/cli/commands.h"
#include "ackline/cli/demo_story.h"
#include "ackline/cli/stop_signals.h"
#include "ackline/io/fs/posix_file_system.h"

namespace ackline::cli {
namespace {

// Made for the demo and removed with it, unless it was named.
class DemoDirectory {
 public:
  static Result<DemoDirectory> make(const std::string& named) {
    io::PosixFileSystem fs;
    if (!named.empty()) {
      const auto names = fs.list(named);
      if (names && !names->empty()) {
        return fail(ErrorCode::kAlreadyExists, fmt::format("{} is not empty", named),
                    "Name a directory that is empty or not there.");
      }
      return DemoDirectory(named, false);
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
    const char* base = std::getenv("TMPDIR");
    std::string path = fmt::format("{}/ackline-demo-XXXXXX", base == nullptr ? "/tmp" : base);
    if (::mkdtemp(path.data()) == nullptr) {
      return fail(
          ErrorCode::kUnavailable,
          fmt::format("cannot make a directory: {}", std::generic_category().message(errno)),
          "Name one with --dir.");
    }
    return DemoDirectory(path, true);
  }
  DemoDirectory(DemoDirectory&& other) noexcept
      : path_(std::move(other.path_)), ours_(std::exchange(other.ours_, false)) {}
  DemoDirectory& operator=(DemoDirectory&&) = delete;
  ~DemoDirectory() {
    if (!ours_) return;
    io::PosixFileSystem fs;
    static_cast<void>(fs.remove_all(path_));
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  DemoDirectory(std::string path, bool ours) : path_(std::move(path)), ours_(ours) {}
  std::string path_;
  bool ours_;
};

void print_end(Console& console, const DemoStory& story) {
  console.out_line("");
  if (story.failed() == 0) {
    console.out_line(
        console.paint(Colour::kGreen, fmt::format("All {} comparisons held.", story.held())));
  } else {
    console.out_line(
        console.paint(Colour::kRed, fmt::format("{} of {} comparisons did NOT hold.",
                                                story.failed(), story.held() + story.failed())));
  }
}

void print_addresses(Console& console, const DemoServer& server) {
  console.out_line(fmt::format(R"(
The server goes on, with a stuck consumer and a dead letter to look at:
  page     http://{1}/
  traffic  http://{0}
  admin    http://{1}
  data     {2}
  log      {3}
Try, in another terminal:
  export ACKLINE_SERVER=http://{0} ACKLINE_ADMIN_URL=http://{1} ACKLINE_DATA_PATH={2}
  ackline lag -t orders -g shipping
  ackline explain -t orders -g shipping
  ackline dlq list -t orders
Ctrl-C ends it.)",
                               server.http(), server.admin(), server.data_path(),
                               server.log_path()));
}

ExitCode end_of(Context& context, DemoStory& story, DemoServer& server) {
  story.check("the server's exit code", std::to_string(server.stop()), "0");
  print_end(context.console, story);
  return story.failed() == 0 ? ExitCode::kOk : ExitCode::kFailed;
}

Result<ExitCode> demo(Context& context) {
  StopSignals signals;
  auto directory = DemoDirectory::make(context.args.text("dir"));
  if (!directory) return fail(directory);
  DemoServer server(directory->path());
  context.console.out_line(
      "Ackline's demo: every number of the server is held against the client's "
      "own record.");
  if (auto done = server.start(); !done) return fail(done);
  DemoStory story(context.console, server, [&] { return signals.requested(); });
  const auto played = story.play();
  if (!played) {
    print_end(context.console, story);
    static_cast<void>(server.stop());
    return fail(played);
  }
  if (context.args.flag("exit")) return end_of(context, story, server);
  print_end(context.console, story);
  if (auto left = story.leave_something(); !left) return fail(left);
  print_addresses(context.console, server);
  static_cast<void>(signals.wait());
  static_cast<void>(server.stop());
  return story.failed() == 0 ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace

std::vector<CommandSpec> demo_commands() {
  return {{.path = "demo",
           .help = "A server with sample traffic, a stuck consumer and a dead letter",
           .examples = "ackline demo\n  ackline demo --exit\n  ackline demo --dir ./demo",
           .options = {{.names = "--exit",
                        .kind = OptionKind::kFlag,
                        .help = "Play the story and end; 0 only if every comparison held"},
                       {.names = "--dir", .help = "Keep data and log there"}},
           .run = demo}};
}

}  // namespace ackline::cli

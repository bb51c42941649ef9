#include "ackline/cli/demo_server.h"

#include <fmt/format.h>

#include <csignal>

#include "ackline/cli/json.h"
#include "ackline/io/fs/posix_file_system.h"

namespace ackline::cli {
namespace {

constexpr std::int64_t kStartMs = 60'000;
constexpr std::int64_t kStepMs = 20;
constexpr std::int64_t kStopMs = 20'000;
constexpr std::size_t kTailBytes = 1500;

std::string port_of(const std::string& address) {
  return address.empty() ? "0" : address.substr(address.rfind(':') + 1);
}

}  // namespace

Result<void> DemoServer::start() {
  io::PosixFileSystem fs;
  if (auto done = fs.make_directories(directory_); !done) return done;
  const std::string ready_file = directory_ + "/ready.json";
  if (auto done = fs.remove(ready_file); !done && done.error().code != ErrorCode::kNotFound) {
    return done;
  }
  auto child =
      ChildProcess::start({own_program(), "serve", "-D", "data.path=" + data_path(), "-D",
                           "http.port=" + port_of(http_), "-D", "admin.port=" + port_of(admin_),
                           "-D", "drain.timeout=2s", "--ready-file", ready_file},
                          log_path());
  if (!child) return fail(child);
  child_ = std::move(*child);
  return wait_until_ready(ready_file);
}

Result<void> DemoServer::wait_until_ready(const std::string& ready_file) {
  io::PosixFileSystem fs;
  for (std::int64_t waited = 0; waited < kStartMs; waited += kStepMs) {
    const int ended = child_->wait(kStepMs);
    const auto text = io::read_file(fs, ready_file);
    if (text && ended < 0) {
      const auto ready = Json::parse(*text);
      if (!ready) return fail(ready);
      http_ = (*ready)["http"].text();
      admin_ = (*ready)["admin"].text();
      return {};
    }
    if (ended < 0) continue;
    const auto log = io::read_file(fs, log_path());
    std::string tail = log ? *log : std::string();
    if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
    return fail(ErrorCode::kUnavailable,
                fmt::format("the server ended with code {}; its log says:\n{}", ended, tail));
  }
  return fail(ErrorCode::kUnavailable, "the server did not get ready within a minute",
              "See its log: " + log_path());
}

void DemoServer::kill() {
  if (!child_) return;
  child_->kill(SIGKILL);
  static_cast<void>(child_->wait(kStopMs));
}

int DemoServer::stop() {
  if (!child_) return -1;
  child_->kill(SIGTERM);
  return child_->wait(kStopMs);
}

}  // namespace ackline::cli

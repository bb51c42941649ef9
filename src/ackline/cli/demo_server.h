// The demo's server: this program again, as a child, on data of its own.
//
// The first start finds free ports, later ones take the same. Blocking; one thread.
#pragma once

#include <optional>
#include <string>

#include "ackline/base/result.h"
#include "ackline/cli/child_process.h"

namespace ackline::cli {

class DemoServer {
 public:
  explicit DemoServer(std::string directory) : directory_(std::move(directory)) {}

  // Returns once it serves. Errors: kUnavailable with the last lines of its log.
  [[nodiscard]] Result<void> start();
  void kill();
  // SIGTERM and wait: its exit code, -1 when it had to be killed.
  [[nodiscard]] int stop();

  [[nodiscard]] const std::string& http() const { return http_; }    // host:port
  [[nodiscard]] const std::string& admin() const { return admin_; }  // host:port
  [[nodiscard]] std::string data_path() const { return directory_ + "/data"; }
  [[nodiscard]] std::string log_path() const { return directory_ + "/server.log"; }
  // False once the child has ended by itself.
  [[nodiscard]] bool running() { return child_ && child_->poll() < 0; }

 private:
  [[nodiscard]] Result<void> wait_until_ready(const std::string& ready_file);

  std::string directory_;
  std::string http_;
  std::string admin_;
  std::optional<ChildProcess> child_;
};

}  // namespace ackline::cli

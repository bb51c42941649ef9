// Starting other programs: the consumer's `--exec` and the demo's server.
//
// Children get the default signal dispositions and an empty mask. Any thread. Errors: kUnavailable
// with the system's words.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/result.h"

namespace ackline::cli {

// Runs `command` by the shell with `input` on its stdin and waits. Returns the exit code, 128 + n
// after signal n. Output goes where ours does.
[[nodiscard]] Result<int> run_shell(const std::string& command, std::string_view input,
                                    const std::vector<std::string>& extra_environment);

// A child that runs on its own; killed and waited for when the object goes.
class ChildProcess {
 public:
  // stdout and stderr are appended to `log_path`.
  [[nodiscard]] static Result<ChildProcess> start(const std::vector<std::string>& arguments,
                                                  const std::string& log_path);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Once it has ended: its exit code, as above. -1 while it runs.
  [[nodiscard]] int poll();
  void kill(int signal) const;
  // As `poll`, but waits up to `timeout_ms`.
  [[nodiscard]] int wait(std::int64_t timeout_ms);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  void end();
  pid_t pid_ = -1;
  int exit_ = -1;
};

// The path of the program that runs.
[[nodiscard]] std::string own_program();

}  // namespace ackline::cli

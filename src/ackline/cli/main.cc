#include <csignal>
#include <string>
#include <vector>

#include "ackline/cli/command_line.h"

// What is thrown here has nobody to catch it: the process ends.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  // A reader of ours that went away is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return ackline::cli::run_command_line(arguments);
}

// From argv to a command and its arguments. The only place that knows the parsing library.
//
// Pure but for the environment that is handed in. Fails by saying what is wrong and exit code 2.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ackline/cli/command.h"

namespace ackline::cli {

struct GlobalOptions {
  ApiOptions api;
  bool json = false;
};

struct ParsedCommand {
  const CommandSpec* command = nullptr;  // null: `message` and `exit` are the answer
  Args args;
  GlobalOptions global;
  std::string message;  // help, version, or what is wrong
  ExitCode exit = ExitCode::kOk;
};

// `arguments` without the program's name; `environment` as "NAME=value" each. `commands` outlives
// the result.
[[nodiscard]] ParsedCommand parse_command_line(std::span<const std::string> arguments,
                                               std::span<const CommandSpec> commands,
                                               std::span<const std::string> environment);

// Parses, runs, prints. The whole program but for signals.
[[nodiscard]] int run_command_line(std::span<const std::string> arguments);

}  // namespace ackline::cli

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

// The parser's tree as it is, for whoever describes it: the shell completion.
struct TreeOption {
  std::vector<std::string> names;  // "--topic", "-t"; empty: a positional
  std::string help;
  bool takes_value = false;
  std::vector<std::string> allowed;  // values, when only some are
};
struct TreeCommand {
  std::string path;  // "dlq list"; "" is the program itself
  std::string help;
  std::vector<TreeOption> options;  // those of the commands above it too
};
// In the order of the parser, each command before the ones below it.
[[nodiscard]] std::vector<TreeCommand> command_tree(std::span<const CommandSpec> commands);

// `arguments` without the program's name; `environment` as "NAME=value" each. `commands` outlives
// the result.
[[nodiscard]] ParsedCommand parse_command_line(std::span<const std::string> arguments,
                                               std::span<const CommandSpec> commands,
                                               std::span<const std::string> environment);

// Parses, runs, prints. The whole program but for signals.
[[nodiscard]] int run_command_line(std::span<const std::string> arguments);

}  // namespace ackline::cli

// All subcommands, one function a file.
#pragma once

#include <vector>

#include "ackline/cli/command.h"

namespace ackline::cli {

[[nodiscard]] std::vector<CommandSpec> serve_commands();
[[nodiscard]] std::vector<CommandSpec> demo_commands();
[[nodiscard]] std::vector<CommandSpec> topic_commands();
[[nodiscard]] std::vector<CommandSpec> group_commands();
[[nodiscard]] std::vector<CommandSpec> publish_commands();
[[nodiscard]] std::vector<CommandSpec> consume_commands();
[[nodiscard]] std::vector<CommandSpec> settle_commands();
[[nodiscard]] std::vector<CommandSpec> progress_commands();
[[nodiscard]] std::vector<CommandSpec> reopen_commands();
[[nodiscard]] std::vector<CommandSpec> query_commands();
[[nodiscard]] std::vector<CommandSpec> dead_letter_commands();
[[nodiscard]] std::vector<CommandSpec> lane_commands();
[[nodiscard]] std::vector<CommandSpec> config_commands();
[[nodiscard]] std::vector<CommandSpec> doctor_commands();
[[nodiscard]] std::vector<CommandSpec> bench_commands();
[[nodiscard]] std::vector<CommandSpec> completion_commands();

// In the order of `--help`.
[[nodiscard]] std::vector<CommandSpec> all_commands();

}  // namespace ackline::cli

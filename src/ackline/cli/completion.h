// Scripts that complete `ackline` in a shell, made from the parser's own tree (command_line.h): a
// new command or option is in them without anybody's doing. Pure.
#pragma once

#include <span>
#include <string>

#include "ackline/cli/command_line.h"

namespace ackline::cli {

[[nodiscard]] std::string bash_completion(std::span<const TreeCommand> tree);
[[nodiscard]] std::string zsh_completion(std::span<const TreeCommand> tree);
[[nodiscard]] std::string fish_completion(std::span<const TreeCommand> tree);

}  // namespace ackline::cli

// `ackline completion`: words for the shell, made from the commands' rows.
#include <fmt/format.h>

#include <map>
#include <set>

#include "ackline/cli/commands.h"

namespace ackline::cli {
namespace {

constexpr std::string_view kGlobal = "--server --admin --token --data --output --help";

std::string long_names(const CommandSpec& command) {
  std::string out;
  for (const OptionSpec& option : command.options) {
    std::size_t from = 0;
    while (from < option.names.size()) {
      const std::size_t comma = std::min(option.names.find(',', from), option.names.size());
      const std::string_view one = option.names.substr(from, comma - from);
      if (one.starts_with("--")) out += fmt::format("{} ", one);
      from = comma + 1;
    }
  }
  return out;
}

Result<ExitCode> completion(Context& context) {
  const std::vector<CommandSpec> commands = all_commands();
  std::map<std::string, std::set<std::string>> children;
  std::string cases;
  for (const CommandSpec& command : commands) {
    const std::size_t space = command.path.find(' ');
    const std::string first(command.path.substr(0, space));
    children[""].insert(first);
    if (space != std::string_view::npos) {
      children[first].insert(std::string(command.path.substr(space + 1)));
    }
    cases += fmt::format("    '{}') words='{}{}' ;;\n", command.path, long_names(command), kGlobal);
  }
  for (const auto& [parent, names] : children) {
    std::string words;
    for (const std::string& name : names) words += name + " ";
    cases +=
        fmt::format("    '{}') words='{}{}' ;;\n", parent, words, parent.empty() ? kGlobal : "");
  }
  context.console.out(fmt::format(R"(_ackline() {{
  local path='' word words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    [[ $word == -* ]] && break
    path="${{path:+$path }}$word"
  done
  while :; do
    case $path in
{}    esac
    [[ -n $words || -z $path ]] && break
    [[ $path == *' '* ]] && path=${{path% *}} || path=''
  done
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}")
}}
complete -o default -F _ackline ackline
)",
                                  cases));
  return ExitCode::kOk;
}

}  // namespace

std::vector<CommandSpec> completion_commands() {
  return {{.path = "completion",
           .help = "Completion for bash (zsh: after bashcompinit)",
           .examples = "source <(ackline completion)",
           .options = {},
           .run = completion}};
}

}  // namespace ackline::cli

#include "ackline/cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace ackline::cli {
namespace {

// In single quotes, for every shell.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// Of `path`: the commands right below it.
std::vector<const TreeCommand*> children_of(std::span<const TreeCommand> tree,
                                            std::string_view path) {
  std::vector<const TreeCommand*> children;
  for (const TreeCommand& command : tree) {
    const std::size_t space = command.path.rfind(' ');
    const std::string_view parent = space == std::string::npos
                                        ? std::string_view()
                                        : std::string_view(command.path).substr(0, space);
    if (!command.path.empty() && parent == path) children.push_back(&command);
  }
  return children;
}

std::string_view leaf_of(const TreeCommand& command) {
  return std::string_view(command.path).substr(command.path.rfind(' ') + 1);
}

// One arm of a shell's `case` a command: its path, then whatever `body` makes of it.
template <class Body>
std::string arms(std::span<const TreeCommand> tree, std::string_view indent, Body body) {
  std::string out;
  for (const TreeCommand& command : tree) {
    if (const std::string inside = body(command); !inside.empty()) {
      out += fmt::format("{}{}) {} ;;\n", indent, quoted(command.path), inside);
    }
  }
  return out;
}

// Patterns "PATH|NAME" of the options that take a value.
std::vector<std::string> valued_patterns(std::span<const TreeCommand> tree) {
  std::vector<std::string> patterns;
  for (const TreeCommand& command : tree) {
    for (const TreeOption& option : command.options) {
      if (!option.takes_value) continue;
      for (const std::string& name : option.names) {
        patterns.push_back(quoted(command.path + "|" + name));
      }
    }
  }
  return patterns;
}

// Arms "PATH|NAME) VARIABLE='a b' ;;" of the options with a fixed choice.
std::string choice_arms(std::span<const TreeCommand> tree, std::string_view variable) {
  std::string out;
  for (const TreeCommand& command : tree) {
    for (const TreeOption& option : command.options) {
      if (option.allowed.empty()) continue;
      std::vector<std::string> patterns;
      patterns.reserve(option.names.size());
      for (const std::string& name : option.names) {
        patterns.push_back(quoted(command.path + "|" + name));
      }
      if (patterns.empty()) continue;
      out += fmt::format("      {}) {}={} ;;\n", fmt::join(patterns, "|"), variable,
                         quoted(fmt::format("{}", fmt::join(option.allowed, " "))));
    }
  }
  return out;
}

std::string paths_pattern(std::span<const TreeCommand> tree) {
  std::vector<std::string> paths;
  for (const TreeCommand& command : tree) {
    if (!command.path.empty()) paths.push_back(quoted(command.path));
  }
  return fmt::format("{}", fmt::join(paths, "|"));
}

// "name:help" for zsh's _describe.
std::string described(std::string_view name, std::string_view help) {
  std::string out;
  for (const char c : fmt::format("{}", name)) {
    if (c == ':') out += '\\';
    out += c;
  }
  return quoted(fmt::format("{}:{}", out, help));
}

}  // namespace

std::string bash_completion(std::span<const TreeCommand> tree) {
  return fmt::format(
      R"(# bash completion of ackline; made by `ackline completion bash`.
_ackline() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} path='' before='' word words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    [[ $word == '=' ]] && continue
    case "$path|$before" in
      {}) before=''; continue ;;
    esac
    before=''
    if [[ $word == -* ]]; then
      before=$word
      continue
    fi
    case "${{path:+$path }}$word" in
      {}) path="${{path:+$path }}$word" ;;
    esac
  done
  [[ $cur == '=' ]] && cur=''
  case "$path|$before" in
{}      {}) return ;;
    *)
      case $path in
{}      esac
      if [[ $cur == -* || -z $words ]]; then
        case $path in
{}        esac
      fi ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}}
complete -o default -F _ackline ackline
)",
      fmt::join(valued_patterns(tree), "|"), paths_pattern(tree), choice_arms(tree, "words"),
      fmt::join(valued_patterns(tree), "|"),
      arms(tree, "        ",
           [&](const TreeCommand& command) {
             std::string words;
             for (const TreeCommand* child : children_of(tree, command.path)) {
               words += (words.empty() ? "" : " ") + std::string(leaf_of(*child));
             }
             // A positional with a fixed choice.
             for (const TreeOption& option : command.options) {
               if (option.names.empty() && words.empty()) {
                 words = fmt::format("{}", fmt::join(option.allowed, " "));
               }
             }
             return words.empty() ? words : "words=" + quoted(words);
           }),
      arms(tree, "          ", [](const TreeCommand& command) {
        std::string words;
        for (const TreeOption& option : command.options) {
          for (const std::string& name : option.names) words += (words.empty() ? "" : " ") + name;
        }
        return words.empty() ? words : "words=" + quoted(words);
      }));
}

std::string zsh_completion(std::span<const TreeCommand> tree) {
  return fmt::format(
      R"(#compdef ackline
# zsh completion of ackline; made by `ackline completion zsh`.
_ackline() {{
  local path_='' before='' word i
  local -a commands options choices
  for ((i = 2; i < CURRENT; i++)); do
    word=${{words[i]}}
    case "$path_|$before" in
      ({}) before=''; continue ;;
    esac
    before=''
    if [[ $word == -* ]]; then
      [[ $word == *=* ]] || before=$word
      continue
    fi
    case "${{path_:+$path_ }}$word" in
      ({}) path_="${{path_:+$path_ }}$word" ;;
    esac
  done
  local words_=''
  local -A choice
  case "$path_|$before" in
{}  esac
  if [[ -n $words_ ]]; then
    choices=(${{=words_}})
    compadd -a choices
    return
  fi
  case "$path_|$before" in
    ({}) _files; return ;;
  esac
  case $path_ in
{}  esac
  case $path_ in
{}  esac
  (( $#commands )) && _describe command commands
  if [[ $PREFIX == -* || $#commands -eq 0 ]]; then
    _describe option options
  fi
  (( $#commands )) || _files
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _ackline "$@"
else
  compdef _ackline ackline
fi
)",
      fmt::join(valued_patterns(tree), "|"), paths_pattern(tree), choice_arms(tree, "words_"),
      fmt::join(valued_patterns(tree), "|"),
      arms(tree, "    ",
           [&](const TreeCommand& command) {
             std::string items;
             for (const TreeCommand* child : children_of(tree, command.path)) {
               items += " " + described(leaf_of(*child), child->help);
             }
             return items.empty() ? items : "commands=(" + items.substr(1) + ")";
           }),
      arms(tree, "    ", [](const TreeCommand& command) {
        std::string items;
        for (const TreeOption& option : command.options) {
          for (const std::string& name : option.names) items += " " + described(name, option.help);
        }
        return items.empty() ? items : "options=(" + items.substr(1) + ")";
      }));
}

std::string fish_completion(std::span<const TreeCommand> tree) {
  std::string out = fmt::format(
      R"(# fish completion of ackline; made by `ackline completion fish`.
function __ackline_at
  set -l path ''
  set -l before ''
  for word in (commandline -opc)[2..-1]
    switch "$path|$before"
      case {}
        set before ''
        continue
    end
    set before ''
    if string match -q -- '-*' $word
      string match -q -- '*=*' $word; or set before $word
      continue
    end
    set -l longer (string trim "$path $word")
    switch "$longer"
      case {}
        set path $longer
    end
  end
  test "$path" = "$argv[1]"
end
)",
      fmt::join(valued_patterns(tree), " "), [&] {
        std::string paths = paths_pattern(tree);
        for (char& c : paths) c = c == '|' ? ' ' : c;
        return paths;
      }());
  for (const TreeCommand& command : tree) {
    const std::string at =
        fmt::format("complete -c ackline -n \"__ackline_at '{}'\"", command.path);
    for (const TreeCommand* child : children_of(tree, command.path)) {
      out += fmt::format("{} -f -a {} -d {}\n", at, leaf_of(*child), quoted(child->help));
    }
    for (const TreeOption& option : command.options) {
      if (option.names.empty()) continue;
      out += at;
      for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.takes_value) out += " -r";
      if (!option.allowed.empty()) {
        out += " -f -a " + quoted(fmt::format("{}", fmt::join(option.allowed, " ")));
      }
      out += " -d " + quoted(option.help) + "\n";
    }
  }
  return out;
}

}  // namespace ackline::cli

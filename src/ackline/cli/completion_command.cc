// `ackline completion bash | zsh | fish`: a script for the shell, on stdout.
#include "ackline/cli/commands.h"
#include "ackline/cli/completion.h"

namespace ackline::cli {
namespace {

Result<ExitCode> completion(Context& context) {
  const std::vector<CommandSpec> commands = all_commands();
  const std::vector<TreeCommand> tree = command_tree(commands);
  const std::string shell = context.args.text("shell");
  context.console.out(shell == "zsh"    ? zsh_completion(tree)
                      : shell == "fish" ? fish_completion(tree)
                                        : bash_completion(tree));
  return ExitCode::kOk;
}

}  // namespace

std::vector<CommandSpec> completion_commands() {
  return {{.path = "completion",
           .help = "Completion of commands, options and words for a shell",
           .examples = "source <(ackline completion bash)\n"
                       "  ackline completion zsh > ~/.zfunc/_ackline\n"
                       "  ackline completion fish > ~/.config/fish/completions/ackline.fish",
           .options = {{.names = "shell",
                        .help = "bash, zsh or fish",
                        .fallback = "bash",
                        .allowed = {"bash", "zsh", "fish"}}},
           .run = completion}};
}

}  // namespace ackline::cli

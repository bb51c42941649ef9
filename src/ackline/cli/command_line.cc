#include "ackline/cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <optional>

#include "ackline/base/config.h"
#include "ackline/base/nearest.h"
#include "ackline/cli/commands.h"
#include "ackline/runtime/runtime.h"

namespace ackline::cli {
namespace {

constexpr std::string_view kFooter =
    "Environment: ACKLINE_SERVER, ACKLINE_ADMIN_URL, ACKLINE_TOKEN, and every configuration key\n"
    "(ACKLINE_DATA_PATH=…). Exit codes: 0 ok, 1 failed, 2 usage, 3 unavailable.\n"
    "Start here: `ackline demo`, or `ackline serve` and then `ackline topic create orders`.";

std::string environment_value(std::span<const std::string> environment, std::string_view name) {
  for (const std::string& one : environment) {
    if (one.starts_with(name) && one.size() > name.size() && one[name.size()] == '=') {
      return one.substr(name.size() + 1);
    }
  }
  return {};
}

// "--topic,-t" -> "topic": the last long name, else the positional's.
std::string key_of(std::string_view names) {
  std::string key(names);
  std::size_t from = 0;
  while (from < names.size()) {
    const std::size_t comma = std::min(names.find(',', from), names.size());
    const std::string_view one = names.substr(from, comma - from);
    if (one.starts_with("--")) key = one.substr(2);
    from = comma + 1;
  }
  while (key.starts_with('-')) key.erase(0, 1);
  return key;
}

// What one option of one command was given.
struct Slot {
  std::string key;
  const OptionSpec* spec = nullptr;
  std::vector<std::string> values;
  std::int64_t count = 0;
  CLI::Option* option = nullptr;
};

void add_option(CLI::App& app, Slot& slot) {
  const OptionSpec& spec = *slot.spec;
  const std::string names(spec.names);
  const std::string help(spec.help);
  if (spec.kind == OptionKind::kFlag) {
    slot.option = app.add_flag(names, slot.count, help);
    return;
  }
  slot.option = app.add_option(names, slot.values, help);
  slot.option->required(spec.required);
  if (!spec.fallback.empty()) slot.option->default_str(std::string(spec.fallback));
  switch (spec.kind) {
    case OptionKind::kList:
      slot.option->type_name("LIST")->allow_extra_args(!spec.names.starts_with('-'));
      break;
    case OptionKind::kInteger:
      slot.option->type_name("N")->expected(1)->allow_extra_args(false)->check(
          CLI::Range(spec.min, spec.max, fmt::format("a whole number from {}", spec.min)));
      break;
    default:
      slot.option->type_name("TEXT")->expected(1)->allow_extra_args(false);
      if (!spec.allowed.empty()) {
        slot.option->check(
            CLI::IsMember(std::vector<std::string>(spec.allowed.begin(), spec.allowed.end())));
      }
  }
}

// The application, its subcommands and where their values go.
struct Parser {
  struct Leaf {
    const CommandSpec* command;
    CLI::App* app;
    std::deque<Slot> slots;
  };

  explicit Parser(std::span<const CommandSpec> commands);
  CLI::App* parent_of(std::string_view path, std::string& name);

  CLI::App app{"Ackline: delivers events and knows how far everyone is.", "ackline"};
  std::map<std::string, CLI::App*> parents;
  std::deque<Leaf> leaves;
  ApiOptions api;
  std::string output = "table";
  CLI::Option* server = nullptr;
  CLI::Option* admin = nullptr;
  CLI::Option* data = nullptr;
};

CLI::App* Parser::parent_of(std::string_view path, std::string& name) {
  const std::size_t space = path.find(' ');
  name = space == std::string_view::npos ? path : path.substr(space + 1);
  if (space == std::string_view::npos) return &app;
  const std::string group(path.substr(0, space));
  CLI::App*& parent = parents[group];
  if (parent == nullptr) {
    parent = app.add_subcommand(group);
    parent->require_subcommand(1)->fallthrough();
  }
  return parent;
}

Parser::Parser(std::span<const CommandSpec> commands) {
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every command");
  app.set_version_flag("--version,-V", std::string(runtime::version()));
  app.footer(std::string(kFooter));
  app.get_formatter()->column_width(34);
  server = app.add_option("--server", api.server, "Traffic address of the server")
               ->type_name("URL")
               ->default_str(api.server);
  admin = app.add_option("--admin", api.admin, "Admin address of the server")
              ->type_name("URL")
              ->default_str(api.admin);
  app.add_option("--token", api.token, "Admin token; default: DATA/admin.token")->type_name("TEXT");
  data = app.add_option("--data", api.data_path, "The server's data directory")
             ->type_name("DIR")
             ->default_str(api.data_path);
  app.add_option("--output,-o", output, "How to print")
      ->check(CLI::IsMember({"table", "json"}))
      ->default_str("table");
  for (const CommandSpec& command : commands) {
    std::string name;
    CLI::App* parent = parent_of(command.path, name);
    Leaf& leaf = leaves.emplace_back();
    leaf.command = &command;
    leaf.app = parent->add_subcommand(name, std::string(command.help));
    leaf.app->fallthrough();
    if (!command.examples.empty()) {
      leaf.app->footer("Examples:\n  " + std::string(command.examples));
    }
    for (const OptionSpec& spec : command.options) {
      Slot& slot = leaf.slots.emplace_back();
      slot.key = key_of(spec.names);
      slot.spec = &spec;
      add_option(*leaf.app, slot);
    }
  }
  for (const auto& [group, parent] : parents) {
    std::vector<std::string> names;
    for (const CLI::App* one : parent->get_subcommands({})) names.push_back(one->get_name());
    parent->description(fmt::format("{} {}", group, fmt::join(names, " | ")));
  }
}

Args args_of(const Parser::Leaf& leaf) {
  Args::Values values;
  for (const Slot& slot : leaf.slots) {
    if (slot.spec->kind == OptionKind::kFlag) {
      if (slot.count > 0) values[slot.key] = {};
    } else if (slot.option->count() > 0) {
      values[slot.key] = slot.values;
    } else if (!slot.spec->fallback.empty()) {
      values[slot.key] = {std::string(slot.spec->fallback)};
    }
  }
  return Args(std::move(values));
}

// The sentence for a first word that is no command; "" when there is none such. The library would
// only say that a command is missing.
std::string unknown_command(std::span<const std::string> arguments,
                            std::span<const CommandSpec> commands) {
  if (arguments.empty() || arguments.front().starts_with('-')) return {};
  std::vector<std::string_view> known;
  for (const CommandSpec& command : commands) {
    known.push_back(command.path.substr(0, command.path.find(' ')));
  }
  const std::string& word = arguments.front();
  if (std::ranges::find(known, word) != known.end()) return {};
  const std::string_view near = nearest_name(word, known);
  return fmt::format("there is no command {}.{} See ackline --help.", word,
                     near.empty() ? "" : fmt::format(" Did you mean {}?", near));
}

// The server's admin port is on the host that --server names, unless said otherwise.
std::string admin_beside(std::string_view server) {
  const std::size_t scheme = server.find("://");
  const std::size_t from = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t bracket = server.find(']', from);
  const std::size_t colon = server.find(':', bracket == std::string_view::npos ? from : bracket);
  return fmt::format("{}:10106", server.substr(0, std::min(colon, server.size())));
}

// "TEXT:{table,json}" -> table, json.
std::vector<std::string> allowed_of(const std::string& type) {
  std::vector<std::string> allowed;
  const std::size_t open = type.find('{');
  if (open == std::string::npos || !type.ends_with('}')) return allowed;
  const std::string_view inside = std::string_view(type).substr(open + 1, type.size() - open - 2);
  for (std::size_t from = 0; from <= inside.size();) {
    const std::size_t comma = std::min(inside.find(',', from), inside.size());
    allowed.emplace_back(inside.substr(from, comma - from));
    from = comma + 1;
  }
  return allowed;
}

std::vector<TreeOption> options_of(const CLI::App& app) {
  std::vector<TreeOption> options;
  for (const CLI::Option* option : app.get_options()) {
    TreeOption& out = options.emplace_back();
    for (const std::string& name : option->get_lnames()) out.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) out.names.push_back("-" + name);
    out.help = option->get_description();
    out.takes_value = option->get_items_expected_max() > 0;
    out.allowed = allowed_of(option->get_type_name());
  }
  return options;
}

void walk_tree(const CLI::App& app, const std::string& path, std::vector<TreeOption> above,
               std::vector<TreeCommand>& out) {
  std::vector<TreeOption> options = options_of(app);
  // Every command has its own --help.
  std::erase_if(above, [&](const TreeOption& option) {
    return std::ranges::any_of(options, [&](const TreeOption& own) {
      return !own.names.empty() && own.names == option.names;
    });
  });
  options.insert(options.end(), above.begin(), above.end());
  out.push_back({.path = path, .help = app.get_description(), .options = options});
  std::erase_if(options, [](const TreeOption& option) { return option.names.empty(); });
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    walk_tree(*child, path.empty() ? child->get_name() : path + " " + child->get_name(), options,
              out);
  }
}

}  // namespace

std::vector<TreeCommand> command_tree(std::span<const CommandSpec> commands) {
  const Parser parser(commands);
  std::vector<TreeCommand> tree;
  walk_tree(parser.app, "", {}, tree);
  return tree;
}

ParsedCommand parse_command_line(std::span<const std::string> arguments,
                                 std::span<const CommandSpec> commands,
                                 std::span<const std::string> environment) {
  Parser parser(commands);
  ParsedCommand out;
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    parser.app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    std::ostringstream problem;
    out.exit = parser.app.exit(error, text, problem) == 0 ? ExitCode::kOk : ExitCode::kUsage;
    out.message = out.exit == ExitCode::kOk ? text.str() : problem.str() + text.str();
    if (const std::string unknown = unknown_command(arguments, commands); !unknown.empty()) {
      out.message = unknown;
    }
    return out;
  }
  out.global.api = parser.api;
  out.global.json = parser.output == "json";
  ApiOptions& api = out.global.api;
  const auto from_environment = [&](std::string_view name, std::string& to) {
    const std::string value = environment_value(environment, name);
    if (!value.empty()) to = value;
    return !value.empty();
  };
  bool server_named = parser.server->count() > 0;
  if (!server_named) server_named = from_environment("ACKLINE_SERVER", api.server);
  if (parser.admin->count() == 0 && !from_environment("ACKLINE_ADMIN_URL", api.admin) &&
      server_named) {
    api.admin = admin_beside(api.server);
  }
  if (api.token.empty()) static_cast<void>(from_environment("ACKLINE_TOKEN", api.token));
  api.data_named = parser.data->count() > 0;
  if (!api.data_named) {
    static_cast<void>(from_environment("ACKLINE_DATA_PATH", api.data_path));
  }
  for (const Parser::Leaf& leaf : parser.leaves) {
    if (!leaf.app->parsed()) continue;
    out.command = leaf.command;
    out.args = args_of(leaf);
  }
  return out;
}

int run_command_line(std::span<const std::string> arguments) {
  Console console(Console::standard());
  const std::vector<CommandSpec> commands = all_commands();
  const std::vector<std::string> environment = process_environment();
  ParsedCommand parsed = parse_command_line(arguments, commands, environment);
  if (parsed.command == nullptr) {
    if (parsed.exit == ExitCode::kOk) {
      console.out(parsed.message);
    } else {
      while (parsed.message.ends_with('\n')) parsed.message.pop_back();
      console.err_line(parsed.message);
    }
    return static_cast<int>(parsed.exit);
  }
  ApiClient api(parsed.global.api);
  Context context{parsed.args, console, api, parsed.global.json};
  const Result<ExitCode> done = parsed.command->run(context);
  console.end_progress();
  if (done) return static_cast<int>(*done);
  console.err_line(console.paint(Colour::kRed, "ackline: ") + error_line(done.error()));
  return static_cast<int>(exit_code_of(done.error()));
}

}  // namespace ackline::cli

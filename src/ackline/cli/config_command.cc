// `ackline config init | check | show`.
#include <fmt/format.h>

#include "ackline/base/config_docs.h"
#include "ackline/base/json_text.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/config_sources.h"
#include "ackline/cli/table.h"
#include "ackline/io/fs/posix_file_system.h"

namespace ackline::cli {
namespace {

constexpr std::size_t kValueColumns = 48;

Result<ExitCode> init(Context& context) {
  const std::string path = context.args.text("file");
  const std::string text =
      path.ends_with(".properties") ? commented_config_properties() : commented_config_yaml();
  if (path == "-") {
    context.console.out(text);
    return ExitCode::kOk;
  }
  io::PosixFileSystem fs;
  const auto there = fs.exists(path);
  if (!there) return fail(there);
  if (*there && !context.args.flag("force")) {
    return fail(ErrorCode::kAlreadyExists, fmt::format("{} is there already", path),
                "Name another file, or pass --force to replace it.");
  }
  if (auto done = io::write_file_atomic(fs, path, text); !done) {
    return fail(done);
  }
  context.console.out_line(fmt::format(
      "wrote {}: every key, commented at its default. Next: ackline serve -c {}", path, path));
  return ExitCode::kOk;
}

Result<ExitCode> check(Context& context) {
  auto sources = config_sources(context.args);
  if (!sources) return fail(sources);
  const ConfigReport report = load_config(*sources);
  if (context.json) {
    std::string items;
    for (const Error& problem : report.problems) {
      if (!items.empty()) items += ",";
      items += JsonObject()
                   .text("key", problem.field)
                   .text("error", problem.word())
                   .text("detail", problem.detail)
                   .text("remedy", problem.remedy)
                   .str();
    }
    const auto& notes = report.config.notes();
    context.console.out_line(JsonObject()
                                 .boolean("ok", report.problems.empty())
                                 .raw("problems", "[" + items + "]")
                                 .texts("notes", {notes.begin(), notes.end()})
                                 .str());
    return report.problems.empty() ? ExitCode::kOk : ExitCode::kFailed;
  }
  Console& console = context.console;
  for (const Error& problem : report.problems) {
    console.out_line(console.paint(Colour::kRed, "problem: ") + problem.detail);
    if (!problem.remedy.empty()) console.out_line("         " + problem.remedy);
  }
  for (const std::string& note : report.config.notes()) {
    console.out_line(console.paint(Colour::kYellow, "note: ") + note);
  }
  if (!report.problems.empty()) return ExitCode::kFailed;
  std::size_t set = 0;
  for (const Config::Entry& entry : report.config.entries()) set += entry.origin != "default";
  console.out_line(fmt::format("ok: {} keys, {} of them set", report.config.entries().size(), set));
  return ExitCode::kOk;
}

Result<ExitCode> show(Context& context) {
  auto sources = config_sources(context.args);
  if (!sources) return fail(sources);
  auto config = Config::load(*sources);
  if (!config) return fail(config);
  const bool only_set = context.args.flag("set");
  std::string items;
  Table table({"KEY", "VALUE", "ORIGIN"});
  for (const Config::Entry& entry : config->entries()) {
    if (only_set && entry.origin == "default") continue;
    const std::string value(entry.shown());
    table.add({std::string(entry.key->name),
               value.empty() ? "\"\"" : printable(value, kValueColumns), entry.origin});
    if (!items.empty()) items += ",";
    items += JsonObject()
                 .text("key", entry.key->name)
                 .text("value", value)
                 .text("default", entry.key->default_value)
                 .text("origin", entry.origin)
                 .boolean("secret", entry.key->secret)
                 .text("help", entry.key->help)
                 .str();
  }
  if (context.json) {
    context.console.out_line("{\"items\":[" + items + "],\"next\":null}");
  } else {
    context.console.out(table.render());
  }
  return ExitCode::kOk;
}

}  // namespace

std::vector<CommandSpec> config_commands() {
  std::vector<OptionSpec> show_options = config_options();
  show_options.push_back(
      {.names = "--set", .kind = OptionKind::kFlag, .help = "Only keys that a source names"});
  return {{.path = "config init",
           .help = "Write a configuration file with every key, commented",
           .examples = "ackline config init\n  ackline config init eventmesh.properties\n"
                       "  ackline config init - | less",
           .options = {{.names = "file",
                        .help = "The file (.yaml or .properties), or - for stdout",
                        .fallback = "ackline.yaml"},
                       {.names = "--force", .kind = OptionKind::kFlag, .help = "Replace it"}},
           .run = init},
          {.path = "config check",
           .help = "Name every mistake in the configuration",
           .examples = "ackline config check -c ackline.yaml",
           .options = config_options(),
           .run = check},
          {.path = "config show",
           .help = "Every key, its value and where that comes from",
           .examples = "ackline config show -c ackline.yaml --set",
           .options = std::move(show_options),
           .run = show}};
}

}  // namespace ackline::cli

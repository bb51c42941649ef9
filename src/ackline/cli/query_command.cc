// `ackline query`: events of a topic by their attributes.
#include <fmt/format.h>

#include <algorithm>

#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/table.h"

namespace ackline::cli {
namespace {

constexpr std::size_t kTextColumns = 32;
constexpr std::int64_t kPage = 1000;

Target query_target(const Context& context) {
  Target target("/admin/events");
  for (const std::string_view name : {"topic", "partition", "id", "type", "source", "subject",
                                      "key", "since", "until", "filter"}) {
    target.query_if(name, context.args.text(name));
  }
  target.query_if("data", context.args.text("where"));
  return target;
}

void add_row(Table& table, const Json& item) {
  const Json event = item["event"];
  table.add({shown(item["partition"]), shown(item["offset"]), shown(item["time"]),
             printable(event["id"].text(), kTextColumns),
             printable(event["type"].text(), kTextColumns),
             printable(event["source"].text(), kTextColumns),
             printable(event["partitionkey"].text(), kTextColumns)});
}

Result<ExitCode> query(Context& context) {
  std::int64_t left = context.args.integer("limit");
  std::string cursor = context.args.text("cursor");
  std::int64_t scanned = 0;
  bool end = false;
  Table table({">PARTITION", ">OFFSET", "TIME", "ID", "TYPE", "SOURCE", "KEY"});
  while (left > 0 && !end) {
    Target page = query_target(context);
    page.query("limit", std::min(left, kPage)).query_if("cursor", cursor);
    const auto answer = context.api.get(Port::kAdmin, page);
    if (!answer) return fail(answer);
    const auto json = answer->json();
    if (!json) return fail(json);
    if (context.json) print_json(context, *answer);
    for (const Json& item : (*json)["items"].items()) add_row(table, item);
    left -= static_cast<std::int64_t>((*json)["items"].size());
    cursor = (*json)["next"].dump();
    end = (*json)["end"].boolean();
    if (scanned == 0) tell_left_out(context, *json);
    scanned += (*json)["scanned"].integer();
    context.console.progress(fmt::format("scanned {}", scanned));
  }
  context.console.end_progress();
  if (context.json) return ExitCode::kOk;
  context.console.out(table.empty() ? "no events\n" : table.render());
  if (!end) context.console.out_line("there may be more: --cursor '" + cursor + "'");
  return ExitCode::kOk;
}

}  // namespace

std::vector<CommandSpec> query_commands() {
  return {{.path = "query",
           .help = "Find events by attributes, time, key or data",
           .examples = "ackline query -t orders --type order.created --since 2026-11-29T12:00:00Z\n"
                       "  ackline query -t orders --where /n=3 --output json",
           .options = {{.names = "--topic,-t", .help = "Name of the topic", .required = true},
                       {.names = "--partition,-p",
                        .kind = OptionKind::kInteger,
                        .help = "Only this partition"},
                       {.names = "--id", .help = "Exact id"},
                       {.names = "--type", .help = "Exact type"},
                       {.names = "--source", .help = "Exact source"},
                       {.names = "--subject", .help = "Exact subject"},
                       {.names = "--key", .help = "Exact partitionkey"},
                       {.names = "--since", .help = "Appended at this time or later"},
                       {.names = "--until", .help = "Appended before this time"},
                       {.names = "--filter", .help = "JSON filter, as in subscribe"},
                       {.names = "--where", .help = "/path=value in JSON data"},
                       {.names = "--limit",
                        .kind = OptionKind::kInteger,
                        .help = "At most so many",
                        .fallback = "100",
                        .min = 1},
                       {.names = "--cursor", .help = "Where to go on, JSON as it was printed"}},
           .run = query}};
}

}  // namespace ackline::cli

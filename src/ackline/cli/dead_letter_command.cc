// `ackline dlq list | show | redrive | purge`.
#include <fmt/format.h>

#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/table.h"

namespace ackline::cli {
namespace {

constexpr std::size_t kTextColumns = 36;

Result<ExitCode> list(Context& context) {
  Target target("/admin/dlq/browse");
  for (const std::string_view name :
       {"topic", "group", "reason", "state", "since", "until", "filter"}) {
    target.query_if(name, context.args.text(name));
  }
  Table table({"ENTRY", "GROUP", "REASON", ">ATTEMPTS", "STATE", ">REDRIVES", "DEAD SINCE", "EVENT",
               "LAST ERROR"});
  return show_list(
      context, target, context.args.integer("limit"),
      [&](const Json& entry) {
        table.add({entry["id"].text(), entry["group"].text(), shown(entry["reason"]),
                   shown(entry["attempts"]), shown(entry["state"]), shown(entry["redrives"]),
                   shown(entry["deadTime"]), printable(entry["event"]["id"].text(), kTextColumns),
                   printable(shown(entry["lastError"]), kTextColumns)});
      },
      [&] { context.console.out(table.empty() ? "no dead letters\n" : table.render()); });
}

// One entry, found by paging: there is no route for it alone.
Result<ExitCode> show_entry(Context& context) {
  const std::string id = context.args.text("entry");
  const std::size_t suffix = id.rfind("_DLQ:");
  if (suffix == std::string::npos) {
    return usage(context, "an entry looks like orders_DLQ:0:17, as `ackline dlq list` shows it");
  }
  std::string after;
  while (true) {
    Target target("/admin/dlq/browse");
    target.query("topic", id.substr(0, suffix)).query("limit", 1000).query_if("after", after);
    const auto answer = context.api.get(Port::kAdmin, target);
    if (!answer) return fail(answer);
    const auto json = answer->json();
    if (!json) return fail(json);
    for (const Json& entry : (*json)["items"].items()) {
      if (entry["id"].text() != id) continue;
      if (context.json) {
        context.console.out_line(entry.dump());
        return ExitCode::kOk;
      }
      Table table({"PROPERTY", "VALUE"});
      for (const auto& [name, value] : entry.members()) table.add({name, printable(shown(value))});
      context.console.out(table.render());
      return ExitCode::kOk;
    }
    after = (*json)["next"].text();
    if (after.empty()) break;
  }
  return fail(ErrorCode::kNotFound, fmt::format("there is no entry {}", id),
              "See `ackline dlq list`.");
}

// The selectors that redrive and purge share.
JsonObject selectors(const Context& context) {
  JsonObject body;
  body.text("topic", context.args.text("topic"));
  for (const std::string_view name : {"group", "reason", "since", "until"}) {
    if (context.args.has(name)) body.text(name, context.args.text(name));
  }
  if (context.args.has("ids")) body.texts("ids", context.args.list("ids"));
  if (context.args.has("filter")) body.raw("filter", context.args.text("filter"));
  return body;
}

Result<ExitCode> redrive(Context& context) {
  JsonObject body = selectors(context);
  if (context.args.has("max")) body.integer("max", context.args.integer("max"));
  if (context.args.has("rate")) body.integer("ratePerSecond", context.args.integer("rate"));
  body.boolean("dryRun", context.args.flag("dry-run"));
  return show(context, context.api.post(Port::kAdmin, Target("/admin/dlq/redrive"), body.str()),
              [&](const Json& lane) {
                context.console.out_line(fmt::format("{}matched {}, started {}, redriven before {}",
                                                     lane["dryRun"].boolean() ? "dry run: " : "",
                                                     shown(lane["matched"]), shown(lane["started"]),
                                                     shown(lane["alreadyRedriven"])));
                if (!lane["laneId"].is_null()) {
                  context.console.out_line(
                      fmt::format("lane {} is {}", lane["laneId"].text(), lane["state"].text()));
                }
              });
}

Result<ExitCode> purge(Context& context) {
  JsonObject body = selectors(context);
  if (!confirmed(context, fmt::format("Purge dead letters of {}?", context.args.text("topic")))) {
    return ExitCode::kUsage;
  }
  body.boolean("confirm", true);
  return show(context, context.api.post(Port::kAdmin, Target("/admin/dlq/purge"), body.str()),
              [&](const Json& answer) {
                context.console.out_line(fmt::format("purged {}", shown(answer["purged"])));
              });
}

}  // namespace

std::vector<CommandSpec> dead_letter_commands() {
  const std::vector<OptionSpec> selector = {
      {.names = "--topic,-t", .help = "The source topic", .required = true},
      {.names = "--group,-g", .help = "Only this group's"},
      {.names = "--reason", .help = "max_attempts, max_restarts, rejected or expired"},
      {.names = "--since", .help = "Dead at this time or later"},
      {.names = "--until", .help = "Dead before this time"},
      {.names = "--filter", .help = "JSON filter on the event"}};
  const auto with = [&](std::vector<OptionSpec> more) {
    std::vector<OptionSpec> all = selector;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const OptionSpec ids{
      .names = "--ids", .kind = OptionKind::kList, .help = "Entries, as `dlq list` shows them"};
  return {
      {.path = "dlq list",
       .help = "Dead letters of a topic",
       .examples = "ackline dlq list -t orders -g billing",
       .options = with({{.names = "--state", .help = "dead, redriving, resolved or purged"},
                        {.names = "--limit",
                         .kind = OptionKind::kInteger,
                         .help = "At most so many",
                         .fallback = "100",
                         .min = 1}}),
       .run = list},
      {.path = "dlq show",
       .help = "One dead letter, whole",
       .examples = "ackline dlq show orders_DLQ:0:17",
       .options = {{.names = "entry", .help = "Its id", .required = true}},
       .run = show_entry},
      {.path = "dlq redrive",
       .help = "Deliver dead letters to their group again, beside its progress",
       .examples = "ackline dlq redrive -t orders --dry-run\n"
                   "  ackline dlq redrive -t orders -g billing --ids orders_DLQ:0:17",
       .options = with(
           {ids,
            {.names = "--max", .kind = OptionKind::kInteger, .help = "At most so many", .min = 1},
            {.names = "--rate",
             .kind = OptionKind::kInteger,
             .help = "A second; default 100",
             .min = 1},
            {.names = "--dry-run", .kind = OptionKind::kFlag, .help = "Say what it would do"}}),
       .run = redrive},
      {.path = "dlq purge",
       .help = "Forget dead letters",
       .examples = "ackline dlq purge -t orders -g billing --confirm",
       .options = with({ids, confirm_option()}),
       .run = purge}};
}

}  // namespace ackline::cli

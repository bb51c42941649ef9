// `ackline lane list | show | end`: redrives and replays by filter, under way or done.
#include <fmt/format.h>

#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/table.h"

namespace ackline::cli {
namespace {

Table lane_table() {
  return Table({"LANE", "KIND", "TOPIC", "GROUP", "STATE", ">STARTED", ">OFFERED", ">RESOLVED",
                ">DEAD AGAIN", ">GONE"});
}

void add_lane(Table& table, const Json& lane) {
  table.add({shown(lane["laneId"]), shown(lane["kind"]), shown(lane["topic"]), shown(lane["group"]),
             shown(lane["state"]), shown(lane["started"]), shown(lane["offered"]),
             shown(lane["resolved"]), shown(lane["deadAgain"]), shown(lane["gone"])});
}

Result<ExitCode> list(Context& context) {
  Target target("/admin/lanes");
  target.query_if("topic", context.args.text("topic"));
  target.query_if("group", context.args.text("group"));
  Table table = lane_table();
  return show_list(
      context, target, 0, [&](const Json& lane) { add_lane(table, lane); },
      [&] { context.console.out(table.render()); });
}

Result<ExitCode> show_one(Context& context) {
  const Target target = Target("/admin/lanes").segment(context.args.text("lane"));
  return show(context, context.api.get(Port::kAdmin, target), [&](const Json& lane) {
    Table table = lane_table();
    add_lane(table, lane);
    context.console.out(table.render());
    if (!lane["filter"].is_null()) {
      context.console.out_line("filter " + printable(lane["filter"].dump(), 200));
    }
  });
}

Result<ExitCode> end(Context& context) {
  const std::string lane = context.args.text("lane");
  if (!confirmed(context, fmt::format("End {}? What it has in flight is dropped.", lane))) {
    return ExitCode::kUsage;
  }
  Target target = Target("/admin/lanes").segment(lane);
  target.query("confirm", "true");
  return show(context, context.api.send(Port::kAdmin, "DELETE", target, "", "application/json"),
              [&](const Json&) { context.console.out_line("ended " + lane); });
}

}  // namespace

std::vector<CommandSpec> lane_commands() {
  const OptionSpec lane{
      .names = "lane", .help = "Its id, as replay and redrive say", .required = true};
  return {{.path = "lane list",
           .help = "Redrives and replays by filter",
           .examples = "ackline lane list -t orders",
           .options = {{.names = "--topic,-t", .help = "Only this topic's"},
                       {.names = "--group,-g", .help = "Only this group's"}},
           .run = list},
          {.path = "lane show",
           .help = "How far one is",
           .examples = "ackline lane show r-7",
           .options = {lane},
           .run = show_one},
          {.path = "lane end",
           .help = "End one: what it has not done stays as it is",
           .examples = "ackline lane end r-7 --confirm",
           .options = {lane, confirm_option()},
           .run = end}};
}

}  // namespace ackline::cli

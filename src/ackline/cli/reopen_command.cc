// `ackline replay | reset`: deliver again, or put a group's progress anywhere.
#include <fmt/format.h>

#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/table.h"

namespace ackline::cli {
namespace {

// Adds topic, group, partitions and the position under `member`.
Result<JsonObject> body_of(const Context& context, std::string_view option,
                           std::string_view member) {
  JsonObject body;
  body.text("topic", context.args.text("topic")).text("group", context.args.text("group"));
  if (context.args.has(option)) {
    const auto position = position_json(context.args.text(option));
    if (!position) return fail(position);
    body.raw(member, *position);
  }
  if (context.args.has("partitions")) {
    const auto partitions = partitions_json(context.args.list("partitions"));
    if (!partitions) return fail(partitions);
    body.raw("partitions", *partitions);
  }
  return body;
}

void print_replay(Context& context, const Json& answer) {
  Table table({">PARTITION", ">FRONTIER BEFORE", ">AFTER", ">EVENTS", ">FIRST", ">LAST"});
  for (const auto& [partition, one] : answer["partitions"].members()) {
    table.add({partition, shown(one["frontierBefore"]), shown(one["frontierAfter"]),
               shown(one["events"]), shown(one["first"]), shown(one["last"])});
  }
  context.console.out(table.render());
  context.console.out_line(fmt::format(
      "{} {} events, {}", answer["dryRun"].boolean() ? "would deliver again" : "delivers again",
      shown(answer["events"]), shown_bytes(answer["bytes"])));
  if (const auto left_out = answer["leftOut"].integer(); left_out > 0) {
    context.console.out_line(fmt::format(
        "{} more match and are left out: they are not done yet (in flight, waiting, or in another "
        "lane), so the group gets them anyway",
        left_out));
  }
  if (!answer["laneId"].is_null()) {
    context.console.out_line(
        fmt::format("lane {}: the frontier does not move. Watch it: ackline lane show {}",
                    answer["laneId"].text(), answer["laneId"].text()));
  }
}

Result<ExitCode> replay(Context& context) {
  const bool lane = context.args.has("until") || context.args.has("filter");
  if (!lane && !context.args.has("from")) {
    return usage(context, "say where to begin: --from POSITION, or what: --filter JSON");
  }
  auto body = body_of(context, "from", "from");
  if (!body) return usage(context, error_line(body.error()));
  if (context.args.has("until")) {
    const auto until = position_json(context.args.text("until"));
    if (!until) return usage(context, error_line(until.error()));
    body->raw("until", *until);
  }
  if (context.args.has("filter")) body->raw("filter", context.args.text("filter"));
  if (context.args.has("rate")) body->integer("ratePerSecond", context.args.integer("rate"));
  body->boolean("dryRun", context.args.flag("dry-run"));
  return show(context, context.api.post(Port::kAdmin, Target("/admin/replay"), body->str()),
              [&](const Json& answer) { print_replay(context, answer); });
}

void print_reset(Context& context, const Json& answer) {
  Table table(
      {">PARTITION", ">FRONTIER BEFORE", ">AFTER", ">REOPENED", ">SKIPPED", ">DROPPED IN FLIGHT"});
  for (const auto& [partition, one] : answer["partitions"].members()) {
    table.add({partition, shown(one["frontierBefore"]), shown(one["frontierAfter"]),
               shown(one["reopened"]), shown(one["skipped"]), shown(one["droppedInFlight"])});
  }
  context.console.out(table.render());
  if (answer["dryRun"].boolean()) context.console.out_line("dry run: nothing was changed");
}

Result<ExitCode> reset(Context& context) {
  auto body = body_of(context, "to", "to");
  if (!body) return usage(context, error_line(body.error()));
  const bool dry_run = context.args.flag("dry-run");
  if (!dry_run &&
      !confirmed(context, fmt::format("Reset {} of {} to {}? What is in flight is dropped.",
                                      context.args.text("group"), context.args.text("topic"),
                                      context.args.text("to")))) {
    return ExitCode::kUsage;
  }
  body->boolean("confirm", !dry_run).boolean("dryRun", dry_run);
  return show(context, context.api.post(Port::kAdmin, Target("/admin/reset"), body->str()),
              [&](const Json& answer) { print_reset(context, answer); });
}

}  // namespace

std::vector<CommandSpec> reopen_commands() {
  const OptionSpec topic{.names = "--topic,-t", .help = "Name of the topic", .required = true};
  const OptionSpec group{.names = "--group,-g", .help = "Name of the group", .required = true};
  const OptionSpec partitions{
      .names = "--partitions,-p", .kind = OptionKind::kList, .help = "Only these, e.g. 0,1"};
  const OptionSpec dry_run{
      .names = "--dry-run", .kind = OptionKind::kFlag, .help = "Say what it would do"};
  constexpr std::string_view kPosition = "earliest, latest, an offset, 0=5,1=7 or a time";
  return {{.path = "replay",
           .help = "Deliver again from a position on, or what a filter means beside the progress",
           .examples = "ackline replay -t orders -g billing --from 1000 --dry-run\n"
                       "  ackline replay -t orders -g billing --from 2026-11-29T12:00:00Z\n"
                       "  ackline replay -t orders -g billing --filter "
                       "'{\"exact\":{\"type\":\"order.paid\"}}' --rate 100",
           .options = {topic,
                       group,
                       {.names = "--from", .help = kPosition},
                       {.names = "--until", .help = "Exclusive bound; makes it a lane"},
                       {.names = "--filter", .help = "JSON filter; makes it a lane"},
                       {.names = "--rate",
                        .kind = OptionKind::kInteger,
                        .help = "Of a lane: events a second; default: as clients take them",
                        .min = 1,
                        .max = 1'000'000},
                       partitions,
                       dry_run},
           .run = replay},
          {.path = "reset",
           .help = "Put a group's progress anywhere, forward too",
           .examples = "ackline reset -t orders -g billing --to latest --dry-run\n"
                       "  ackline reset -t orders -g billing --to 0=100,1=90 --confirm",
           .options = {topic,
                       group,
                       {.names = "--to", .help = kPosition, .required = true},
                       partitions,
                       dry_run,
                       confirm_option()},
           .run = reset}};
}

}  // namespace ackline::cli

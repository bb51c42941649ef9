// `ackline lag | holes | explain`: how far everyone is, and why not farther.
#include <fmt/format.h>
#include <poll.h>

#include "ackline/base/clock.h"
#include "ackline/base/config_value.h"
#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/table.h"

namespace ackline::cli {
namespace {

constexpr int kWaitStepMs = 250;
constexpr std::size_t kSentenceColumns = 0;

Target progress_target(std::string_view path, const Context& context) {
  Target target(path);
  target.query_if("topic", context.args.text("topic"));
  target.query_if("group", context.args.text("group"));
  target.query_if("partition", context.args.text("partition"));
  return target;
}

std::string mark(const Json& lag) {
  std::string out;
  for (const std::string_view word : {"clamped", "estimated", "approximate"}) {
    if (lag[word].boolean()) out += (out.empty() ? "" : ", ") + std::string(word);
  }
  return out;
}

void add_lag_rows(Table& table, const Json& lag, bool partitions) {
  if (partitions) {
    for (const auto& [partition, one] : lag["partitions"].members()) {
      table.add({lag["topic"].text(), lag["group"].text(), partition, shown(one["frontier"]),
                 shown(one["highWatermark"]), shown(one["lag"]), shown(one["pending"]),
                 shown(one["inFlight"]), shown(one["waiting"]), shown(one["holes"]),
                 shown_seconds(one["lagSeconds"]), mark(one)});
    }
    return;
  }
  // One that is not known makes the sum unknown.
  const auto sum = [&lag](std::string_view name) {
    std::int64_t all = 0;
    for (const auto& [partition, one] : lag["partitions"].members()) {
      if (one[name].is_null()) return shown(one[name]);
      all += one[name].integer();
    }
    return std::to_string(all);
  };
  table.add({lag["topic"].text(), lag["group"].text(), "all", "", "", shown(lag["lag"]),
             shown(lag["pending"]), sum("inFlight"), sum("waiting"), sum("holes"),
             shown_seconds(lag["lagSeconds"]),
             lag["caughtUp"].boolean() ? "caught up" : mark(lag)});
}

Table lag_table() {
  return Table({"TOPIC", "GROUP", ">PARTITION", ">FRONTIER", ">HIGH WATERMARK", ">LAG", ">PENDING",
                ">IN FLIGHT", ">WAITING", ">HOLES", ">BEHIND", "NOTE"});
}

void print_lag(Context& context, const Json& lag) {
  Table table = lag_table();
  add_lag_rows(table, lag, true);
  add_lag_rows(table, lag, false);
  context.console.out(table.render());
  const Json audit = lag["audit"];
  if (audit.is_null()) return;
  if (audit["equal"].is_null()) {
    context.console.out_line("recount from the files: none, a partition is quarantined");
    return;
  }
  context.console.out_line(fmt::format(
      "recount from the files: {}, {}", shown(audit["recount"]),
      audit["equal"].boolean() ? "equal" : context.console.paint(Colour::kRed, "NOT equal")));
}

// Until the group is caught up, or --timeout is over (exit 1).
Result<ExitCode> wait_for(Context& context, const Target& target) {
  const auto timeout_ms = parse_duration_ms(context.args.text("timeout"));
  if (!timeout_ms) return usage(context, timeout_ms.error().detail);
  const SystemClock clock;
  const MonoMs end = clock.mono().plus(*timeout_ms);
  while (true) {
    const auto answer = context.api.get(Port::kAdmin, target);
    if (!answer) return fail(answer);
    const auto lag = answer->json();
    if (!lag) return fail(lag);
    const bool caught_up = (*lag)["caughtUp"].boolean();
    const bool late = clock.mono() >= end;
    if (caught_up || late) {
      context.console.end_progress();
      if (context.json) {
        print_json(context, *answer);
      } else {
        print_lag(context, *lag);
      }
      if (caught_up) return ExitCode::kOk;
      context.console.err_line("not caught up in time: `ackline explain` says why");
      return ExitCode::kFailed;
    }
    context.console.progress(
        fmt::format("waiting: lag {}, pending {}", shown((*lag)["lag"]), shown((*lag)["pending"])));
    static_cast<void>(::poll(nullptr, 0, kWaitStepMs));
  }
}

Result<ExitCode> lag(Context& context) {
  const bool one = context.args.has("topic") && context.args.has("group");
  Target target = progress_target("/admin/lag", context);
  if (context.args.flag("audit")) target.query("audit", "true");
  if (context.args.flag("wait")) {
    if (!one) return usage(context, "--wait needs --topic and --group");
    return wait_for(context, target);
  }
  if (one) {
    return show(context, context.api.get(Port::kAdmin, target),
                [&](const Json& answer) { print_lag(context, answer); });
  }
  Table table = lag_table();
  return show_list(
      context, target, 0,
      [&](const Json& item) { add_lag_rows(table, item, context.args.flag("partitions")); },
      [&] { context.console.out(table.empty() ? "no groups\n" : table.render()); });
}

Result<ExitCode> holes(Context& context) {
  Table table({">PARTITION", ">FROM", ">TO", ">EVENTS", ">LEASED", ">WAITING", ">BLOCKED",
               ">DEAD LETTERING", "OLDEST"});
  return show_list(
      context, progress_target("/admin/holes", context), context.args.integer("limit"),
      [&](const Json& hole) {
        table.add({shown(hole["partition"]), shown(hole["from"]), shown(hole["to"]),
                   shown(hole["events"]), shown(hole["leased"]), shown(hole["waiting"]),
                   shown(hole["blocked"]), shown(hole["deadLettering"]),
                   shown(hole["oldestTime"])});
      },
      [&] { context.console.out(table.empty() ? "no holes\n" : table.render()); });
}

Result<ExitCode> explain(Context& context) {
  const auto answer = context.api.get(Port::kAdmin, progress_target("/admin/explain", context));
  return show(context, answer, [&](const Json& group) {
    Console& console = context.console;
    console.out_line(console.paint(Colour::kBold, printable(group["sentence"].text())));
    for (const auto& [partition, one] : group["partitions"].members()) {
      console.out_line(
          fmt::format("  {}: {}", partition, printable(one["sentence"].text(), kSentenceColumns)));
      const Json blocker = one["blocker"];
      if (!blocker.is_null()) {
        console.out_line(fmt::format(
            "     event {} of type {}, delivery {}", printable(shown(blocker["eventId"])),
            printable(shown(blocker["type"])), shown(blocker["deliveryId"])));
      }
      const std::string remedy = one["remedy"].text();
      if (!remedy.empty()) console.out_line("     " + printable(remedy));
    }
  });
}

}  // namespace

std::vector<CommandSpec> progress_commands() {
  const OptionSpec topic{.names = "--topic,-t", .help = "Name of the topic"};
  const OptionSpec group{.names = "--group,-g", .help = "Name of the group"};
  OptionSpec topic_needed = topic;
  OptionSpec group_needed = group;
  topic_needed.required = true;
  group_needed.required = true;
  const OptionSpec partition{
      .names = "--partition,-p", .kind = OptionKind::kInteger, .help = "Only this partition"};
  const auto flag = [](std::string_view names, std::string_view help) {
    return OptionSpec{.names = names, .kind = OptionKind::kFlag, .help = help};
  };
  return {{.path = "lag",
           .help = "How far groups are behind",
           .examples = "ackline lag\n  ackline lag -t orders -g billing --audit\n"
                       "  ackline lag -t orders -g billing --wait --timeout 5m",
           .options = {topic,
                       group,
                       flag("--partitions", "In a list too, a row for each partition"),
                       flag("--audit", "Recount from the files on disk"),
                       flag("--wait", "Until the group is caught up; exit 1 after --timeout"),
                       {.names = "--timeout", .help = "Bound of --wait", .fallback = "60s"}},
           .run = lag},
          {.path = "holes",
           .help = "Events that are not settled while later ones are",
           .examples = "ackline holes -t orders -g billing",
           .options = {topic_needed,
                       group_needed,
                       partition,
                       {.names = "--limit",
                        .kind = OptionKind::kInteger,
                        .help = "At most so many",
                        .fallback = "100",
                        .min = 1}},
           .run = holes},
          {.path = "explain",
           .help = "What a group waits for, since when, and what to do",
           .examples = "ackline explain -t orders -g billing",
           .options = {topic_needed, group_needed, partition},
           .run = explain}};
}

}  // namespace ackline::cli

// `ackline topic create | list | describe | delete`.
#include <fmt/format.h>

#include "ackline/base/config_value.h"
#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/table.h"

namespace ackline::cli {
namespace {

// A dash when it is not known: a quarantined partition has no numbers.
std::string shown_events(const Json& topic) {
  std::int64_t count = 0;
  for (const auto& [partition, offsets] : topic["offsets"].members()) {
    if (offsets["highWatermark"].is_null() || offsets["logStart"].is_null()) return shown(Json());
    count += offsets["highWatermark"].integer() - offsets["logStart"].integer() + 1;
  }
  return std::to_string(count);
}

std::string state_of(const Json& topic) {
  std::string worst = "ok";
  for (const auto& [partition, offsets] : topic["offsets"].members()) {
    if (offsets["state"].text() != "ok") worst = offsets["state"].text();
  }
  return worst;
}

void describe(Context& context, const Json& topic) {
  const Json retention = topic["retention"];
  const auto bound = [](const Json& value, auto&& format) {
    return value.is_null() ? std::string("none") : format(value.integer());
  };
  context.console.out(fmt::format(
      "topic        {}\npartitioner  {}\nretention    age {}, bytes {}\nbytes        {}\n\n",
      topic["name"].text(), topic["partitioner"].text(),
      bound(retention["ageMs"], format_duration_ms), bound(retention["bytes"], format_size_bytes),
      shown_bytes(topic["bytes"])));
  Table table({">PARTITION", ">LOG START", ">HIGH WATERMARK", "STATE"});
  for (const auto& [partition, offsets] : topic["offsets"].members()) {
    table.add({partition, shown(offsets["logStart"]), shown(offsets["highWatermark"]),
               shown(offsets["state"])});
  }
  context.console.out(table.render());
}

Result<ExitCode> create(Context& context) {
  JsonObject body;
  body.text("name", context.args.text("topic"));
  if (context.args.has("partitions")) {
    body.integer("partitions", context.args.integer("partitions"));
  }
  if (context.args.has("partitioner")) body.text("partitioner", context.args.text("partitioner"));
  JsonObject retention;
  if (context.args.has("retention-age")) {
    const auto age = parse_duration_ms(context.args.text("retention-age"));
    if (!age) return usage(context, age.error().detail);
    retention.integer("ageMs", *age);
  }
  if (context.args.has("retention-bytes")) {
    const auto bytes = parse_size_bytes(context.args.text("retention-bytes"));
    if (!bytes) return usage(context, bytes.error().detail);
    retention.integer("bytes", *bytes);
  }
  if (retention.str() != "{}") body.raw("retention", retention.str());
  return show(context, context.api.post(Port::kAdmin, Target("/admin/topics"), body.str()),
              [&](const Json& topic) { describe(context, topic); });
}

Result<ExitCode> list(Context& context) {
  Table table({"TOPIC", ">PARTITIONS", ">EVENTS", ">BYTES", "PARTITIONER", "STATE"});
  return show_list(
      context, Target("/admin/topics"), 0,
      [&](const Json& topic) {
        table.add({topic["name"].text(), shown(topic["partitions"]), shown_events(topic),
                   shown_bytes(topic["bytes"]), topic["partitioner"].text(), state_of(topic)});
      },
      [&] { context.console.out(table.empty() ? "no topics\n" : table.render()); });
}

Result<ExitCode> describe_topic(Context& context) {
  return show(
      context,
      context.api.get(Port::kAdmin, Target("/admin/topics").segment(context.args.text("topic"))),
      [&](const Json& topic) { describe(context, topic); });
}

Result<ExitCode> remove(Context& context) {
  const std::string name = context.args.text("topic");
  if (!confirmed(context, fmt::format("Delete topic {} with all its events?", name))) {
    return ExitCode::kUsage;
  }
  Target target = Target("/admin/topics").segment(name);
  target.query("confirm", "true");
  if (context.args.flag("force")) target.query("force", "true");
  return show(context, context.api.send(Port::kAdmin, "DELETE", target, {}, {}),
              [&](const Json&) { context.console.out_line(fmt::format("deleted {}", name)); });
}

}  // namespace

std::vector<CommandSpec> topic_commands() {
  const OptionSpec name{.names = "topic", .help = "Name of the topic", .required = true};
  return {{.path = "topic create",
           .help = "Make a topic",
           .examples = "ackline topic create orders --partitions 4\n"
                       "  ackline topic create logs --retention-age 7d --retention-bytes 10GiB",
           .options = {name,
                       {.names = "--partitions",
                        .kind = OptionKind::kInteger,
                        .help = "How many; default: the server's topic.partitions",
                        .min = 1,
                        .max = 1024},
                       {.names = "--partitioner",
                        .help = "How a key picks its partition: Kafka's or Erlang's",
                        .allowed = {"murmur2", "phash2"}},
                       {.names = "--retention-age", .help = "Events go after this long, e.g. 7d"},
                       {.names = "--retention-bytes", .help = "Bound of a partition, e.g. 10GiB"}},
           .run = create},
          {.path = "topic list",
           .help = "All topics",
           .examples = "ackline topic list",
           .options = {},
           .run = list},
          {.path = "topic describe",
           .help = "One topic with its partitions",
           .examples = "ackline topic describe orders",
           .options = {name},
           .run = describe_topic},
          {.path = "topic delete",
           .help = "Delete a topic with its events",
           .examples = "ackline topic delete orders --confirm",
           .options = {name,
                       {.names = "--force",
                        .kind = OptionKind::kFlag,
                        .help = "Also with groups or dead letters on it"},
                       confirm_option()},
           .run = remove}};
}

}  // namespace ackline::cli

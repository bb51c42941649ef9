// `ackline group list | describe | delete`.
#include <fmt/format.h>

#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/table.h"

namespace ackline::cli {
namespace {

Result<ExitCode> list(Context& context) {
  Target target("/admin/groups");
  target.query_if("topic", context.args.text("topic"));
  Table table({"TOPIC", "GROUP", "MODE", ">CLIENTS", ">LAG", ">PENDING", ">IN FLIGHT", ">WAITING",
               ">DEAD LETTERS"});
  return show_list(
      context, target, 0,
      [&](const Json& group) {
        table.add({group["topic"].text(), group["group"].text(), group["mode"].text(),
                   shown(group["clients"]), shown(group["lag"]), shown(group["pending"]),
                   shown(group["inFlight"]), shown(group["waiting"]), shown(group["deadLetters"])});
      },
      [&] { context.console.out(table.empty() ? "no groups\n" : table.render()); });
}

Target group_target(const Context& context) {
  return Target("/admin/groups")
      .segment(context.args.text("topic"))
      .segment(context.args.text("group"));
}

Result<ExitCode> describe(Context& context) {
  return show(context, context.api.get(Port::kAdmin, group_target(context)),
              [&](const Json& group) {
                Table table({"PROPERTY", "VALUE"});
                for (const auto& [name, value] : group.members()) table.add({name, shown(value)});
                context.console.out(table.render());
              });
}

Result<ExitCode> remove(Context& context) {
  const std::string topic = context.args.text("topic");
  const std::string group = context.args.text("group");
  if (!confirmed(context, fmt::format("Delete group {} of {} with its progress?", group, topic))) {
    return ExitCode::kUsage;
  }
  Target target = group_target(context);
  target.query("confirm", "true");
  if (context.args.flag("force")) target.query("force", "true");
  return show(context, context.api.send(Port::kAdmin, "DELETE", target, {}, {}), [&](const Json&) {
    context.console.out_line(fmt::format("deleted {} of {}", group, topic));
  });
}

}  // namespace

std::vector<CommandSpec> group_commands() {
  const OptionSpec topic{.names = "topic", .help = "Name of the topic", .required = true};
  const OptionSpec group{.names = "group", .help = "Name of the group", .required = true};
  return {{.path = "group list",
           .help = "All groups, or those of a topic",
           .examples = "ackline group list --topic orders",
           .options = {{.names = "--topic,-t", .help = "Only this topic's"}},
           .run = list},
          {.path = "group describe",
           .help = "One group: policy and numbers",
           .examples = "ackline group describe orders billing",
           .options = {topic, group},
           .run = describe},
          {.path = "group delete",
           .help = "Delete a group with its progress",
           .examples = "ackline group delete orders billing --confirm",
           .options = {topic,
                       group,
                       {.names = "--force",
                        .kind = OptionKind::kFlag,
                        .help = "Also with live clients"},
                       confirm_option()},
           .run = remove}};
}

}  // namespace ackline::cli

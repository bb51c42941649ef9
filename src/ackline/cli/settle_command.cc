// `ackline ack | nack | reject`: by hand, for `consume --ack manual`.
#include <fmt/format.h>

#include "ackline/base/config_value.h"
#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"

namespace ackline::cli {
namespace {

Result<ExitCode> settle(Context& context, std::string_view verb, JsonObject body) {
  body.text("clientId", context.args.text("client"));
  body.texts("deliveryIds", context.args.all("delivery"));
  const auto answer =
      context.api.post(Port::kTraffic, Target(fmt::format("/events/{}", verb)), body.str());
  std::int64_t failed = 0;
  if (answer) {
    const auto json = answer->json();
    if (json) failed = (*json)["failed"].integer();
  }
  const auto shown_all = show(context, answer, [&](const Json& json) {
    for (const Json& one : json["results"].items()) {
      context.console.out_line(fmt::format("{}  {}  {} {}", one["deliveryId"].text(),
                                           one["status"].text(), one["error"].text(),
                                           one["detail"].text()));
    }
  });
  if (!shown_all) return shown_all;
  return failed == 0 ? ExitCode::kOk : ExitCode::kFailed;
}

Result<ExitCode> ack(Context& context) {
  return settle(context, "ack", {});
}

Result<ExitCode> nack(Context& context) {
  JsonObject body;
  if (context.args.has("reason")) body.text("reason", context.args.text("reason"));
  if (context.args.has("delay")) {
    const auto delay = parse_duration_ms(context.args.text("delay"));
    if (!delay) return usage(context, delay.error().detail);
    body.integer("delayMs", *delay);
  }
  return settle(context, "nack", std::move(body));
}

Result<ExitCode> reject(Context& context) {
  JsonObject body;
  if (context.args.has("reason")) body.text("reason", context.args.text("reason"));
  return settle(context, "reject", std::move(body));
}

}  // namespace

std::vector<CommandSpec> settle_commands() {
  const OptionSpec client{
      .names = "--client", .help = "clientId that holds them", .required = true};
  const OptionSpec deliveries{.names = "delivery",
                              .kind = OptionKind::kList,
                              .help = "deliveryIds, as consume printed them",
                              .required = true};
  const OptionSpec reason{.names = "--reason", .help = "Why, for the dead letter"};
  return {{.path = "ack",
           .help = "Acknowledge deliveries",
           .examples = "ackline ack --client c1 1k3v8z-9f2c-42",
           .options = {client, deliveries},
           .run = ack},
          {.path = "nack",
           .help = "Give deliveries back, to be offered again",
           .examples = "ackline nack --client c1 --delay 10s 1k3v8z-9f2c-42",
           .options = {client, deliveries, reason, {.names = "--delay", .help = "e.g. 10s"}},
           .run = nack},
          {.path = "reject",
           .help = "Dead-letter deliveries at once",
           .examples = "ackline reject --client c1 --reason 'bad price' 1k3v8z-9f2c-42",
           .options = {client, deliveries, reason},
           .run = reject}};
}

}  // namespace ackline::cli

// `ackline consume`: polls for a group, prints deliveries or hands them to a program, settles them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ackline/base/clock.h"
#include "ackline/base/config_value.h"
#include "ackline/base/random.h"
#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/exec_pool.h"
#include "ackline/cli/stop_signals.h"

namespace ackline::cli {
namespace {

constexpr std::int64_t kPollMs = 1000;
constexpr std::int64_t kPollMax = 100;

Result<std::string> subscribe_body(const Args& args, const std::string& client) {
  JsonObject body;
  body.text("clientId", client).text("topic", args.text("topic"));
  for (const std::string_view name : {"group", "mode", "ordering"}) {
    if (args.has(name)) body.text(name, args.text(name));
  }
  if (args.has("start")) {
    const auto start = position_json(args.text("start"));
    if (!start) return fail(start);
    body.raw("start", *start);
  }
  if (args.has("partitions")) {
    const auto partitions = partitions_json(args.list("partitions"));
    if (!partitions) return fail(partitions);
    body.raw("partitions", *partitions);
  }
  if (args.has("filter")) body.raw("filter", args.text("filter"));
  if (args.has("max-attempts")) body.integer("maxAttempts", args.integer("max-attempts"));
  if (args.has("ack-timeout")) {
    const auto timeout_ms = parse_duration_ms(args.text("ack-timeout"));
    if (!timeout_ms) return fail(timeout_ms);
    body.integer("ackTimeoutMs", *timeout_ms);
  }
  return body.str();
}

class Consumer {
 public:
  Consumer(Context& context, std::string client)
      : context_(context), client_(std::move(client)), left_(INT64_MAX) {
    if (context.args.has("max")) left_ = context.args.integer("max");
  }

  Result<ExitCode> run(std::int64_t idle_ms);

 private:
  // Empty after `timeout_ms` without one.
  Result<std::vector<Json>> poll(std::int64_t max, std::int64_t timeout_ms);
  Result<void> print_and_ack(const std::vector<Json>& deliveries);

  Context& context_;
  std::string client_;
  std::int64_t left_;
  StopSignals signals_;
};

Result<std::vector<Json>> Consumer::poll(std::int64_t max, std::int64_t timeout_ms) {
  Target target("/events/poll");
  target.query("clientId", client_).query("max", max).query("timeoutMs", timeout_ms);
  const auto answer = context_.api.get(Port::kTraffic, target);
  if (!answer) return fail(answer);
  const auto json = answer->json();
  if (!json) return fail(json);
  return json->items();
}

Result<void> Consumer::print_and_ack(const std::vector<Json>& deliveries) {
  std::vector<std::string> ids;
  for (const Json& delivery : deliveries) {
    context_.console.out_line(delivery.dump());
    ids.push_back(delivery["deliveryId"].text());
  }
  if (context_.args.text("ack") == "manual") return {};
  const auto answer =
      context_.api.post(Port::kTraffic, Target("/events/ack"),
                        JsonObject().text("clientId", client_).texts("deliveryIds", ids).str());
  if (!answer) return fail(answer);
  const auto json = answer->json();
  if (!json) return fail(json);
  for (const Json& result : (*json)["results"].items()) {
    if (result["status"].text() != "error") continue;
    context_.console.err_line(fmt::format("{} was not acked: {}: {}", result["deliveryId"].text(),
                                          result["error"].text(), result["detail"].text()));
  }
  return {};
}

Result<ExitCode> Consumer::run(std::int64_t idle_ms) {
  const SystemClock clock;
  MonoMs last = clock.mono();
  std::optional<ExecPool> pool;
  if (context_.args.has("exec")) {
    pool.emplace(ExecPool::Options{.api = context_.api.options(),
                                   .client = client_,
                                   .command = context_.args.text("exec"),
                                   .settles = context_.args.text("ack") != "manual",
                                   .workers = static_cast<std::size_t>(
                                       context_.args.integer("concurrency"))},
                 context_.console);
  }
  while (!signals_.requested() && left_ > 0) {
    std::int64_t room = kPollMax;
    if (pool) {
      pool->extend_leases(context_.api);
      room = static_cast<std::int64_t>(pool->wait_for_room(kPollMs));
      if (room == 0) continue;
    }
    auto deliveries = poll(std::min(room, left_), kPollMs);
    if (!deliveries) return fail(deliveries);
    if (!deliveries->empty() || (pool && !pool->idle())) last = clock.mono();
    if (idle_ms > 0 && clock.mono() >= last.plus(idle_ms)) break;
    if (deliveries->empty()) continue;
    left_ -= static_cast<std::int64_t>(deliveries->size());
    if (!pool) {
      if (auto done = print_and_ack(*deliveries); !done) return fail(done);
      continue;
    }
    for (Json& delivery : *deliveries) pool->add(std::move(delivery));
  }
  if (!pool) return ExitCode::kOk;
  while (!pool->idle()) {
    pool->extend_leases(context_.api);
    static_cast<void>(pool->wait_for_room(kPollMs));
  }
  context_.console.err_line(fmt::format("acked {}, nacked {}, not settled {}", pool->acked(),
                                        pool->nacked(), pool->failed()));
  // One that failed and was acked when it came again is no failure; a program that can do none is.
  const bool useless = pool->nacked() > 0 && pool->acked() == 0;
  return pool->failed() == 0 && !useless ? ExitCode::kOk : ExitCode::kFailed;
}

Result<ExitCode> consume(Context& context) {
  const bool own_client = !context.args.has("client");
  const std::string client = own_client ? fmt::format("cli-{}-{:08x}", getpid(),
                                                      static_cast<std::uint32_t>(entropy_seed()))
                                        : context.args.text("client");
  std::int64_t idle_ms = 0;
  if (context.args.has("until-idle")) {
    const auto idle = parse_duration_ms(context.args.text("until-idle"));
    if (!idle) return usage(context, error_line(idle.error()));
    idle_ms = *idle;
  }
  const auto body = subscribe_body(context.args, client);
  if (!body) return usage(context, error_line(body.error()));
  const auto subscribed = context.api.post(Port::kTraffic, Target("/events/subscribe"), *body);
  if (!subscribed) return fail(subscribed);
  Consumer consumer(context, client);
  auto done = consumer.run(idle_ms);
  // A client that nobody knows by name would hold its leases for nothing.
  if (own_client && context.args.text("ack") != "manual") {
    const auto left = context.api.post(
        Port::kTraffic, Target("/events/unsubscribe"),
        JsonObject().text("clientId", client).text("topic", context.args.text("topic")).str());
    if (!left && done) return fail(left);
  }
  return done;
}

}  // namespace

std::vector<CommandSpec> consume_commands() {
  return {
      {.path = "consume",
       .help = "Take a group's deliveries: print them, or hand each to a program",
       .examples = "ackline consume orders --group billing --max 10\n"
                   "  ackline consume orders -g billing --exec './handle.sh' --concurrency 4\n"
                   "  ackline consume orders -g audit --client a1 --ack manual",
       .options = {{.names = "topic", .help = "Name of the topic", .required = true},
                   {.names = "--group,-g", .help = "The group; default: default"},
                   {.names = "--client", .help = "clientId; default: a new one, gone at the end"},
                   {.names = "--partitions,-p",
                    .kind = OptionKind::kList,
                    .help = "Static ownership, e.g. 0,1"},
                   {.names = "--concurrency",
                    .kind = OptionKind::kInteger,
                    .help = "Programs at a time",
                    .fallback = "4",
                    .min = 1,
                    .max = 256},
                   {.names = "--ack",
                    .help = "auto: when printed or exit 0; manual: not at all",
                    .fallback = "auto",
                    .allowed = {"auto", "manual"}},
                   {.names = "--exec",
                    .help = "Shell command; the event is on stdin, exit 0 acks, else nacks"},
                   {.names = "--max",
                    .kind = OptionKind::kInteger,
                    .help = "Stop after so many",
                    .min = 1},
                   {.names = "--until-idle", .help = "Stop when nothing came for so long, e.g. 5s"},
                   {.names = "--mode", .help = "CLUSTERING, BROADCASTING or MULTICAST"},
                   {.names = "--start",
                    .help = "Of a new group: earliest, latest, an offset, a time"},
                   {.names = "--filter", .help = "JSON filter of a new group"},
                   {.names = "--ordering", .help = "none, key or partition"},
                   {.names = "--ack-timeout", .help = "Lease of a delivery, e.g. 30s"},
                   {.names = "--max-attempts",
                    .kind = OptionKind::kInteger,
                    .help = "Then the dead-letter topic",
                    .min = 1,
                    .max = 1000}},
       .run = consume}};
}

}  // namespace ackline::cli

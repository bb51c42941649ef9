// `ackline bench …`: what a running server, or the dispatcher alone, does on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "ackline/base/random.h"
#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/load/ackline_target.h"
#include "ackline/cli/load/cycle.h"
#include "ackline/cli/load/in_process.h"
#include "ackline/cli/load/machine.h"
#include "ackline/cli/table.h"
#include "ackline/http/client.h"
#include "ackline/runtime/runtime.h"

namespace ackline::cli {
namespace {

using load::CyclePlan;
using load::CycleReport;
using load::quantile;

constexpr std::string_view kGroup = "bench";
constexpr std::uint16_t kTrafficPort = 10105;
constexpr std::int64_t kWindow = 500;  // as the benchmarks of the repository

// One measured thing.
struct Line {
  std::string name;
  double per_second = 0;
  const std::vector<double>* latency_us = nullptr;
  std::optional<double> cpu_us = {};
};

// A topic and its consumers for one measurement, removed at the end.
class BenchTopic {
 public:
  BenchTopic(Context& context, std::size_t clients) : context_(context) {
    name_ = fmt::format("bench-{:08x}", static_cast<std::uint32_t>(entropy_seed()));
    for (std::size_t i = 0; i < clients; ++i) clients_.push_back(fmt::format("{}-{}", name_, i));
  }
  ~BenchTopic() { static_cast<void>(remove()); }
  BenchTopic(const BenchTopic&) = delete;
  BenchTopic& operator=(const BenchTopic&) = delete;

  Result<void> create() {
    const auto created =
        context_.api.post(Port::kAdmin, Target("/admin/topics"),
                          JsonObject()
                              .text("name", name_)
                              .integer("partitions", context_.args.integer("partitions"))
                              .str());
    if (!created) return fail(created);
    there_ = true;
    for (const std::string& client : clients_) {
      const auto done = context_.api.post(Port::kTraffic, Target("/events/subscribe"),
                                          JsonObject()
                                              .text("clientId", client)
                                              .text("topic", name_)
                                              .text("group", kGroup)
                                              .text("start", "earliest")
                                              .integer("maxInFlight", kWindow)
                                              .str());
      if (!done) return fail(done);
    }
    return {};
  }
  Result<void> remove() {
    if (!std::exchange(there_, false)) return {};
    Target topic = Target("/admin/topics").segment(name_);
    topic.query("confirm", "true").query("force", "true");
    const auto removed = context_.api.send(Port::kAdmin, "DELETE", topic, {}, {});
    return removed ? Result<void>() : fail(removed);
  }
  // Publishes, takes, or both, as `plan` says.
  Result<CycleReport> run(const CyclePlan& plan) {
    const auto server = http::client_options(context_.api.options().server, kTrafficPort);
    if (!server) return fail(server);
    load::AcklineOptions options;
    options.address = fmt::format("{}:{}", server->host, server->port);
    options.topic = name_;
    options.size = static_cast<std::size_t>(context_.args.integer("size"));
    options.connections =
        plan.publishes ? static_cast<std::size_t>(context_.args.integer("connections")) : 0;
    if (plan.consumes) options.clients = clients_;
    options.delivery =
        context_.args.text("by") == "poll" ? load::Delivery::kPoll : load::Delivery::kStream;
    options.poll_max = 100;
    options.ack_max = context_.args.has("ack-batch")
                          ? static_cast<std::size_t>(context_.args.integer("ack-batch"))
                          : 100;
    load::Loop loop;
    load::AcklineTarget target(loop, options);
    return load::run_cycle(loop, target, plan);
  }

 private:
  Context& context_;
  std::string name_;
  std::vector<std::string> clients_;
  bool there_ = false;
};

std::string json_of(const Line& line) {
  JsonObject object;
  object.text("name", line.name).raw("perSecond", fmt::format("{:.0f}", line.per_second));
  if (line.latency_us != nullptr && !line.latency_us->empty()) {
    object.raw("p50Ms", fmt::format("{:.3f}", quantile(*line.latency_us, 0.5) / 1000))
        .raw("p99Ms", fmt::format("{:.3f}", quantile(*line.latency_us, 0.99) / 1000))
        .raw("p999Ms", fmt::format("{:.3f}", quantile(*line.latency_us, 0.999) / 1000));
  }
  if (line.cpu_us) object.raw("cpuUs", fmt::format("{:.3f}", *line.cpu_us));
  return object.str();
}

// The disk that the server writes to, if it is here; else the one we stand on.
std::string measured_directory(const Context& context) {
  std::error_code ignored;
  const std::string data = context.api.options().data_path;
  return std::filesystem::is_directory(data, ignored) ? data : ".";
}

void print_json(Context& context, std::string_view setting, const std::vector<Line>& lines) {
  const load::Machine machine = load::this_machine();
  const auto syncs = load::sync_rate(measured_directory(context));
  std::string rows;
  for (const Line& line : lines) rows += (rows.empty() ? "" : ",") + json_of(line);
  context.console.out_line(
      JsonObject()
          .text("version", runtime::version())
          .text("cpu", machine.cpu)
          .integer("cores", machine.cores)
          .text("kernel", machine.kernel)
          .raw("load", fmt::format("{:.2f}", machine.load))
          .raw("syncsPerSecond", syncs ? fmt::format("{:.0f}", *syncs) : "null")
          .text("setting", setting)
          .raw("results", "[" + rows + "]")
          .str());
}

void print(Context& context, std::string_view setting, const std::vector<Line>& lines) {
  if (context.json) return print_json(context, setting, lines);
  const load::Machine machine = load::this_machine();
  const std::string directory = measured_directory(context);
  const auto syncs = load::sync_rate(directory);
  context.console.out_line(fmt::format("ackline {}, {} × {}, {}, load {:.1f}", runtime::version(),
                                       machine.cores, machine.cpu, machine.kernel, machine.load));
  context.console.out_line(syncs ? fmt::format("disk of {}: {:.0f} appends of 4 KiB with fdatasync "
                                               "a second",
                                               directory, *syncs)
                                 : fmt::format("disk: {}", syncs.error().detail));
  context.console.out_line(fmt::format("{}\n", setting));
  Table table({"WHAT", ">A SECOND", ">P50 MS", ">P99 MS", ">P99.9 MS", ">CPU US"});
  for (const Line& line : lines) {
    const auto ms = [&](double q) {
      return line.latency_us == nullptr || line.latency_us->empty()
                 ? std::string("-")
                 : fmt::format("{:.2f}", quantile(*line.latency_us, q) / 1000);
    };
    table.add({line.name, fmt::format("{:.0f}", line.per_second), ms(0.5), ms(0.99), ms(0.999),
               line.cpu_us ? fmt::format("{:.3f}", *line.cpu_us) : "-"});
  }
  context.console.out(table.render());
}

CyclePlan plan_of(const Context& context) {
  CyclePlan plan;
  plan.events = static_cast<std::uint64_t>(context.args.integer("events"));
  plan.batch = static_cast<std::size_t>(context.args.integer("batch"));
  plan.unanswered = static_cast<std::size_t>(std::max(kWindow, context.args.integer("batch")));
  return plan;
}

std::string setting_of(const Context& context, std::string_view more) {
  return fmt::format(
      "{} events of {} bytes, {} a request, at most {} unanswered; {} partitions{}; the client "
      "takes "
      "its share of this machine",
      context.args.integer("events"), context.args.integer("size"), context.args.integer("batch"),
      std::max(kWindow, context.args.integer("batch")), context.args.integer("partitions"), more);
}

Result<ExitCode> bench_publish(Context& context) {
  BenchTopic topic(context, 0);
  if (auto made = topic.create(); !made) return fail(made);
  CyclePlan plan = plan_of(context);
  plan.consumes = false;
  const auto report = topic.run(plan);
  if (!report) return fail(report);
  if (auto removed = topic.remove(); !removed) return fail(removed);
  print(context, setting_of(context, ""),
        {{"publish, answered after the sync", report->rate(), &report->publish_us}});
  return ExitCode::kOk;
}

Result<ExitCode> bench_deliver(Context& context) {
  BenchTopic topic(context, static_cast<std::size_t>(context.args.integer("clients")));
  if (auto made = topic.create(); !made) return fail(made);
  CyclePlan plan = plan_of(context);
  plan.consumes = false;
  const auto published = topic.run(plan);
  if (!published) return fail(published);
  plan.events = published->events;
  plan.consumes = true;
  plan.publishes = false;
  const auto report = topic.run(plan);
  if (!report) return fail(report);
  if (auto removed = topic.remove(); !removed) return fail(removed);
  print(context,
        setting_of(context, fmt::format(", taken by {} of a group by {}",
                                        context.args.integer("clients"), context.args.text("by"))),
        {{"deliver and ack", report->rate()}});
  return ExitCode::kOk;
}

Result<ExitCode> bench_latency(Context& context) {
  BenchTopic topic(context, static_cast<std::size_t>(context.args.integer("clients")));
  if (auto made = topic.create(); !made) return fail(made);
  CyclePlan plan;
  const std::int64_t rate = context.args.integer("rate");
  plan.rate = static_cast<double>(rate);
  plan.events = static_cast<std::uint64_t>(rate * context.args.integer("seconds"));
  const auto report = topic.run(plan);
  if (!report) return fail(report);
  if (auto removed = topic.remove(); !removed) return fail(removed);
  print(
      context,
      fmt::format("{} events a second at fixed moments for {} s, {} bytes, {} partitions; counted "
                  "from the moment meant",
                  rate, context.args.integer("seconds"), context.args.integer("size"),
                  context.args.integer("partitions")),
      {{"publish, answered after the sync", report->rate(), &report->publish_us},
       {"published until delivered", report->rate(), &report->end_to_end_us}});
  return ExitCode::kOk;
}

Result<ExitCode> bench_in_process(Context& context) {
  const auto events = static_cast<std::uint64_t>(context.args.integer("events"));
  const load::InProcessRate bare = load::deliver_and_ack(events, false);
  const load::InProcessRate keys = load::deliver_and_ack(events, true);
  print(context,
        fmt::format("{} deliveries, each leased and acked in random order, one thread; no server, "
                    "no disk",
                    events),
        {{"deliver and ack", bare.per_second, nullptr, bare.cpu_us},
         {"the same in key order", keys.per_second, nullptr, keys.cpu_us}});
  return ExitCode::kOk;
}

OptionSpec number(std::string_view names, std::string_view help, std::string_view fallback,
                  std::int64_t max) {
  return OptionSpec{.names = names,
                    .kind = OptionKind::kInteger,
                    .help = help,
                    .fallback = fallback,
                    .min = 1,
                    .max = max};
}

OptionSpec by() {
  return OptionSpec{.names = "--by",
                    .kind = OptionKind::kText,
                    .help = "How deliveries are taken",
                    .fallback = "stream",
                    .allowed = {"stream", "poll"}};
}

}  // namespace

std::vector<CommandSpec> bench_commands() {
  const OptionSpec events = number("--events", "How many", "100000", 10'000'000);
  const OptionSpec size = number("--size", "Bytes of data of an event", "256", 1'000'000);
  const OptionSpec partitions = number("--partitions", "Of the topic made for it", "4", 1024);
  const OptionSpec connections = number("--connections", "That publish", "8", 64);
  const OptionSpec batch = number("--batch", "Events in a publish", "1", 1000);
  const OptionSpec clients = number("--clients", "Of one group, that share the events", "1", 1000);
  const OptionSpec acks = number("--ack-batch", "Most deliveries in an ack", "100", 1000);
  return {
      {.path = "bench publish",
       .help = "Measure a running server: events published and synced a second",
       .examples = "ackline bench publish\n  ackline bench publish --batch 100 -o json",
       .options = {events, batch, size, partitions, connections},
       .run = bench_publish},
      {.path = "bench deliver",
       .help = "Measure a running server: events delivered and acked a second",
       .examples = "ackline bench deliver\n  ackline bench deliver --clients 4 --by poll",
       .options = {events, number("--batch", "Events in a publish, before it begins", "100", 1000),
                   size, partitions, connections, clients, by(), acks},
       .run = bench_deliver},
      {.path = "bench latency",
       .help = "Measure a running server: from publish to delivery at a fixed rate",
       .examples = "ackline bench latency\n  ackline bench latency --rate 20000 --seconds 10",
       .options = {number("--rate", "Events a second", "5000", 1'000'000),
                   number("--seconds", "How long", "5", 120), size, partitions, connections,
                   clients, by(), acks},
       .run = bench_latency},
      {.path = "bench in-process",
       .help = "Measure this machine: the dispatcher alone, without a server",
       .examples = "ackline bench in-process\n  ackline bench in-process --events 20000000",
       .options = {number("--events", "How many", "5000000", 1'000'000'000)},
       .run = bench_in_process}};
}

}  // namespace ackline::cli

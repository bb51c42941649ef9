// `ackline bench`: how fast this server takes batches in and hands them out, over HTTP.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "ackline/base/random.h"
#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/table.h"
#include "ackline/runtime/runtime.h"

namespace ackline::cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::string_view kGroup = "bench";
constexpr int kEmptyPollsMax = 10;

// What one phase measured.
struct Measure {
  double seconds = 0;
  std::int64_t events = 0;
  std::vector<double> request_ms;
  std::optional<Error> failed;

  [[nodiscard]] double rate() const {
    return seconds > 0 ? static_cast<double>(events) / seconds : 0;
  }
  [[nodiscard]] double percentile(double part) const {
    if (request_ms.empty()) return 0;
    const auto last = static_cast<double>(request_ms.size() - 1);
    return request_ms[static_cast<std::size_t>(part * last)];
  }
};

double ms_since(Steady::time_point from) {
  return std::chrono::duration<double, std::milli>(Steady::now() - from).count();
}

// Runs `work` on so many threads, each with a connection of its own, and adds up what they did.
class Phase {
 public:
  template <class Work>  // Result<std::int64_t>(ApiClient&, std::size_t thread, Phase&)
  Measure run(const ApiOptions& api, std::size_t threads, Work work) {
    const auto from = Steady::now();
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < threads; ++i) {
      all.emplace_back([&, i] {
        ApiClient client(api);
        const Result<void> done = work(client, i, *this);
        const std::scoped_lock lock(mutex_);
        if (!done && !out_.failed) out_.failed = done.error();
      });
    }
    for (std::thread& thread : all) thread.join();
    out_.seconds = ms_since(from) / 1000;
    std::ranges::sort(out_.request_ms);
    return std::move(out_);
  }
  std::int64_t note(std::int64_t events, double request_ms) {
    const std::scoped_lock lock(mutex_);
    out_.events += events;
    out_.request_ms.push_back(request_ms);
    return out_.events;
  }
  std::int64_t events() {
    const std::scoped_lock lock(mutex_);
    return out_.events;
  }

 private:
  std::mutex mutex_;
  Measure out_;
};

struct Plan {
  std::string topic;
  std::int64_t events = 0;
  std::int64_t batch = 0;
  std::int64_t size_bytes = 0;
  std::size_t threads = 1;
};

std::string batch_body(const Plan& plan, std::size_t thread, std::int64_t first,
                       std::int64_t count) {
  const std::string filling(static_cast<std::size_t>(plan.size_bytes), 'x');
  std::string body;
  for (std::int64_t i = first; i < first + count; ++i) {
    body += body.empty() ? "[" : ",";
    body += JsonObject()
                .text("specversion", "1.0")
                .text("id", fmt::format("{}-{}", thread, i))
                .text("source", "/bench")
                .text("type", "bench")
                .text("partitionkey", std::to_string(i % 1000))
                .text("data", filling)
                .str();
  }
  return body + "]";
}

Measure publish_phase(const ApiOptions& api, const Plan& plan) {
  Phase phase;
  return phase.run(api, plan.threads, [&](ApiClient& client, std::size_t thread, Phase& into) {
    const auto share = plan.events / static_cast<std::int64_t>(plan.threads);
    const Target target = Target("/events/publish").query("topic", plan.topic);
    for (std::int64_t at = 0; at < share; at += plan.batch) {
      const std::int64_t count = std::min(plan.batch, share - at);
      const std::string body = batch_body(plan, thread, at, count);
      const auto from = Steady::now();
      const auto answer =
          client.post(Port::kTraffic, target, body, "application/cloudevents-batch+json");
      if (!answer) return Result<void>(fail(answer));
      into.note(count, ms_since(from));
    }
    return Result<void>();
  });
}

Result<void> subscribe(ApiClient& client, const Plan& plan, const std::string& name) {
  const auto done = client.post(Port::kTraffic, Target("/events/subscribe"),
                                JsonObject()
                                    .text("clientId", name)
                                    .text("topic", plan.topic)
                                    .text("group", kGroup)
                                    .text("start", "earliest")
                                    .str());
  return done ? Result<void>() : fail(done);
}

Measure deliver_phase(const ApiOptions& api, const Plan& plan, std::int64_t total) {
  Phase phase;
  return phase.run(api, plan.threads, [&](ApiClient& client, std::size_t thread, Phase& into) {
    const std::string name = fmt::format("bench-{}", thread);
    if (auto done = subscribe(client, plan, name); !done) return done;
    Target target("/events/poll");
    target.query("clientId", name).query("max", plan.batch).query("timeoutMs", 500);
    for (int empty = 0; into.events() < total && empty < kEmptyPollsMax;) {
      const auto from = Steady::now();
      const auto answer = client.get(Port::kTraffic, target);
      if (!answer) return Result<void>(fail(answer));
      const auto json = answer->json();
      if (!json) return Result<void>(fail(json));
      std::vector<std::string> ids;
      for (const Json& one : json->items()) ids.push_back(one["deliveryId"].text());
      empty = ids.empty() ? empty + 1 : 0;
      if (ids.empty()) continue;
      const auto acked =
          client.post(Port::kTraffic, Target("/events/ack"),
                      JsonObject().text("clientId", name).texts("deliveryIds", ids).str());
      if (!acked) return Result<void>(fail(acked));
      into.note(static_cast<std::int64_t>(ids.size()), ms_since(from));
    }
    return Result<void>();
  });
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string kernel() {
  utsname name{};
  return uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.release) : "unknown";
}

void print(Context& context, const Plan& plan, const Measure& in, const Measure& out) {
  if (context.json) {
    const auto phase = [](const Measure& one) {
      return JsonObject()
          .integer("events", one.events)
          .raw("seconds", fmt::format("{:.3f}", one.seconds))
          .raw("eventsPerSecond", fmt::format("{:.0f}", one.rate()))
          .raw("requestP50Ms", fmt::format("{:.2f}", one.percentile(0.5)))
          .raw("requestP99Ms", fmt::format("{:.2f}", one.percentile(0.99)))
          .str();
    };
    context.console.out_line(JsonObject()
                                 .text("version", runtime::version())
                                 .text("cpu", cpu_model())
                                 .integer("cores", std::thread::hardware_concurrency())
                                 .text("kernel", kernel())
                                 .integer("batch", plan.batch)
                                 .integer("dataBytes", plan.size_bytes)
                                 .integer("connections", static_cast<std::int64_t>(plan.threads))
                                 .raw("publish", phase(in))
                                 .raw("deliver", phase(out))
                                 .str());
    return;
  }
  context.console.out_line(fmt::format("ackline {}, {} × {}, {}", runtime::version(),
                                       std::thread::hardware_concurrency(), cpu_model(), kernel()));
  context.console.out_line(fmt::format("{} connections, batches of {}, {} bytes of data an event",
                                       plan.threads, plan.batch, plan.size_bytes));
  context.console.out_line("the client takes its share of this machine\n");
  Table table({"PHASE", ">EVENTS", ">SECONDS", ">EVENTS/S", ">P50 MS", ">P99 MS"});
  const auto row = [&](std::string name, const Measure& one) {
    table.add({std::move(name), std::to_string(one.events), fmt::format("{:.2f}", one.seconds),
               fmt::format("{:.0f}", one.rate()), fmt::format("{:.2f}", one.percentile(0.5)),
               fmt::format("{:.2f}", one.percentile(0.99))});
  };
  row("publish (a request)", in);
  row("poll and ack (both)", out);
  context.console.out(table.render());
}

Result<ExitCode> bench(Context& context) {
  Plan plan;
  plan.topic = fmt::format("bench-{:08x}", static_cast<std::uint32_t>(entropy_seed()));
  plan.threads = static_cast<std::size_t>(context.args.integer("connections"));
  plan.batch = context.args.integer("batch");
  plan.size_bytes = context.args.integer("size");
  plan.events = context.args.integer("events");
  const auto created =
      context.api.post(Port::kAdmin, Target("/admin/topics"),
                       JsonObject()
                           .text("name", plan.topic)
                           .integer("partitions", context.args.integer("partitions"))
                           .str());
  if (!created) return fail(created);
  const Measure in = publish_phase(context.api.options(), plan);
  const Measure out = in.failed ? Measure{} : deliver_phase(context.api.options(), plan, in.events);
  Target topic = Target("/admin/topics").segment(plan.topic);
  topic.query("confirm", "true").query("force", "true");
  const auto removed = context.api.send(Port::kAdmin, "DELETE", topic, {}, {});
  for (const Measure* one : {&in, &out}) {
    if (one->failed) return std::unexpected(*one->failed);
  }
  if (!removed) return fail(removed);
  print(context, plan, in, out);
  if (in.events == out.events) return ExitCode::kOk;
  return fail(ErrorCode::kTimeout,
              fmt::format("{} events went in and {} came out", in.events, out.events));
}

}  // namespace

std::vector<CommandSpec> bench_commands() {
  const auto number = [](std::string_view names, std::string_view help, std::string_view fallback,
                         std::int64_t max) {
    return OptionSpec{.names = names,
                      .kind = OptionKind::kInteger,
                      .help = help,
                      .fallback = fallback,
                      .min = 1,
                      .max = max};
  };
  return {{.path = "bench",
           .help = "Measure a running server: publish and deliver in batches",
           .examples = "ackline bench\n  ackline bench --events 1000000 --connections 4",
           .options = {number("--events", "How many", "100000", 100'000'000),
                       number("--batch", "Events in one request", "500", 1000),
                       number("--size", "Bytes of data of an event", "200", 1'000'000),
                       number("--partitions", "Of the topic made for it", "4", 1024),
                       number("--connections", "Publishers, then consumers", "2", 64)},
           .run = bench}};
}

}  // namespace ackline::cli

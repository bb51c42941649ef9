// The load client of the benchmarks: `load publish|cycle|hold --address HOST:PORT ...`. One
// process, one thread, so that what it costs is not the server's. Prints one JSON object.
//
//   publish  --topic T --events N [--batch N] [--rate N] [--connections N] [--unanswered N]
//   cycle    the same and --clients A,B: publishes and, at once, polls and acks until all are acked
//   hold     --clients A,B --events N (each): polls and never acks; --samples FILE takes every
//            --every th delivery, one line each
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/consumer.h"
#include "bench/load/publisher.h"
#include "bench/support/rounds.h"

namespace ackline::bench {
namespace {

constexpr double kLongestRun = 300;  // seconds; a run that takes longer has gone wrong

double client_cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Arguments {
  int argc;
  char** argv;
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise) const {
    return number_option(argc, argv, name, otherwise);
  }
  [[nodiscard]] std::string text(std::string_view name) const {
    return text_option(argc, argv, name, "");
  }
  [[nodiscard]] std::vector<std::string> clients() const {
    std::vector<std::string> names;
    const std::string all = text("--clients");
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = std::min(all.find(',', at), all.size());
      names.push_back(all.substr(at, end - at));
      at = end + 1;
    }
    if (names.empty()) give_up("--clients is missing");
    return names;
  }
  [[nodiscard]] PublishPlan plan() const {
    PublishPlan plan;
    plan.address = text("--address");
    plan.topic = text("--topic");
    plan.events = number("--events", plan.events);
    plan.connections = number("--connections", plan.connections);
    plan.unanswered = number("--unanswered", plan.unanswered);
    plan.batch = number("--batch", plan.batch);
    plan.size = number("--size", plan.size);
    plan.rate = static_cast<double>(number("--rate", 0));
    return plan;
  }
};

void report(std::uint64_t events, double seconds, std::vector<double>& latencies,
            std::uint64_t refused) {
  fmt::print(
      "{{\"events\":{},\"seconds\":{:.6f},\"rate\":{:.1f},\"refused\":{},\"p50_us\":{:.0f},"
      "\"p99_us\":{:.0f},\"p999_us\":{:.0f},\"client_cpu_s\":{:.3f}}}\n",
      events, seconds, static_cast<double>(events) / seconds, refused, quantile(latencies, 0.5),
      quantile(latencies, 0.99), quantile(latencies, 0.999), client_cpu_seconds());
}

void check_time(double start) {
  if (monotonic_seconds() - start > kLongestRun) give_up("the run took too long");
}

int publish(const Arguments& arguments) {
  Poller poller;
  Publisher publisher(poller, arguments.plan());
  const double start = monotonic_seconds();
  while (!publisher.finished()) {
    publisher.pump(monotonic_seconds());
    poller.wait(publisher.next_due());
    check_time(start);
  }
  const double seconds = monotonic_seconds() - start;
  report(arguments.number("--events", 0), seconds, publisher.latencies(), publisher.refused());
  return publisher.refused() == 0 ? 0 : 1;
}

int cycle(const Arguments& arguments) {
  Poller poller;
  const PublishPlan plan = arguments.plan();
  std::vector<std::unique_ptr<Consumer>> consumers;
  for (const std::string& name : arguments.clients()) {
    consumers.push_back(std::make_unique<Consumer>(
        poller, ConsumePlan{.address = plan.address, .client = name}, nullptr));
    consumers.back()->start();
  }
  Publisher publisher(poller, plan);
  const double start = monotonic_seconds();
  const auto acked = [&consumers] {
    std::uint64_t sum = 0;
    for (const auto& consumer : consumers) sum += consumer->acked();
    return sum;
  };
  while (acked() < plan.events) {
    publisher.pump(monotonic_seconds());
    poller.wait(publisher.next_due());
    check_time(start);
  }
  const double seconds = monotonic_seconds() - start;
  report(plan.events, seconds, publisher.latencies(), publisher.refused());
  return publisher.refused() == 0 ? 0 : 1;
}

int hold(const Arguments& arguments) {
  Poller poller;
  const std::string path = arguments.text("--samples");
  const std::uint64_t every = arguments.number("--every", 1000);
  std::FILE* samples = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
  std::uint64_t seen = 0;
  const auto take = [&](std::string_view text) {
    if (samples != nullptr && seen++ % every == 0) {
      fmt::print(samples, "{}\n", text.substr(0, text.find(R"(,"event":)")));
    }
  };
  std::uint64_t held = 0;
  const std::uint64_t each = arguments.number("--events", 100'000);
  const double start = monotonic_seconds();
  std::vector<std::unique_ptr<Consumer>> consumers;
  for (const std::string& name : arguments.clients()) {
    consumers.push_back(
        std::make_unique<Consumer>(poller,
                                   ConsumePlan{.address = arguments.text("--address"),
                                               .client = name,
                                               .poll_max = 1000,
                                               .ack = false,
                                               .most = each},
                                   take));
    consumers.back()->start();
    while (consumers.back()->delivered() < each) {
      poller.wait(monotonic_seconds() + 1);
      check_time(start);
    }
    held += consumers.back()->delivered();
    consumers.clear();  // the server closes a connection that asks nothing for a minute
  }
  if (samples != nullptr) std::fclose(samples);
  std::vector<double> none;
  report(held, monotonic_seconds() - start, none, 0);
  return 0;
}

}  // namespace
}  // namespace ackline::bench

int main(int argc, char** argv) {
  using namespace ackline::bench;  // NOLINT
  const std::string verb = argc > 1 ? argv[1] : "";
  const Arguments arguments{argc, argv};
  if (verb == "publish") return publish(arguments);
  if (verb == "cycle") return cycle(arguments);
  if (verb == "hold") return hold(arguments);
  fmt::print(stderr, "usage: load publish|cycle|hold --address HOST:PORT ... (see load/main.cc)\n");
  return 2;
}

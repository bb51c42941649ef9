#include "bench/load/arguments.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include "bench/support/rounds.h"

namespace ackline::bench {

std::uint64_t Arguments::number(std::string_view name, std::uint64_t otherwise) const {
  return number_option(argc_, argv_, name, otherwise);
}

std::string Arguments::text(std::string_view name, std::string_view otherwise) const {
  return text_option(argc_, argv_, name, otherwise);
}

std::vector<std::string> Arguments::clients() const {
  std::vector<std::string> names;
  const std::string all = text("--clients");
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find(',', at), all.size());
    names.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  const std::string prefix = text("--clients-named");
  for (std::uint64_t i = 0; !prefix.empty() && i < number("--count", 1); ++i) {
    names.push_back(prefix + std::to_string(i));
  }
  return names;
}

cli::load::CyclePlan Arguments::plan() const {
  cli::load::CyclePlan plan;
  plan.events = number("--events", plan.events);
  plan.batch = number("--batch", plan.batch);
  plan.unanswered = number("--unanswered", plan.unanswered);
  plan.copies = number("--copies", plan.copies);
  plan.rate = static_cast<double>(number("--rate", 0));
  return plan;
}

cli::load::AcklineOptions Arguments::ackline() const {
  cli::load::AcklineOptions options;
  options.address = text("--address");
  options.topic = text("--topic");
  options.size = number("--size", options.size);
  options.connections = number("--connections", options.connections);
  options.delivery =
      text("--deliver") == "stream" ? cli::load::Delivery::kStream : cli::load::Delivery::kPoll;
  options.poll_max = number("--poll-max", options.poll_max);
  options.ack_max = number("--ack-max", options.ack_max);
  options.nack_every = number("--nack-every", 0);
  options.poison_every = number("--poison-every", 0);
  options.attempts = number("--attempts", options.attempts);
  return options;
}

int give_up(std::string_view why) {
  fmt::print(stderr, "load: {}\n", why);
  return 1;
}

void print(const cli::load::CycleReport& report) {
  using cli::load::quantile;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  fmt::print(
      "{{\"events\":{},\"seconds\":{:.6f},\"rate\":{:.1f},\"repeated\":{},\"p50_us\":{:.0f},"
      "\"p99_us\":{:.0f},\"p999_us\":{:.0f},\"e2e_p50_us\":{:.0f},\"e2e_p99_us\":{:.0f},"
      "\"e2e_p999_us\":{:.0f},\"client_cpu_s\":{:.3f}}}\n",
      report.events, report.seconds, report.rate(), report.repeated,
      quantile(report.publish_us, 0.5), quantile(report.publish_us, 0.99),
      quantile(report.publish_us, 0.999), quantile(report.end_to_end_us, 0.5),
      quantile(report.end_to_end_us, 0.99), quantile(report.end_to_end_us, 0.999),
      seconds(used.ru_utime) + seconds(used.ru_stime));
  std::fflush(stdout);
}

}  // namespace ackline::bench

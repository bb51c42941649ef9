#include "bench/support/rounds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ackline::bench {
namespace {

double seconds_of(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) / 1e9;
}

}  // namespace

double monotonic_seconds() {
  return seconds_of(CLOCK_MONOTONIC);
}

void print(const Rounds& rounds) {
  fmt::print("{{\"name\":\"{}\",\"rates\":[{:.1f}],\"cpu_us\":[{:.4f}]}}\n", rounds.name,
             fmt::join(rounds.rates, ","), fmt::join(rounds.cpu_us, ","));
  std::fflush(stdout);
}

Stopwatch::Stopwatch()
    : wall_s_(monotonic_seconds()), cpu_s_(seconds_of(CLOCK_PROCESS_CPUTIME_ID)) {}

void Stopwatch::add_to(Rounds& rounds, std::uint64_t events) const {
  const auto count = static_cast<double>(events);
  rounds.rates.push_back(count / (monotonic_seconds() - wall_s_));
  rounds.cpu_us.push_back((seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_s_) * 1e6 / count);
}

std::string text_option(int argc, char** argv, std::string_view name, std::string_view otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) return argv[i + 1];
  }
  return std::string(otherwise);
}

std::uint64_t number_option(int argc, char** argv, std::string_view name, std::uint64_t otherwise) {
  const std::string text = text_option(argc, argv, name, "");
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(q * last + 0.5)];
}

}  // namespace ackline::bench

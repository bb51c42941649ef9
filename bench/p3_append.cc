// P3's yardstick: a bare loop that appends what has come since the last turn to a prepared file and
// syncs it (fdatasync), fed by an open loop of --rate events a second for --seconds. The latency of
// an event counts from the moment at which it was meant to come. Options: --file PATH --size BYTES.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/support/rounds.h"

namespace ackline::bench {
namespace {

constexpr std::size_t kFileBytes = 64U << 20U;

void sleep_until(double at) {
  timespec until{};
  until.tv_sec = static_cast<time_t>(at);
  until.tv_nsec = static_cast<long>((at - static_cast<double>(until.tv_sec)) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

// Filled with zeros and synced, so that a sync writes data only.
int prepare(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string zeros(1U << 20U, '\0');
  for (std::size_t at = 0; file >= 0 && at < kFileBytes; at += zeros.size()) {
    if (pwrite(file, zeros.data(), zeros.size(), static_cast<off_t>(at)) < 0) return -1;
  }
  return file >= 0 && fsync(file) == 0 ? file : -1;
}

int run(const std::string& path, double rate, double seconds, std::size_t size) {
  const int file = prepare(path);
  if (file < 0) {
    fmt::print(stderr, "{} cannot be written\n", path);
    return 1;
  }
  prctl(PR_SET_TIMERSLACK, 1);
  const std::string event(size, 'x');
  const auto events = static_cast<std::size_t>(rate * seconds);
  std::vector<double> latencies;
  latencies.reserve(events);
  std::string buffer;
  std::size_t at = 0;
  std::uint64_t syncs = 0;
  const double start = monotonic_seconds() + 0.01;
  for (std::size_t done = 0; done < events;) {
    const double now = monotonic_seconds();
    const auto due = std::min(events, static_cast<std::size_t>(std::max(0.0, now - start) * rate));
    if (due <= done) {
      sleep_until(start + static_cast<double>(done + 1) / rate);
      continue;
    }
    buffer.clear();
    for (std::size_t i = done; i < due; ++i) buffer.append(event);
    if (at + buffer.size() > kFileBytes) at = 0;
    if (pwrite(file, buffer.data(), buffer.size(), static_cast<off_t>(at)) < 0) return 1;
    if (fdatasync(file) != 0) return 1;
    ++syncs;
    at += buffer.size();
    const double end = monotonic_seconds();
    for (; done < due; ++done) {
      latencies.push_back((end - start - static_cast<double>(done + 1) / rate) * 1e6);
    }
  }
  close(file);
  fmt::print(
      "{{\"events\":{},\"syncs\":{},\"p50_us\":{:.0f},\"p99_us\":{:.0f},\"p999_us\":{:.0f}}}\n",
      events, syncs, quantile(latencies, 0.5), quantile(latencies, 0.99),
      quantile(latencies, 0.999));
  return 0;
}

}  // namespace
}  // namespace ackline::bench

int main(int argc, char** argv) {
  using namespace ackline::bench;  // NOLINT
  const std::string file = text_option(argc, argv, "--file", "");
  if (file.empty()) {
    fmt::print(stderr, "usage: p3_append --file PATH [--rate N] [--seconds N] [--size BYTES]\n");
    return 2;
  }
  return run(file, static_cast<double>(number_option(argc, argv, "--rate", 20'000)),
             static_cast<double>(number_option(argc, argv, "--seconds", 2)),
             number_option(argc, argv, "--size", 256));
}

// Microseconds for metrics: how long something took.
//
// Not a clock to decide by (those are injected, `clock.h`): nothing may depend on what it says but
// a histogram. Any thread.
#pragma once

#include <cstdint>

namespace ackline {

// The machine's monotonic clock; its zero means nothing.
[[nodiscard]] std::int64_t stopwatch_us();

// Seconds since `begun_us`.
[[nodiscard]] inline double seconds_since(std::int64_t begun_us) {
  return static_cast<double>(stopwatch_us() - begun_us) / 1e6;
}

}  // namespace ackline

#include "ackline/base/stopwatch.h"

#include <chrono>

namespace ackline {

std::int64_t stopwatch_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace ackline

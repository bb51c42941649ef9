// A clock that moves when it is told to. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "ackline/base/clock.h"

namespace ackline::testing {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] MonoMs mono() const override { return MonoMs(mono_.load()); }
  [[nodiscard]] WallMs wall() const override { return WallMs(kWallStart + mono_.load()); }
  void advance(std::int64_t ms) { mono_ += ms; }

 private:
  static constexpr std::int64_t kWallStart = 1'790'000'000'000;
  std::atomic<std::int64_t> mono_{1000};
};

}  // namespace ackline::testing

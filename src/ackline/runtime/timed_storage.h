// Storage threads with a watch: how long the work of one lane took, for a histogram.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "ackline/base/executor.h"
#include "ackline/base/metrics.h"
#include "ackline/base/stopwatch.h"

namespace ackline::runtime {

// Any thread, as the executor behind it, which outlives it.
class TimedStorage final : public StorageExecutor {
 public:
  TimedStorage(StorageExecutor& behind, std::uint32_t timed_lane,
               std::shared_ptr<Histogram> seconds)
      : behind_(behind), timed_lane_(timed_lane), seconds_(std::move(seconds)) {}

  void run(std::uint32_t lane, Task work, Executor& home, Task done) override {
    if (lane != timed_lane_) {
      behind_.run(lane, std::move(work), home, std::move(done));
      return;
    }
    behind_.run(
        lane,
        [work = std::move(work), seconds = seconds_]() mutable {
          const std::int64_t begun_us = stopwatch_us();
          work();
          seconds->observe(seconds_since(begun_us));
        },
        home, std::move(done));
  }

 private:
  StorageExecutor& behind_;
  std::uint32_t timed_lane_;
  std::shared_ptr<Histogram> seconds_;
};

}  // namespace ackline::runtime

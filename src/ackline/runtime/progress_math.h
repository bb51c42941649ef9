// Sums and differences behind the progress answers. Pure.
#pragma once

#include <algorithm>
#include <vector>

#include "ackline/api/admin.h"
#include "ackline/delivery/report.h"

namespace ackline::runtime {

[[nodiscard]] inline delivery::LaneReport sum_lane(const std::vector<delivery::LaneReport>& parts) {
  delivery::LaneReport sum;
  for (const delivery::LaneReport& part : parts) {
    sum.offered += part.offered;
    sum.resolved += part.resolved;
    sum.dead_again += part.dead_again;
    sum.gone += part.gone;
    sum.left += part.left;
  }
  return sum;
}

// `lag = highWatermark - max(frontier, logStart - 1)`; `pending = lag - settledAhead`
// (docs/guarantees.md).
inline void fill_lag(api::PartitionLag& lag) {
  const std::int64_t from = std::max(lag.report.frontier.value(), lag.log_start.value() - 1);
  const std::int64_t distance = std::max<std::int64_t>(0, lag.high_watermark.value() - from);
  lag.lag = static_cast<std::uint64_t>(distance);
  lag.pending = lag.lag - std::min(lag.lag, lag.report.settled_ahead);
  lag.clamped = lag.report.clamped || lag.report.frontier.value() < lag.log_start.value() - 1;
}

}  // namespace ackline::runtime

#include "ackline/runtime/lag_capture.h"

#include <algorithm>

#include "ackline/runtime/progress_math.h"

namespace ackline::runtime {
namespace {

constexpr std::uint32_t kByteHoles = 4096;  // holes whose bytes are counted one by one

// Bytes of what is pending: the holes, and everything behind them. After a start or a replay some
// holes lie above the cursor.
std::uint64_t pending_bytes(ShardUnit& unit, const delivery::ProgressKey& key,
                            const api::PartitionLag& lag) {
  log::PartitionLog& log = *unit.shard->partition(key.partition);
  const Offset end = lag.high_watermark.next();
  const Offset from = std::max(lag.report.frontier.next(), lag.log_start);
  if (lag.report.settled_ahead == 0) return log.bytes_between(from, end).bytes;
  const Offset tail = std::max({from, lag.report.cursor, lag.report.known_end});
  std::uint64_t bytes = log.bytes_between(tail, end).bytes;
  const auto page = unit.shard->dispatcher().holes(key, from, kByteHoles);
  std::uint64_t events = 0;
  for (const delivery::Hole& hole : page.holes) {
    bytes += log.bytes_between(hole.from, hole.to.next()).bytes;
    events += hole.events;
  }
  // With more holes than that the rest is taken at the same bytes an event.
  if (page.next && events > 0) {
    const std::uint64_t below =
        lag.pending -
        std::min<std::uint64_t>(lag.pending, static_cast<std::uint64_t>(std::max<std::int64_t>(
                                                 0, end.value() - tail.value())));
    bytes += bytes / events * (below - std::min(below, events));
  }
  return bytes;
}

}  // namespace

std::optional<LagPart> capture_lag(ShardUnit& unit, const delivery::ProgressKey& key) {
  const auto report = unit.shard->dispatcher().progress(key);
  const auto place = unit.shard->catalog().place(key.partition);
  const log::PartitionLog* log = unit.shard->partition(key.partition);
  if (!report || !place || log == nullptr) return std::nullopt;
  LagPart part;
  part.group = key.progress;
  part.partition = place->index.value();
  part.number = key.partition;
  part.lag.known = !log->damage();
  part.lag.report = *report;
  part.lag.log_start = log->log_start();
  part.lag.high_watermark = log->high_watermark();
  fill_lag(part.lag);
  if (part.lag.known && part.lag.pending > 0)
    part.lag.lag_bytes = pending_bytes(unit, key, part.lag);
  return part;
}

}  // namespace ackline::runtime

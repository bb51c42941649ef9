// LocalPartition: what leaves the log.
#include <algorithm>

#include "ackline/io/failpoint.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/partition.h"

namespace ackline::log {

Offset LocalPartition::retention_candidate(std::optional<std::int64_t> max_age_ms,
                                           std::optional<std::uint64_t> max_bytes,
                                           WallMs now) const {
  Offset start = log_start_;
  std::uint64_t left = stored_bytes();
  for (const Segment& segment : segments_) {
    if (segment.empty() || segment.facts.end > synced_end_) break;
    const bool last = &segment == &segments_.back();
    const bool too_old = max_age_ms && segment.facts.max_time.value() < now.value() - *max_age_ms;
    const bool too_many = max_bytes && !last && left > *max_bytes;
    if (!too_old && !too_many) break;
    left -= segment.facts.length;
    start = std::max(start, segment.facts.end);
  }
  return start;
}

void LocalPartition::truncate_before(Offset start) {
  log_start_ = std::max(log_start_, std::min(start, synced_end_));
}

Result<void> LocalPartition::remove_truncated(Offset start) {
  start = std::min(start, log_start_);
  while (!segments_.empty() && !segments_.front().empty() && segments_.front().facts.end <= start) {
    const Segment& segment = segments_.front();
    io::failpoint(io::Failpoint::kSegmentRemoveBefore);
    for (const std::string& name :
         {format::index_name(segment.facts.base), format::segment_name(segment.facts.base)}) {
      const Result<void> removed = fs_.remove(io::join(directory_, name));
      if (!removed && removed.error().code != ErrorCode::kNotFound) return removed;
    }
    io::failpoint(io::Failpoint::kSegmentRemoveAfter);
    directory_dirty_ = directory_made_;
    drop_tail_before(segment.facts.end);
    segments_.pop_front();
  }
  return {};
}

// They are below the log start: whether they were written to the file does not matter any more.
void LocalPartition::drop_tail_before(Offset end) {
  while (!tail_.empty() && tail_.front()->end() <= end) {
    unflushed_bytes_ -= tail_.front()->unflushed();
    tail_bytes_ -= tail_.front()->capacity();
    tail_.pop_front();
  }
}

Result<void> LocalPartition::destroy() {
  segments_.clear();
  tail_.clear();
  unflushed_bytes_ = 0;
  tail_bytes_ = 0;
  cache_.drop(number_);
  io::failpoint(io::Failpoint::kPartitionDestroyBefore);
  Result<void> removed = fs_.remove_all(directory_);
  io::failpoint(io::Failpoint::kPartitionDestroyAfter);
  return removed;
}

}  // namespace ackline::log

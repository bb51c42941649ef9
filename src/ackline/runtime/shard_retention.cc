// Retention by age and bytes, held back for groups (invariant 30), and the space of purged dead
// letters.
#include <algorithm>
#include <utility>

#include "ackline/base/logging.h"
#include "ackline/io/failpoint.h"
#include "ackline/runtime/shard.h"

namespace ackline::runtime {

void Shard::run_retention() {
  bool any = false;
  for (auto& [number, partition] : partitions_) {
    if (const Offset below = std::exchange(partition.left_below, {}); below > Offset(0)) {
      remove_truncated(number, below);
    }
    const api::Retention& keep = partition.topic->retention;
    if (partition.dead_letter || (!keep.age_ms && !keep.bytes)) continue;
    any = true;
    if (partition.log->damage()) continue;
    const Offset wanted = partition.log->retention_candidate(keep.age_ms, keep.bytes, wall());
    Offset start = wanted;
    if (const auto held = dispatcher_->held_from(number); options_.retention_hold && held) {
      start = std::min(start, *held);
      if (options_.retention_hold_bytes) {
        // What groups hold back has a bound of its own.
        start = std::max(
            start, std::min(wanted, partition.log->retention_candidate(
                                        std::nullopt, options_.retention_hold_bytes, wall())));
      }
    }
    if (start <= partition.log->log_start()) continue;
    truncate(number, partition, start);
  }
  if (any) due_.retention = now().plus(options_.retention_interval_ms);
}

// Two steps: the log start moves and is journaled; files go once that record is synced.
void Shard::truncate(PartitionNumber number, Partition& partition, Offset start) {
  partition.log->truncate_before(start);
  scratch_.clear();
  state::LogStartRecord{start}.encode(scratch_);
  journal(state::RecordType::kLogStart, number, as_bytes(scratch_));
  dispatcher_->on_log_start(number, start);
  io::failpoint(io::Failpoint::kLogStartMoved);
  remove_truncated(number, start);
}

// The record may be in a batch that could not be written and is written later, or a file may stay:
// then it is tried again with the next look.
void Shard::remove_truncated(PartitionNumber number, Offset start) {
  after_sync([this, number, start](const Error* error) {
    const auto found = partitions_.find(number);
    if (found == partitions_.end()) return;
    if (error == nullptr) {
      const auto done = found->second.log->remove_truncated(start);
      if (done) return;
      log_warn("files below the log start could not be removed; it is tried again",
               {{"partition", number}, {"error", done.error().detail}});
    }
    Offset& left = found->second.left_below;
    left = std::max(left, start);
    if (!due_.retention) due_.retention = now().plus(options_.retention_interval_ms);
  });
}

void Shard::trim_dead_letters(const Topic& topic) {
  for (std::uint32_t i = 0; i < topic.partitions.size(); ++i) {
    const auto found = partitions_.find(topic.dead_letters[i]);
    if (found == partitions_.end() || found->second.log->damage()) continue;
    Offset keep = found->second.log->high_watermark().next();
    for (const GroupPtr& group : catalog_.groups(topic.name)) {
      dispatcher_->for_each_dead({group->number, topic.partitions[i]},
                                 [&keep](Offset dlq, delivery::EntryState state) {
                                   if (state != delivery::EntryState::kPurged) {
                                     keep = std::min(keep, dlq);
                                   }
                                 });
    }
    if (keep > found->second.log->log_start()) truncate(found->first, found->second, keep);
  }
}

}  // namespace ackline::runtime

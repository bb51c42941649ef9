// Publishing: queued while the turn's tasks run, appended and written as one batch at its end.
#include <fmt/format.h>

#include "ackline/base/check.h"
#include "ackline/base/metric_names.h"
#include "ackline/base/storage_lanes.h"
#include "ackline/runtime/shard.h"

namespace ackline::runtime {

void Shard::publish(PartitionNumber partition, std::vector<std::string> frames, PublishDone done) {
  ACKLINE_CHECK(!frames.empty());
  publishes_.push_back({partition, std::move(frames), std::move(done)});
  schedule_turn();
}

// Appends what is queued; what cannot be appended is answered at once. `appended` names each
// partition once, with its end.
void Shard::append_queued(std::vector<QueuedPublish>& taken, std::vector<Appended>& appended,
                          std::vector<std::pair<PublishDone, Offset>>& done) {
  std::vector<ByteView> views;
  const WallMs at = wall();
  for (std::size_t next = 0; next < taken.size(); ++next) {
    if (journal_->open_bytes() >= options_.batch_bytes) {
      publishes_.insert(publishes_.begin(),
                        std::make_move_iterator(taken.begin() + static_cast<std::ptrdiff_t>(next)),
                        std::make_move_iterator(taken.end()));
      schedule_turn();
      break;
    }
    QueuedPublish& publish = taken[next];
    const auto found = partitions_.find(publish.partition);
    if (found == partitions_.end()) {
      publish.done(fail(ErrorCode::kTopicUnknown, "the topic was deleted", "Create it again."));
      continue;
    }
    Partition& partition = found->second;
    std::uint64_t bytes = 0;
    views.clear();
    for (const std::string& frame : publish.frames) {
      views.push_back(as_bytes(frame));
      bytes += frame.size();
    }
    if (auto room = room_for(bytes); !room) {
      publish.done(fail(room));
      continue;
    }
    scratch_.clear();
    auto base = partition.log->append(views, at, scratch_);
    if (!base) {
      publish.done(fail(base));
      continue;
    }
    journal_->append(static_cast<std::uint8_t>(state::RecordType::kPublish), publish.partition,
                     as_bytes(scratch_));
    if (!partition.in_turn) {
      partition.in_turn = true;
      appended.push_back({publish.partition, Offset{}});
    }
    if (const auto counter = published_.find(publish.partition); counter != published_.end()) {
      counter->second->add(publish.frames.size());
    }
    done.emplace_back(std::move(publish.done), *base);
  }
  for (Appended& one : appended) one.end = partitions_.at(one.partition).log->next_offset();
}

// The disk reserve: publishes are refused while free space is below it, so that acks, settles and
// checkpoints can go on.
Result<void> Shard::room_for(std::uint64_t bytes) {
  used_since_look_ += bytes;
  // What is only in the journal is written once more, into segments.
  std::uint64_t reserve = options_.disk_reserve_bytes + last_checkpoint_bytes_;
  reserve += journal_->journaled_bytes();
  if (used_since_look_ > options_.disk_reserve_bytes / 4 || full_) look_at_disk();
  if (free_bytes_ >= reserve + used_since_look_) {
    full_ = false;
    return {};
  }
  // Before anything is refused the figure must be fresh.
  if (const auto free = deps_.fs.free_bytes(options_.log_path)) {
    free_bytes_ = *free;
    used_since_look_ = bytes;
    full_ = free_bytes_ < reserve + used_since_look_;
  }
  if (!full_) return {};
  return fail(
      ErrorCode::kFull,
      fmt::format("{} bytes are free on the disk of data.path; publishing keeps {} in reserve",
                  free_bytes_, reserve),
      "Free disk space or add some; publishing goes on by itself.");
}

// Asks on a storage thread; the answer comes before the reserve is used up.
void Shard::look_at_disk() {
  if (looking_) return;
  looking_ = true;
  auto free = std::make_shared<Result<std::uint64_t>>(0);
  deps_.storage.run(
      storage_lane::disk_space(), [this, free] { *free = deps_.fs.free_bytes(options_.log_path); },
      deps_.executor,
      [this, free] {
        looking_ = false;
        if (!*free) return;
        free_bytes_ = **free;
        used_since_look_ = 0;
      });
}

}  // namespace ackline::runtime

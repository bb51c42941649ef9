// Reading the log: at most one read of a progress is on its way, and what came is kept until the
// next look at it.
#include <utility>

#include "ackline/base/plants.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

constexpr std::int64_t kReadAgainMs = 1'000;

}  // namespace

void Dispatcher::Impl::on_available(PartitionNumber number, Offset end) {
  const auto found = partitions_.find(number);
  if (found == partitions_.end()) {
    return;
  }
  Partition& partition = *found->second;
  partition.spec.end = std::max(partition.spec.end, end);
  for (Progress* progress : partition.progress) {
    if (!progress->is_lane() && !plant(Plant::kWakeLost)) {
      wake(*progress);
    }
  }
}

void Dispatcher::Impl::on_read(ProgressKey key, Offset from, Result<log::ReadBatch> batch) {
  Progress* progress = find(key);
  if (progress == nullptr) {
    // A lane reads dead letters in their partition.
    for (auto at = progress_.lower_bound({key.progress, PartitionNumber(0)});
         at != progress_.end() && at->first.progress == key.progress; ++at) {
      if (at->second->is_lane() && at->second->partition->spec.dlq_number == key.partition) {
        progress = at->second.get();
      }
    }
  }
  if (progress == nullptr) {
    return;
  }
  progress->reading = false;
  if (!batch) {
    progress->read_again_at = clock_.plus(kReadAgainMs);
    rearm(*progress);
    return;
  }
  progress->arrived_from = ReadPlace{key.partition, from};
  progress->arrived = *std::move(batch);
  queue_resends(*progress);
  wake(*progress);
}

ReadStatus Dispatcher::Impl::read(Progress& progress, ReadPlace from, std::uint32_t events,
                                  log::ReadBatch& out) {
  if (progress.arrived_from == from) {
    out = std::move(progress.arrived);
    progress.arrived = {};
    progress.arrived_from.reset();
    return ReadStatus::kReady;
  }
  if (progress.reading) {
    return ReadStatus::kPending;
  }
  if (progress.read_again_at) {
    return ReadStatus::kFailed;
  }
  const ProgressKey key{progress.key.progress, from.partition};
  out.events.clear();
  out.buffers.clear();
  progress.reading = true;
  const ReadStatus status = port_.read(key, from.offset, events, options_.read_bytes, out);
  if (status == ReadStatus::kPending) {
    if (progress.reading) {  // else it has come already
      progress.arrived_from.reset();
      progress.arrived = {};
    }
    return status;
  }
  progress.reading = false;
  if (status == ReadStatus::kFailed) {
    progress.read_again_at = clock_.plus(kReadAgainMs);
    rearm(progress);
  }
  return status;
}

ReadStatus Dispatcher::Impl::read_one(Progress& progress, Offset offset, log::ReadBatch& out,
                                      bool& missing) {
  const ReadPlace from = place_of(progress, offset);
  missing = false;
  const ReadStatus status = read(progress, from, 1, out);
  if (status != ReadStatus::kReady) {
    return status;
  }
  if (!out.events.empty() && out.events.front().offset == from.offset) {
    return status;
  }
  missing = out.next > from.offset;
  if (!missing) {  // the log is not that far: it was told so before, so ask again
    progress.read_again_at = clock_.plus(kReadAgainMs);
    rearm(progress);
    return ReadStatus::kFailed;
  }
  return status;
}

ReadPlace Dispatcher::Impl::place_of(const Progress& progress, Offset offset) {
  const LaneItem* item = progress.is_lane() ? progress.lane->find(offset) : nullptr;
  if (item == nullptr || !item->has_entry()) {
    return {progress.key.partition, offset};
  }
  return {progress.partition->spec.dlq_number, item->dlq};
}

std::shared_ptr<const void> Dispatcher::Impl::keep(log::ReadBatch& batch) {
  if (batch.buffers.empty()) {
    return nullptr;
  }
  if (batch.buffers.size() == 1) {
    return batch.buffers.front();
  }
  return std::make_shared<std::vector<std::shared_ptr<const void>>>(std::move(batch.buffers));
}

void Dispatcher::Impl::queue_resends(Progress& progress) {
  if (!progress.resends.empty() && !progress.resend_queued) {
    progress.resend_queued = true;
    resending_.push_back(&progress);
  }
}

}  // namespace ackline::delivery

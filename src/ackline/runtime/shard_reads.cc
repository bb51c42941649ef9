// Reading the log: at once from memory, else by a storage thread and then again.
#include "ackline/base/storage_lanes.h"
#include "ackline/runtime/shard.h"

namespace ackline::runtime {

delivery::ReadStatus Shard::read(delivery::ProgressKey key, Offset from, std::uint32_t max_events,
                                 std::uint32_t max_bytes, log::ReadBatch& out) {
  const auto found = partitions_.find(key.partition);
  if (found == partitions_.end()) return delivery::ReadStatus::kFailed;
  log::PartitionLog& log = *found->second.log;
  auto batch = log.read(from, {.max_events = max_events, .max_bytes = max_bytes});
  if (batch) {
    out = std::move(*batch);
    return delivery::ReadStatus::kReady;
  }
  if (batch.error().code != ErrorCode::kTimeout) {
    if (log.damage() && !found->second.damaged) quarantine(key.partition, log.damage()->detail);
    return delivery::ReadStatus::kFailed;
  }
  read_cold(key.partition, from, [this, key, from, max_events, max_bytes] {
    log::PartitionLog* warm = partition(key.partition);
    if (warm == nullptr) return true;
    auto again = warm->read(from, {.max_events = max_events, .max_bytes = max_bytes});
    if (!again && again.error().code == ErrorCode::kTimeout) return false;
    dispatcher_->on_read(key, from, std::move(again), now());
    schedule_turn();
    return true;
  });
  return delivery::ReadStatus::kPending;
}

void Shard::read_cold(PartitionNumber number, Offset at, std::move_only_function<bool()> attempt) {
  run_read(
      number, [this, number, at] { return partitions_.at(number).log->read_job(at); },
      std::move(attempt));
}

void Shard::read_cold_time(PartitionNumber number, WallMs at,
                           std::move_only_function<bool()> attempt) {
  run_read(
      number, [this, number, at] { return partitions_.at(number).log->time_job(at); },
      std::move(attempt));
}

void Shard::run_read(PartitionNumber number, std::function<std::unique_ptr<log::ReadJob>()> job,
                     std::move_only_function<bool()> attempt) {
  if (attempt() || partition(number) == nullptr) return;
  auto reading = std::make_shared<std::unique_ptr<log::ReadJob>>(job());
  deps_.storage.run(
      storage_lane::log_read(number), [reading] { (*reading)->run(); }, deps_.executor,
      [this, reading, number, job = std::move(job), attempt = std::move(attempt)]() mutable {
        if (log::PartitionLog* log = partition(number)) {
          // The error, if there was one, comes again from the log when it is asked.
          static_cast<void>(log->absorb(std::move(*reading)));
        }
        run_read(number, std::move(job), std::move(attempt));
      });
}

}  // namespace ackline::runtime

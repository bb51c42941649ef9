// The lanes of the storage threads, one function a purpose.
//
// Work of one lane runs in order and waits for what was asked before it (StorageExecutor), so two
// purposes never share a lane: the purpose is in the upper half of the number, which of them in the
// lower. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "ackline/base/types.h"

namespace ackline::storage_lane {

enum class Purpose : std::uint16_t {
  kJournalSync,
  kJournalFiles,
  kMeta,
  kLogRead,
  kCheckpoint,
  kOffsets,
  kAudit,
  kRecount,
  kDiskSpace,
  kDeliveryRows,
  kReplaySift,
};

[[nodiscard]] constexpr std::uint32_t of(Purpose purpose, std::uint32_t which = 0) {
  return static_cast<std::uint32_t>(purpose) << 16U | (which & 0xFFFFU);
}

// Syncs of a shard's journal must not overtake each other.
[[nodiscard]] constexpr std::uint32_t journal_sync(ShardIndex shard) {
  return of(Purpose::kJournalSync, shard.value());
}
// Filling a file must not hold up a sync.
[[nodiscard]] constexpr std::uint32_t journal_files(ShardIndex shard) {
  return of(Purpose::kJournalFiles, shard.value());
}
[[nodiscard]] constexpr std::uint32_t meta() {
  return of(Purpose::kMeta);
}
// Reads of one partition share a lane: the second of two readers then finds the chunk in the cache.
[[nodiscard]] constexpr std::uint32_t log_read(PartitionNumber partition) {
  return of(Purpose::kLogRead, partition.value() % 64);
}
[[nodiscard]] constexpr std::uint32_t checkpoint(ShardIndex shard) {
  return of(Purpose::kCheckpoint, shard.value());
}
[[nodiscard]] constexpr std::uint32_t offsets() {
  return of(Purpose::kOffsets);
}
[[nodiscard]] constexpr std::uint32_t audit() {
  return of(Purpose::kAudit);
}
[[nodiscard]] constexpr std::uint32_t recount() {
  return of(Purpose::kRecount);
}
[[nodiscard]] constexpr std::uint32_t disk_space() {
  return of(Purpose::kDiskSpace);
}
[[nodiscard]] constexpr std::uint32_t delivery_rows(ShardIndex shard) {
  return of(Purpose::kDeliveryRows, shard.value());
}
[[nodiscard]] constexpr std::uint32_t replay_sift(PartitionNumber partition) {
  return of(Purpose::kReplaySift, partition.value() % 64);
}

}  // namespace ackline::storage_lane

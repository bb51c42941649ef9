// What a shard is told and what it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ackline/base/executor.h"
#include "ackline/base/metrics.h"
#include "ackline/delivery/dispatcher.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/io/kv/key_value.h"
#include "ackline/log/local/partition.h"
#include "ackline/state/offset_store.h"

namespace ackline::runtime {

struct ShardOptions {
  ShardIndex index;
  std::uint32_t shards = 1;
  Epoch epoch;
  const delivery::DeliveryIdCodec* ids = nullptr;  // outlives the shard
  std::string log_path;                            // directory of all partitions
  std::string journal_path;                        // this shard's own: journal files, checkpoints
  delivery::Dispatcher::Options dispatcher;
  log::PartitionOptions partition;
  bool sync_commit = true;  // 202 after the sync; else after the write
  bool ack_sync = false;    // the 200 of an ack waits for the sync, too
  std::int64_t sync_interval_ms = 10;
  std::uint64_t journal_file_bytes = 64U << 20U;
  // A turn takes no more publishes and dead letters once its batch has this many bytes.
  std::size_t batch_bytes = 64U << 20U;
  std::uint64_t disk_reserve_bytes = 256U << 20U;
  std::uint64_t checkpoint_bytes = 64U << 20U;
  std::int64_t checkpoint_interval_ms = 30'000;
  bool retention_hold = true;
  std::optional<std::uint64_t> retention_hold_bytes;
  std::int64_t retention_interval_ms = 10'000;
  std::int64_t stuck_after_ms = 30'000;
  std::uint64_t random_seed = 1;
  // Deliveries are kept as rows in `ShardDependencies::deliveries`, not in the journal; and they
  // were when the data directory was used last.
  bool delivery_rows = false;
  bool delivery_rows_before = false;
  std::size_t delivery_cache_entries = 10'000;
  std::int64_t delivery_flush_ms = 100;
};

// Where a shard sends what concerns clients: the sessions of each home shard. Called on the sending
// shard's thread.
class OfferRouter {
 public:
  virtual ~OfferRouter() = default;
  virtual void offers(std::vector<delivery::Offer> offers) = 0;
  // A lane's part ended (all entries resolved or dead again).
  virtual void lane_part_done(ProgressNumber lane, ShardIndex shard) = 0;
};

struct ShardDependencies {
  Executor& executor;
  StorageExecutor& storage;
  io::FileSystem& fs;
  state::OffsetStore& offsets;
  MetricRegistry& metrics;
  OfferRouter& router;
  io::KeyValue* deliveries = nullptr;  // with rows, now or before
};

}  // namespace ackline::runtime

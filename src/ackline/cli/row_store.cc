#include "ackline/cli/row_store.h"

#include <fmt/format.h>

#include "ackline/base/clock.h"
#include "ackline/delivery/stored.h"
#include "ackline/io/kv/rocksdb_key_value.h"
#include "ackline/state/backend/kv_delivery_state_store.h"

namespace ackline::cli {
namespace {

// Time stands still: what is looked at is what was written.
class NoTime final : public Clock {
 public:
  [[nodiscard]] MonoMs mono() const override { return MonoMs{0}; }
  [[nodiscard]] WallMs wall() const override { return WallMs{0}; }
};

Result<void> count(state::KvDeliveryStateStore& store, const state::KvDeliveryStateStore::Key& key,
                   RowCounts& counts) {
  const auto& [progress, partition] = key;
  delivery::StoredRows rows;
  rows.key = {progress, partition};
  const auto stored = store.progress(progress, partition);
  if (!stored) return fail(stored);
  rows.generation = (*stored)->generation;
  store.frontier_bytes(key, rows.frontier);
  auto deliveries = store.deliveries(key);
  if (!deliveries) return fail(deliveries);
  rows.deliveries = std::move(*deliveries);
  auto notes = store.notes(key);
  if (!notes) return fail(notes);
  rows.notes = std::move(*notes);
  ++counts.partitions;
  counts.in_flight += rows.deliveries.size();
  counts.dead += delivery::dead_letters_in(rows);
  for (const OffsetRange& range : (*stored)->settled) {
    counts.settled += static_cast<std::uint64_t>(range.count());
  }
  counts.frontiers[partition] = (*stored)->frontier;
  // As a start reads them.
  const auto section = delivery::section_of_rows(Epoch{0}, store.now(), {&rows, 1});
  return section ? Result<void>() : fail(section);
}

}  // namespace

Result<Rows> read_rows(const std::string& path, const StoredCatalog& catalog) {
  auto kv = io::open_rocksdb_to_read(path);
  if (!kv) return fail(kv);
  Rows all;
  if (!catalog.rows) return all;  // of no use any more
  const NoTime clock;
  for (std::uint32_t i = 0; i < catalog.shards; ++i) {
    const auto shard = state::read_delivery_shard(**kv, catalog.shards, ShardIndex(i));
    if (!shard) return fail(shard);
    if (!*shard) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("it knows nothing of shard {} of {}", i, catalog.shards));
    }
    state::KvDeliveryOptions options;
    options.shards = catalog.shards;
    options.shard = ShardIndex(i);
    options.partitions = catalog.partitions_of(ShardIndex(i));
    auto store = state::KvDeliveryStateStore::open(**kv, clock, std::move(options));
    if (!store) return fail(store);
    for (const auto& key : (*store)->keys()) {
      if (auto done = count(**store, key, all[key.first]); !done) return fail(done);
    }
  }
  return all;
}

}  // namespace ackline::cli

// DeliveryStateStore on a key-value store (RocksDB), behind a bounded write-behind cache.
//
// A row a delivery, a row for each stretch of settled offsets past a frontier, a row a progress.
// `apply` changes what is in memory: frontiers and settled sets of all progresses, and the rows
// that are not written yet. `commit` writes all of those in one batch, so that one batch is one
// moment; a delivery that came and went between two commits leaves no trace. When the cache is full
// `apply` commits first. With `cache_entries` 0 every `apply` commits.
//
// Beyond the contract it keeps what else the dispatcher has to know of a progress, as notes that it
// does not look into, and of its shard: how far time had come, how many unclean starts there were,
// and through where the shard's journal is contained in the rows.
//
// Any thread; `apply` does not wait for a commit that is under way, reads do. Errors are those of
// the contract; after a failed write `commit` may be called again, it brings everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ackline/base/clock.h"
#include "ackline/io/kv/key_value.h"
#include "ackline/state/backend/kv_delivery_rows.h"
#include "ackline/state/delivery_change.h"

namespace ackline::state {

struct KvDeliveryOptions {
  // Whose time, starts and journal it keeps.
  std::uint32_t shards = 1;
  ShardIndex shard;
  // Only these; unset: all that the store holds.
  std::optional<std::vector<PartitionNumber>> partitions;
  std::size_t cache_entries = 10'000;
};

class KvDeliveryStateStore final : public DeliveryStateStore {
 public:
  using Key = std::pair<ProgressNumber, PartitionNumber>;

  // `kv` and `clock` outlive the store. Time goes on where it was. Errors: kCorrupt, kUnsupported,
  // the key-value store's.
  [[nodiscard]] static Result<std::unique_ptr<KvDeliveryStateStore>> open(
      io::KeyValue& kv, const Clock& clock, KvDeliveryOptions options);
  ~KvDeliveryStateStore() override;

  [[nodiscard]] std::string_view name() const override { return "deliveries (rocksdb)"; }
  [[nodiscard]] StoreHealth health() const override;
  [[nodiscard]] Result<void> flush() override { return commit(true); }
  [[nodiscard]] Result<void> close() override;
  [[nodiscard]] Result<void> apply(const DeliveryBatch& batch) override;
  [[nodiscard]] Result<void> commit() override { return commit(false); }
  [[nodiscard]] Result<std::optional<DeliveryState>> get(const DeliveryRef& ref) override;
  [[nodiscard]] Result<std::optional<StoredProgress>> progress(ProgressNumber progress,
                                                               PartitionNumber partition) override;
  [[nodiscard]] Result<void> iterate(
      ProgressNumber progress, const std::function<bool(const DeliveryState&)>& visit) override;
  [[nodiscard]] Result<std::size_t> count() override;

  // --- for a dispatcher
  [[nodiscard]] Result<void> apply(const DeliveryChange& change);
  // `sync`: a power cut cannot undo it either.
  [[nodiscard]] Result<void> commit(bool sync);
  // The same in two steps, for one who may not wait: what there is to write is fixed by the first;
  // the second blocks, and one is under way at a time.
  using Writes = std::vector<io::KeyValueWrite>;
  [[nodiscard]] Writes begin_commit();
  [[nodiscard]] Result<void> end_commit(Writes writes, bool sync);
  // The progress is gone, with all its rows.
  [[nodiscard]] Result<void> forget(ProgressNumber progress, PartitionNumber partition);
  [[nodiscard]] std::vector<Key> keys() const;
  // Deliveries of one progress on one partition, by offset.
  [[nodiscard]] Result<std::vector<DeliveryState>> deliveries(const Key& key);
  [[nodiscard]] Result<std::map<std::string, std::string>> notes(const Key& key);
  // Frontier and settled offsets in the bytes of docs/formats/frontier.md.
  void frontier_bytes(const Key& key, std::string& out) const;
  // Rows that a commit would write.
  [[nodiscard]] std::size_t cached() const;

  // How far the store's time has come. It counts as written with every commit; `mark_alive` makes
  // the next commit write it even when there is nothing else.
  [[nodiscard]] MonoMs now() const;
  void mark_alive();
  // Whoever opened it knows better how far time had come.
  void go_on_at(MonoMs now);
  // Every leased delivery has lived through one more.
  void count_unclean_start();
  void set_journal(Lsn contained);
  [[nodiscard]] Lsn journal() const;

 private:
  struct Part;
  KvDeliveryStateStore(io::KeyValue& kv, const Clock& clock, KvDeliveryOptions options);
  [[nodiscard]] Result<void> load();
  [[nodiscard]] Result<void> load_rows(const std::string& heads, const std::string& settled,
                                       const std::string& deliveries, const std::string& notes);
  [[nodiscard]] Result<void> load_shard();
  [[nodiscard]] Result<void> check(const DeliveryChange& change) const;
  [[nodiscard]] Result<void> make_room();
  [[nodiscard]] Result<void> write_through(const Key& key);
  [[nodiscard]] Result<void> require_open() const;
  void take(Part& part, const DeliveryChange& change);
  void take_put(Part& part, const DeliveryState& delivery);
  void settle(Part& part, OffsetRange range);
  void erase_rows(Part& part, OffsetRange range);
  void erase_row(Part& part, Offset offset);
  void note(Part& part, const DeliveryNote& note);
  void start_generation(Part& part, const DeliveryBatch& batch);
  void raise_frontier(Part& part, Offset frontier);
  // Everything that is not written yet, into `out`; counts as written from here on.
  void gather(std::vector<io::KeyValueWrite>& out);
  void gather(Part& part, std::vector<io::KeyValueWrite>& out);
  [[nodiscard]] Part& part_of(const Key& key, const DeliveryBatch& batch);
  [[nodiscard]] std::size_t cached_locked() const;
  [[nodiscard]] MonoMs now_locked() const;
  [[nodiscard]] Result<std::vector<DeliveryState>> deliveries_locked(const Part& part) const;
  // What a read finds under `key`, written or not.
  [[nodiscard]] Result<std::optional<std::string>> row(const std::string& key) const;
  [[nodiscard]] Result<std::map<std::string, std::string>> scan(const std::string& prefix) const;

  io::KeyValue& kv_;
  const Clock& clock_;
  const KvDeliveryOptions options_;
  const std::string shard_key_;

  std::mutex commit_mutex_;   // one commit at a time; before `mutex_`
  mutable std::mutex mutex_;  // everything below
  std::map<Key, std::unique_ptr<Part>> parts_;
  std::set<Key> dirty_;
  std::size_t rows_ = 0;                      // in the caches of all parts
  std::vector<io::KeyValueWrite> unwritten_;  // of a commit that failed, or of what is forgotten
  rows::ShardRow shard_;                      // `now`: at `opened_at_`
  MonoMs opened_at_;
  bool shard_dirty_ = false;
  StoreHealth health_;
  bool closed_ = false;
};

// Removes the rows of partitions and progresses that `known` does not know. Blocking; before any
// store is open on them.
[[nodiscard]] Result<void> forget_unknown_deliveries(
    io::KeyValue& kv, const std::function<bool(ProgressNumber, PartitionNumber)>& known);
// All rows, the shards' included.
[[nodiscard]] Result<void> clear_deliveries(io::KeyValue& kv);
// A shard's own row, if it is there.
[[nodiscard]] Result<std::optional<rows::ShardRow>> read_delivery_shard(io::KeyValue& kv,
                                                                        std::uint32_t shards,
                                                                        ShardIndex shard);

}  // namespace ackline::state

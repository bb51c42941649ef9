// A shard's deliveries in a store of rows (`delivery.store: rocksdb`) instead of in its journal.
//
// The dispatcher's records say what changed; at the end of a turn the rows of those places are
// taken from the dispatcher and given to the store's cache (`apply`). A commit writes the whole
// cache, on a storage thread, one at a time: at once when somebody waits (an ack; the next one
// gathers what came meanwhile), else after `flush_ms`, and it is synced when somebody waits for
// that, else within `sync_interval_ms`. What is in the journal as well (a dead letter's settle,
// which shares a batch with its copy) goes into rows only once the journal is synced: `journaled`
// says through where.
//
// Owned by a shard, on its thread; `open` and `start` block and run before. Failure: a commit that
// fails is told by `on_failed` and tried again when the shard asks; one that nothing is known of
// any more (kAmbiguous, kPoisoned, kCorrupt) is for good: `poison`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackline/base/executor.h"
#include "ackline/base/result.h"
#include "ackline/delivery/dispatcher.h"
#include "ackline/delivery/touched.h"
#include "ackline/io/kv/key_value.h"
#include "ackline/state/backend/kv_delivery_state_store.h"

namespace ackline::runtime {

struct StoredDeliveriesOptions {
  std::uint32_t shards = 1;
  ShardIndex shard;
  std::size_t cache_entries = 10'000;  // 0: nothing leaves before its rows are written
  std::int64_t flush_ms = 100;
  std::int64_t sync_interval_ms = 10;
};

class StoredDeliveries {
 public:
  // Counts the turns that changed something, from 1.
  using Mark = std::uint64_t;

  struct Dependencies {
    Executor& executor;
    StorageExecutor& storage;
    io::KeyValue& kv;
  };
  struct Listener {
    std::function<void()> on_progress;  // `written` or `synced` moved
    std::function<void(const Error&)> on_failed;
    std::function<void()> sync_journal;  // a commit waits for it; then call `proceed`
  };
  StoredDeliveries(StoredDeliveriesOptions options, Dependencies dependencies);
  ~StoredDeliveries();
  StoredDeliveries(const StoredDeliveries&) = delete;
  StoredDeliveries& operator=(const StoredDeliveries&) = delete;

  // --- boot
  [[nodiscard]] Result<void> open(std::vector<PartitionNumber> partitions);
  // Every partition's rows, as sections.
  [[nodiscard]] Result<void> restore(delivery::Dispatcher& dispatcher, Epoch epoch);
  // Before the first offer: this start is on disk, with what the journal added. `journal`: it is
  // contained through here.
  [[nodiscard]] Result<void> start(const delivery::Dispatcher& dispatcher, bool clean, Lsn journal);
  // The same for a dispatcher that was kept elsewhere: all of it, into a store without rows.
  [[nodiscard]] Result<void> take_over(const delivery::Dispatcher& dispatcher, Lsn journal);
  void listen(Listener listener) { listener_ = std::move(listener); }

  // --- work
  void record(state::RecordType type, PartitionNumber partition, ByteView body);
  // What the dispatcher changed without a record.
  void touch(delivery::ProgressKey key) { touched_.touch(key); }
  void forget(delivery::ProgressKey key, const delivery::DeadLetterKey& dead) {
    touched_.forget(key, dead);
  }
  // The batch's journal records, if it has some, are those through `journaled`. An error changes
  // nothing; the rows are taken again with the next turn.
  [[nodiscard]] Result<void> apply(const delivery::Dispatcher& dispatcher,
                                   std::optional<Lsn> journaled);
  // Rows of what the dispatcher has no more.
  void forget_gone(const delivery::Dispatcher& dispatcher);
  void want_written();
  void want_synced();
  // The journal is synced through `synced`.
  void proceed(Lsn synced);

  [[nodiscard]] Mark applied() const { return applied_; }
  [[nodiscard]] Mark written() const { return written_; }
  [[nodiscard]] Mark synced() const { return synced_; }
  [[nodiscard]] bool holds_offers() const { return options_.cache_entries == 0; }
  // Nothing more is offered while the cache is at its bound.
  [[nodiscard]] bool full() const;
  // The last commit failed; it is tried when `want_written` is called again.
  [[nodiscard]] const Error* trouble() const { return trouble_ ? &*trouble_ : nullptr; }
  [[nodiscard]] const Error* poison() const { return poison_ ? &*poison_ : nullptr; }

 private:
  // The store's clock is the dispatcher's time, so that what a row says of a lease is what the
  // dispatcher knows: both stand still together (decision 0008).
  class Time final : public Clock {
   public:
    void set(MonoMs at) { at_ = at.value(); }
    [[nodiscard]] MonoMs mono() const override { return MonoMs(at_.load()); }
    [[nodiscard]] WallMs wall() const override { return WallMs(0); }  // rows have none

   private:
    std::atomic<std::int64_t> at_{0};
  };
  void follow(const delivery::Dispatcher& dispatcher);
  [[nodiscard]] Result<void> take(const delivery::Dispatcher& dispatcher);
  void proceed();
  void commit_gathered();
  [[nodiscard]] bool sync_is_due() const;
  void end(Mark target, bool sync, const Result<void>& outcome);
  void arm();
  void fire();
  [[nodiscard]] MonoMs now() const { return deps_.executor.clock().mono(); }

  StoredDeliveriesOptions options_;
  Dependencies deps_;
  Listener listener_;
  std::vector<PartitionNumber> partitions_;
  std::shared_ptr<Time> time_ = std::make_shared<Time>();
  std::shared_ptr<state::KvDeliveryStateStore> store_;  // shared with a commit under way
  delivery::TouchedRows touched_;
  std::vector<state::DeliveryChange> changes_;

  Mark applied_ = 0;
  Mark written_ = 0;
  Mark synced_ = 0;
  // What the next commit writes; it waits for the journal's sync through `gate`.
  struct Gathered {
    state::KvDeliveryStateStore::Writes writes;
    Mark target = 0;
    Lsn gate;
    bool sync = false;
  };
  std::optional<Gathered> gathered_;
  bool running_ = false;
  bool want_written_ = false;
  bool want_synced_ = false;
  MonoMs dirty_since_;
  MonoMs unsynced_since_;
  Lsn gate_;  // of the journal
  Lsn journal_synced_;
  Executor::TimerId timer_ = 0;
  std::optional<MonoMs> timer_at_;
  std::optional<Error> trouble_;
  std::optional<Error> poison_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ackline::runtime

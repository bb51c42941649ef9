#include "ackline/runtime/stored_deliveries.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "ackline/base/check.h"
#include "ackline/base/storage_lanes.h"
#include "ackline/delivery/stored.h"
#include "ackline/io/failpoint.h"

namespace ackline::runtime {

StoredDeliveries::StoredDeliveries(StoredDeliveriesOptions options, Dependencies dependencies)
    : options_(options), deps_(dependencies) {}

StoredDeliveries::~StoredDeliveries() {
  *alive_ = false;
  if (timer_ != 0) deps_.executor.cancel(timer_);
}

// --- boot

Result<void> StoredDeliveries::open(std::vector<PartitionNumber> partitions) {
  partitions_ = std::move(partitions);
  state::KvDeliveryOptions options;
  options.shards = options_.shards;
  options.shard = options_.shard;
  options.partitions = partitions_;
  // The bound is kept here: a shard does not wait for a disk.
  options.cache_entries = std::numeric_limits<std::size_t>::max();
  auto opened = state::KvDeliveryStateStore::open(deps_.kv, *time_, options);
  if (!opened) return fail(opened);
  // A commit under way may outlive this: it keeps the store, and the store its clock.
  store_ = std::shared_ptr<state::KvDeliveryStateStore>(
      opened->release(), [time = time_](const state::KvDeliveryStateStore* store) {
        static_cast<void>(time);
        delete store;
      });
  return {};
}

Result<void> StoredDeliveries::restore(delivery::Dispatcher& dispatcher, Epoch epoch) {
  std::map<PartitionNumber, std::vector<delivery::StoredRows>> by_partition;
  for (const auto& key : store_->keys()) {
    const auto& [progress, partition] = key;
    delivery::StoredRows rows;
    rows.key = {progress, partition};
    auto stored = store_->progress(progress, partition);
    if (!stored) return fail(stored);
    rows.generation = (*stored)->generation;
    store_->frontier_bytes(key, rows.frontier);
    auto deliveries = store_->deliveries(key);
    if (!deliveries) return fail(deliveries);
    rows.deliveries = std::move(*deliveries);
    auto notes = store_->notes(key);
    if (!notes) return fail(notes);
    rows.notes = std::move(*notes);
    by_partition[partition].push_back(std::move(rows));
  }
  // A partition's rows are freed once it is restored: the dispatcher holds the same by then.
  while (!by_partition.empty()) {
    const auto part = by_partition.extract(by_partition.begin());
    const auto section = delivery::section_of_rows(epoch, store_->now(), part.mapped());
    if (!section) return fail(section);
    if (auto done = dispatcher.restore(part.key(), as_bytes(*section)); !done) return done;
  }
  return {};
}

Result<void> StoredDeliveries::start(const delivery::Dispatcher& dispatcher, bool clean,
                                     Lsn journal) {
  follow(dispatcher);
  if (auto done = take(dispatcher); !done) return done;
  if (!clean) store_->count_unclean_start();
  store_->set_journal(journal);
  gate_ = journal_synced_ = journal;
  auto done = store_->commit(true);
  if (done) written_ = synced_ = applied_;
  return done;
}

// From here on the store's time is the dispatcher's, which also knows what checkpoints say.
void StoredDeliveries::follow(const delivery::Dispatcher& dispatcher) {
  time_->set(dispatcher.time(now()));
  store_->go_on_at(time_->mono());
}

Result<void> StoredDeliveries::take_over(const delivery::Dispatcher& dispatcher, Lsn journal) {
  follow(dispatcher);
  dispatcher.capture_all(now(), changes_);
  for (const state::DeliveryChange& change : changes_) {
    if (auto done = store_->apply(change); !done) return done;
  }
  changes_.clear();
  store_->set_journal(journal);
  gate_ = journal_synced_ = journal;
  return store_->commit(true);
}

// --- work

void StoredDeliveries::record(state::RecordType type, PartitionNumber partition, ByteView body) {
  ACKLINE_CHECK(touched_.add(type, partition, body).has_value());
}

Result<void> StoredDeliveries::take(const delivery::Dispatcher& dispatcher) {
  time_->set(dispatcher.time(now()));
  if (touched_.empty()) return {};
  changes_.clear();
  dispatcher.capture(touched_, now(), changes_);
  for (const state::DeliveryChange& change : changes_) {
    // Taking one twice does no harm: rows say what is, not what was done.
    if (auto done = store_->apply(change); !done) return done;
  }
  for (const auto& [key, rows] : touched_.all()) {
    if (dispatcher.has_progress(key)) continue;
    if (auto done = store_->forget(key.progress, key.partition); !done) return done;
  }
  if (touched_.alive()) store_->mark_alive();
  touched_.clear();
  if (applied_ == written_) dirty_since_ = now();
  ++applied_;
  return {};
}

Result<void> StoredDeliveries::apply(const delivery::Dispatcher& dispatcher,
                                     std::optional<Lsn> journaled) {
  if (auto done = take(dispatcher); !done) return done;
  if (journaled) {
    gate_ = *journaled;
    store_->set_journal(*journaled);
  }
  if (options_.cache_entries == 0 || full()) want_written_ = true;
  proceed();
  return {};
}

void StoredDeliveries::forget_gone(const delivery::Dispatcher& dispatcher) {
  bool any = false;
  for (const auto& [progress, partition] : store_->keys()) {
    if (dispatcher.has_progress({progress, partition})) continue;
    any = store_->forget(progress, partition).has_value() || any;
  }
  if (!any) return;
  if (applied_ == written_) dirty_since_ = now();
  ++applied_;
  proceed();
}

bool StoredDeliveries::full() const {
  return options_.cache_entries != 0 && store_->cached() >= options_.cache_entries;
}

void StoredDeliveries::want_written() {
  if (written_ == applied_) return;
  want_written_ = true;
  trouble_.reset();
  proceed();
}

void StoredDeliveries::want_synced() {
  if (synced_ == applied_) return;
  want_synced_ = true;
  trouble_.reset();
  proceed();
}

void StoredDeliveries::proceed(Lsn synced) {
  journal_synced_ = std::max(journal_synced_, synced);
  proceed();
}

// What was written waits no longer for its sync, whether or not somebody asks (invariant 13).
bool StoredDeliveries::sync_is_due() const {
  return written_ > synced_ && now() >= unsynced_since_.plus(options_.sync_interval_ms);
}

// Starts a commit if somebody wants one and nothing is in its way. Where commits follow each other
// without a break the timer has no turn: the one that starts once the sync is due is that sync. And
// a commit waits for the journal as it was when its rows were gathered: with a dead letter in each
// turn it would else wait for ever.
void StoredDeliveries::proceed() {
  if (running_ || trouble_ || poison_) return;
  if (!gathered_) {
    want_synced_ = want_synced_ || sync_is_due();
    const bool wanted =
        (want_written_ && written_ < applied_) || (want_synced_ && synced_ < applied_);
    if (!wanted) {
      want_written_ = want_synced_ = false;
      arm();
      return;
    }
    const bool sync = std::exchange(want_synced_, false);
    want_written_ = false;
    gathered_ = Gathered{store_->begin_commit(), applied_, gate_, sync};
  }
  if (gathered_->gate > journal_synced_) {
    if (listener_.sync_journal) listener_.sync_journal();
    return;
  }
  commit_gathered();
}

void StoredDeliveries::commit_gathered() {
  if (timer_ != 0) deps_.executor.cancel(std::exchange(timer_, 0));
  running_ = true;
  const Mark target = gathered_->target;
  const bool sync = gathered_->sync || sync_is_due();
  auto outcome = std::make_shared<Result<void>>();
  auto writes = std::make_shared<state::KvDeliveryStateStore::Writes>(std::move(gathered_->writes));
  gathered_.reset();
  deps_.storage.run(
      storage_lane::delivery_rows(options_.shard),
      [store = store_, writes, sync, outcome] {
        io::failpoint(io::Failpoint::kRowsCommitBefore);
        *outcome = store->end_commit(std::move(*writes), sync);
        io::failpoint(io::Failpoint::kRowsCommitAfter);
      },
      deps_.executor,
      [this, alive = alive_, target, sync, outcome] {
        if (*alive) end(target, sync, *outcome);
      });
}

void StoredDeliveries::end(Mark target, bool sync, const Result<void>& outcome) {
  running_ = false;
  if (!outcome) {
    const ErrorCode code = outcome.error().code;
    const bool for_good = code == ErrorCode::kAmbiguous || code == ErrorCode::kPoisoned ||
                          code == ErrorCode::kCorrupt;
    (for_good ? poison_ : trouble_) = outcome.error();
    if (listener_.on_failed) listener_.on_failed(outcome.error());
    return;
  }
  if (written_ == synced_ && !sync) unsynced_since_ = now();
  written_ = target;
  if (sync) synced_ = target;
  if (applied_ > written_) dirty_since_ = now();
  if (listener_.on_progress) listener_.on_progress();
  proceed();
}

// For what nobody waits for.
void StoredDeliveries::arm() {
  std::optional<MonoMs> next;
  if (applied_ > written_) next = dirty_since_.plus(options_.flush_ms);
  if (written_ > synced_) {
    const MonoMs at = unsynced_since_.plus(options_.sync_interval_ms);
    next = next ? std::min(*next, at) : at;
  }
  if (!next || (timer_ != 0 && timer_at_ <= next)) return;
  if (timer_ != 0) deps_.executor.cancel(timer_);
  timer_at_ = next;
  timer_ = deps_.executor.schedule(*next, [this] { fire(); });
}

void StoredDeliveries::fire() {
  timer_ = 0;
  want_written_ = want_written_ || applied_ > written_;
  proceed();
}

}  // namespace ackline::runtime

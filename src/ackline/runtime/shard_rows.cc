// A shard whose deliveries are rows of a store (`delivery.store: rocksdb`), and the change from one
// place to the other.
//
// Publishes, log starts and the settles of dead letters stay in the journal (J7); a settle of that
// kind is in both, and the rows say through where they contain the journal.
#include "ackline/base/logging.h"
#include "ackline/io/failpoint.h"
#include "ackline/runtime/shard.h"
#include "ackline/runtime/shard_checkpoint.h"
#include "ackline/runtime/waiting_settle.h"

namespace ackline::runtime {

// --- boot

std::unique_ptr<StoredDeliveries> Shard::make_rows(std::uint32_t shards, ShardIndex shard) {
  StoredDeliveriesOptions options;
  options.shards = shards;
  options.shard = shard;
  options.cache_entries = options_.delivery_cache_entries;
  options.flush_ms = options_.delivery_flush_ms;
  options.sync_interval_ms = options_.sync_interval_ms;
  return std::make_unique<StoredDeliveries>(
      options, StoredDeliveries::Dependencies{deps_.executor, deps_.storage, *deps_.deliveries});
}

// Times and starts in rows are those of the shard that wrote them: the partitions of each old shard
// are read as its own. From here on they are in this shard's memory and checkpoint; rows are made
// anew once the layout has changed.
Result<void> Shard::restore_rows_of(std::uint32_t old_shards) {
  std::map<ShardIndex, std::vector<PartitionNumber>> by_writer;
  for (const auto& [number, partition] : partitions_) {
    by_writer[shard_of_partition(partition.topic->name, partition.index, old_shards)].push_back(
        number);
  }
  for (auto& [writer, partitions] : by_writer) {
    const auto rows = make_rows(old_shards, writer);
    if (auto done = rows->open(std::move(partitions)); !done) return done;
    if (auto done = rows->restore(*dispatcher_, options_.epoch); !done) return done;
  }
  return {};
}

Result<void> Shard::open_rows() {
  rows_ = make_rows(options_.shards, options_.index);
  std::vector<PartitionNumber> owned;
  owned.reserve(partitions_.size());
  for (const auto& [number, partition] : partitions_) owned.push_back(number);
  return rows_->open(std::move(owned));
}

void Shard::begin_rows(Lsn contained) {
  rows_contained_ = contained;
}

Result<void> Shard::start_rows(bool clean) {
  if (!options_.delivery_rows) {
    if (!rows_) return {};
    // From here on they are in checkpoints and the journal.
    if (!partitions_.empty()) {
      if (auto done = checkpoint_through(journal_->written(), journal_->synced()); !done) {
        return done;
      }
    }
    rows_.reset();
    return {};
  }
  if (!rows_) {
    if (auto done = open_rows(); !done) return done;
    if (auto done = rows_->take_over(*dispatcher_, journal_->written()); !done) return done;
    io::failpoint(io::Failpoint::kRowsTakenOver);
  }
  if (auto done = rows_->start(*dispatcher_, clean, journal_->written()); !done) return done;
  io::failpoint(io::Failpoint::kRowsStarted);
  rows_->listen({.on_progress =
                     [this] {
                       if (rows_failed_) schedule_turn();
                       rows_failed_ = false;
                       release_rows();
                       release_reached();
                       if (checkpoint_ != nullptr) publish_checkpoint();
                       if (stopping_ && checkpoint_ == nullptr && !checkpoint_wanted_) {
                         finish_stop();
                       } else if (!rows_->full()) {
                         schedule_turn();
                       }
                     },
                 .on_failed = [this](const Error& why) { on_rows_failed(why); },
                 .sync_journal = [this] { journal_->want_sync(); }});
  return {};
}

void Shard::forgot(delivery::ProgressKey key, const delivery::DeadLetterKey& dead) {
  if (rows_) rows_->forget(key, dead);
}

// --- the turn

// Where everything that was done so far will be.
Shard::Mark Shard::here() const {
  return {journal_->written(), rows_ ? rows_->applied() : 0};
}

bool Shard::reached(const Mark& mark) const {
  return mark.lsn <= journal_->synced() && (!rows_ || mark.rows <= rows_->synced());
}

void Shard::want_synced() {
  journal_->want_sync();
  if (rows_) rows_->want_synced();
}

const Error* Shard::poison() const {
  if (journal_->poison() != nullptr) return journal_->poison();
  return rows_ ? rows_->poison() : nullptr;
}

std::vector<Shard::Release>& Shard::settled_releases() {
  if (options_.ack_sync) return turn_after_sync_;
  return rows_ ? turn_after_write_ : written_;
}

// After the journal's commit of the same turn. False: as if that had failed.
bool Shard::commit_rows(Lsn journaled) {
  const auto taken = rows_->apply(*dispatcher_, buried_ ? std::optional(journaled) : std::nullopt);
  if (!taken) {
    hold_writes(taken.error());
    return false;
  }
  buried_ = false;
  if (!rows_failed_) return true;
  // Tried again with each turn until it works; `on_progress` tells.
  hold_writes(rows_->trouble() != nullptr ? *rows_->trouble() : *write_error_);
  rows_->want_written();
  return false;
}

// At the end of a turn, with its changes applied: what waits for the write of rows.
void Shard::queue_for_rows() {
  const StoredDeliveries::Mark mark = rows_->applied();
  for (auto& release : turn_after_write_)
    after_write_.push_back({{Lsn{0}, mark}, std::move(release)});
  turn_after_write_.clear();
  if (rows_->holds_offers() && !written_offers_.empty()) {
    for (auto& offer : written_offers_) {
      synced_offers_.push_back({{Lsn{0}, mark}, now(), std::move(offer), true});
    }
    written_offers_.clear();
  }
  release_rows();
}

void Shard::release_rows() {
  while (!after_write_.empty() && after_write_.front().mark.rows <= rows_->written()) {
    Release release = std::move(after_write_.front().release);
    after_write_.pop_front();
    release(nullptr);
    io::failpoint(io::Failpoint::kWrittenReleased);
  }
  if (!after_write_.empty()) rows_->want_written();
}

// What waited for a sync that is there now.
void Shard::release_reached() {
  const auto ready = [this](const SyncOffer& one) {
    return one.written ? one.mark.rows <= rows_->written() : reached(one.mark);
  };
  std::vector<delivery::Offer> offers;
  stand_still_or_go_on();  // a stall that nobody has seen yet
  while (!synced_offers_.empty() && ready(synced_offers_.front())) {
    offers.push_back(std::move(synced_offers_.front().offer));
    synced_offers_.pop_front();
  }
  stand_still_or_go_on();
  // What they waited is off their leases, unless the clock stood still for it. One that was dropped
  // meanwhile (a reset) does not leave any more, and its client has room for another.
  std::erase_if(offers, [this](delivery::Offer& offer) {
    offer.lease_ms = dispatcher_->leave(offer.id, offer.resent, now());
    if (offer.lease_ms > 0) return false;
    dispatcher_->give_back_demand(offer.client);
    return true;
  });
  if (!offers.empty()) deps_.router.offers(std::move(offers));
  while (!after_sync_.empty() && reached(after_sync_.front().mark)) {
    Release release = std::move(after_sync_.front().release);
    after_sync_.pop_front();
    release(nullptr);
    io::failpoint(io::Failpoint::kSyncedReleased);
  }
}

void Shard::on_rows_failed(const Error& why) {
  if (rows_->poison() != nullptr) {
    log_error("a write of the delivery store failed; this shard takes nothing more until a restart",
              {{"shard", options_.index}, {"error", why.detail}});
    give_up(*rows_->poison());
    return;
  }
  rows_failed_ = true;
  std::deque<AfterSync> waiting = std::move(after_write_);
  after_write_.clear();
  while (!after_sync_.empty()) {
    waiting.push_back(std::move(after_sync_.front()));
    after_sync_.pop_front();
  }
  hold_writes(why);
  for (AfterSync& one : waiting) one.release(&why);
  arm();
}

}  // namespace ackline::runtime

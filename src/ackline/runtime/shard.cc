#include "ackline/runtime/shard.h"

#include <algorithm>

#include "ackline/base/check.h"
#include "ackline/base/logging.h"
#include "ackline/base/metric_names.h"
#include "ackline/base/plants.h"
#include "ackline/base/storage_lanes.h"
#include "ackline/io/failpoint.h"
#include "ackline/runtime/shard_checkpoint.h"
#include "ackline/runtime/shard_metrics.h"
#include "ackline/runtime/waiting_settle.h"

namespace ackline::runtime {
namespace {

constexpr std::uint32_t kPumpBudget = 2048;  // events offered in one turn
constexpr std::int64_t kExportMs = 1000;     // how far the OffsetStore may be behind
constexpr std::int64_t kRetryMs = 100;       // a batch that could not be written
constexpr std::int64_t kSyncStallMs = 250;
// A look that comes later than this means that we stood still.
constexpr std::int64_t kLateMs = 50;
constexpr std::int64_t kLongStallMs = 1000;  // worth a line in the log

}  // namespace

Shard::Shard(ShardOptions options, ShardDependencies dependencies)
    : options_(std::move(options)), deps_(dependencies) {
  options_.dispatcher.epoch = options_.epoch;
  dispatcher_ = std::make_unique<delivery::Dispatcher>(options_.dispatcher, *this,
                                                       Random(options_.random_seed));
  publish_seconds_ = deps_.metrics.histogram(metric::kPublishDuration);
  // Shown at 0 from the start: alerts hang on it.
  static_cast<void>(deps_.metrics.counter(metric::kOffsetWriteFailures));
  fsync_seconds_ = deps_.metrics.histogram(metric::kLogFsyncDuration);
  sync_storage_ = std::make_unique<TimedStorage>(
      deps_.storage, storage_lane::journal_sync(options_.index), fsync_seconds_);
}

Shard::~Shard() = default;

log::PartitionLog* Shard::partition(PartitionNumber number) {
  const auto found = partitions_.find(number);
  return found == partitions_.end() ? nullptr : found->second.log.get();
}

bool Shard::owns(PartitionNumber partition) const {
  return partitions_.contains(partition);
}

// --- the dispatcher's port

void Shard::journal(state::RecordType type, PartitionNumber partition, ByteView body) {
  const bool mark = type == state::RecordType::kAlive;
  only_marks_ = mark && !rows_ && (only_marks_ || journal_->open_is_empty());
  unexported_ = unexported_ || !mark;
  // The log's own records are no deliveries: they are in the journal whatever keeps those.
  if (rows_ && type != state::RecordType::kLogStart) {
    rows_->record(type, partition, body);
    if (!burying_) return;
    buried_ = true;
  }
  journal_->append(static_cast<std::uint8_t>(type), partition, body);
}

void Shard::deliver(delivery::Offer offer) {
  if (offer.after_sync) {
    turn_sync_offers_.push_back(std::move(offer));
  } else {
    written_offers_.push_back(std::move(offer));
  }
}

void Shard::dead_letter(delivery::DeadLetterRequest request) {
  dead_letters_.push_back(std::move(request));
  schedule_turn();
}

void Shard::count(delivery::ProgressKey key, delivery::DeliveryEvent what, std::uint64_t events) {
  const auto found = group_metrics_.find(key.progress);  // of a lane it is the group's
  if (found != group_metrics_.end()) found->second->count(what, events);
}

void Shard::lane_part_done(ProgressNumber lane, PartitionNumber /*partition*/) {
  deps_.router.lane_part_done(lane, options_.index);
}

// --- the turn

void Shard::schedule_turn() {
  if (turn_scheduled_ || !started_) return;
  turn_scheduled_ = true;
  deps_.executor.post([this] { turn(); });
}

void Shard::turn() {
  turn_scheduled_ = false;
  if (stopping_ && checkpoint_ == nullptr && stopped_ == nullptr) return;
  note_stall();
  stand_still_or_go_on();
  const MonoMs at = now();
  bool more = false;
  if (!write_error_) {
    const auto due = still_ ? std::nullopt : dispatcher_->next_due();
    if (due && *due <= at) dispatcher_->tick(at);
    if (!rows_ || !rows_->full()) more = dispatcher_->pump(at, wall(), kPumpBudget);
    write_dead_letters();
  }
  if (commit_deliveries()) {
    commit_publishes();
    if (checkpoint_wanted_) capture_checkpoint();
    release_written();
  } else {
    for (Task& done : std::exchange(turn_offered_, {})) done();
  }
  if (more) schedule_turn();
  arm();
  const std::scoped_lock lock(health_mutex_);
  health_view_ = health();
}

// A timer that fires late means that the process stood still (SIGSTOP, a stalled disk under the
// loop): no lease pays for it.
void Shard::note_stall() {
  const MonoMs at = now();
  const std::int64_t late_ms = expected_at_ ? at.value() - expected_at_->value() : 0;
  if (late_ms > kLateMs && !still_) {
    if (late_ms > kLongStallMs) {
      log_warn("the server stood still; leases and waits are extended",
               {{"shard", options_.index}, {"gapMs", late_ms}});
    }
    dispatcher_->stand_still(*expected_at_);
    dispatcher_->go_on(at);
  }
  expected_at_.reset();
}

// While a batch cannot be written, or a sync does not end, no time goes by for leases.
void Shard::stand_still_or_go_on() {
  const bool stalled = sync_stalled();
  const bool still = write_error_.has_value() || stalled;
  if (still == still_) return;
  still_ = still;
  if (!still) {
    dispatcher_->go_on(now());
    schedule_turn();
    return;
  }
  const MonoMs waited_since = stalled ? synced_offers_.front().at : now();
  dispatcher_->stand_still(write_error_ ? std::min(write_error_since_, waited_since)
                                        : waited_since);
}

// A sync that takes this long stops the clock of leases: an offer that waits for it would end
// before its client has it (invariant 14).
bool Shard::sync_stalled() const {
  return !synced_offers_.empty() &&
         now().value() - synced_offers_.front().at.value() > kSyncStallMs;
}

bool Shard::commit_deliveries() {
  if (const Error* why = poison()) {
    fail_waiting(*why);
    return false;
  }
  if (!journal_->open_is_empty()) io::failpoint(io::Failpoint::kDeliveriesBefore);
  const auto lsn = only_marks_ ? journal_->commit_unowed() : journal_->commit();
  if (!lsn) {
    hold_writes(lsn.error());
    return false;
  }
  io::failpoint(io::Failpoint::kDeliveriesWritten);
  if (rows_ && !commit_rows(*lsn)) return false;
  if (write_error_) {
    log_info("deliveries and publishes are written again", {{"shard", options_.index}});
    write_error_.reset();
    stand_still_or_go_on();
    due_.retry.reset();
    dispatcher_->set_paused(draining_);
    schedule_turn();
  }
  return true;
}

// Nothing new is offered until it can be written; then it is tried again.
void Shard::hold_writes(const Error& why) {
  if (!write_error_) {
    write_error_since_ = now();
    dispatcher_->set_paused(true);
    log_error(rows_failed_ ? "the delivery store could not be written; it is tried again"
                           : "the journal could not be written; it is tried again",
              {{"shard", options_.index}, {"error", why.detail}});
  }
  write_error_ = why;
  stand_still_or_go_on();
  due_.retry = now().plus(kRetryMs);
  fail_waiting(why);
}

// Who waits for a write that failed is told; what was done in memory stays in the open batch and
// is written later.
void Shard::fail_waiting(const Error& why) {
  std::vector<Release> releases = std::move(written_);
  written_.clear();
  for (auto* more : {&turn_after_sync_, &turn_published_, &turn_after_write_}) {
    for (auto& release : *more) releases.push_back(std::move(release));
    more->clear();
  }
  for (auto& release : releases) release(&why);
  std::vector<QueuedPublish> publishes = std::move(publishes_);
  publishes_.clear();
  for (auto& publish : publishes) publish.done(std::unexpected(why));
  // Their dead letters go on when the journal does.
  for (auto& [key, settles] : std::exchange(waiting_settles_, {})) {
    for (WaitingSettle& one : settles) one.done(std::unexpected(why));
  }
}

void Shard::commit_publishes() {
  std::vector<QueuedPublish> taken = std::move(publishes_);
  publishes_.clear();
  if (taken.empty()) return;
  std::vector<Appended> appended;
  std::vector<std::pair<PublishDone, Offset>> done;
  append_queued(taken, appended, done);
  if (done.empty()) return;
  const auto lsn = journal_->commit();
  if (!lsn) {
    // Taken back whole: nobody saw these offsets, they are given again. A batch that reached the
    // disk whole although its write failed would come back at a restart: it is overruled first,
    // or its publishers are told that nothing is known. (Where there is no room it is cut short.)
    const bool gone = journal_->discard_open() || lsn.error().code == ErrorCode::kFull;
    const Error why =
        gone ? lsn.error()
             : Error{ErrorCode::kAmbiguous,
                     lsn.error().detail,
                     "Publish again under the same id: it may be there after a restart.",
                     {}};
    for (const Appended& one : appended) {
      Partition& partition = partitions_.at(one.partition);
      partition.log->rollback(partition.committed_end);
      partition.in_turn = false;
    }
    for (auto& [answer, offset] : done) answer(std::unexpected(why));
    return;
  }
  io::failpoint(io::Failpoint::kPublishesWritten);
  for (const Appended& one : appended) turn_appended_.push_back(one);
  const std::int64_t begun_us = stopwatch_us();
  for (auto& [answer, offset] : done) {
    auto release = [this, begun_us, at = offset,
                    reply = std::move(answer)](const Error* error) mutable {
      publish_seconds_->observe(seconds_since(begun_us));
      if (error != nullptr) {
        reply(std::unexpected(*error));
      } else {
        reply(at);
      }
    };
    if (options_.sync_commit) {
      turn_published_.push_back(std::move(release));
    } else {
      written_.push_back(std::move(release));
    }
  }
}

void Shard::release_written() {
  const Lsn lsn = journal_->written();
  if (!turn_appended_.empty()) {
    for (const Appended& one : turn_appended_) {
      const auto found = partitions_.find(one.partition);
      if (found == partitions_.end()) continue;  // deleted while its batch waited to be written
      found->second.in_turn = false;
      found->second.committed_end = std::max(found->second.committed_end, one.end);
      if (plant(Plant::kOffsetReused)) {
        found->second.log->on_synced(one.end);
        dispatcher_->on_available(one.partition, one.end);
      }
      if (!found->second.log->needs_flush()) continue;
      // Write-behind: a tail that cannot be written stays in memory and is tried with the next
      // batch.
      if (auto done = found->second.log->flush_tail(); !done && !full_) {
        log_warn("a partition's tail could not be written; it stays in memory",
                 {{"partition", one.partition}, {"error", done.error().detail}});
      }
    }
    unsynced_.push_back({lsn, std::move(turn_appended_)});
    turn_appended_.clear();
    if (options_.sync_commit) journal_->want_sync();
  }
  const Mark mark = here();
  if (!turn_sync_offers_.empty() || !turn_after_sync_.empty()) want_synced();
  if (!turn_published_.empty()) journal_->want_sync();
  for (auto& offer : turn_sync_offers_) synced_offers_.push_back({mark, now(), std::move(offer)});
  turn_sync_offers_.clear();
  for (auto& release : turn_after_sync_) after_sync_.push_back({mark, std::move(release)});
  turn_after_sync_.clear();
  for (auto& release : turn_published_) published_after_sync_.push_back({mark, std::move(release)});
  turn_published_.clear();
  if (rows_) queue_for_rows();
  if (!written_offers_.empty()) {
    std::vector<delivery::Offer> offers = std::move(written_offers_);
    written_offers_.clear();
    deps_.router.offers(std::move(offers));
    io::failpoint(io::Failpoint::kOffersReleased);
  }
  for (Task& done : std::exchange(turn_offered_, {})) {
    if (synced_offers_.empty()) {
      done();
    } else {
      after_sync_.push_back({mark, [done = std::move(done)](const Error*) mutable { done(); }});
    }
  }
  std::vector<Release> releases = std::move(written_);
  written_.clear();
  for (auto& release : releases) release(nullptr);
  if (!releases.empty()) io::failpoint(io::Failpoint::kWrittenReleased);
  // Everything may be on disk already (an empty batch): nothing would call on_synced then.
  if (journal_->synced() >= lsn) on_synced(journal_->synced());
  if (!due_.exports) due_.exports = now().plus(kExportMs);
  if (!due_.checkpoint) due_.checkpoint = now().plus(options_.checkpoint_interval_ms);
  const std::uint64_t most = std::max(options_.checkpoint_bytes, 4 * last_checkpoint_bytes_);
  // One at a time: while one is under way the journal cannot get shorter.
  const bool checkpointing =
      checkpoint_ != nullptr || checkpoint_wanted_ || now() < checkpoint_not_before_;
  if (!checkpointing && journal_->journaled_bytes() >= journaled_floor_ + most) {
    due_.checkpoint = now();
  }
}

void Shard::on_synced(Lsn synced) {
  bool readable = false;
  while (!unsynced_.empty() && unsynced_.front().lsn <= synced) {
    for (const Appended& one : unsynced_.front().appended) {
      const auto found = partitions_.find(one.partition);
      if (found == partitions_.end()) continue;
      found->second.log->on_synced(one.end);
      dispatcher_->on_available(one.partition, one.end);
      readable = true;
    }
    unsynced_.pop_front();
  }
  io::failpoint(io::Failpoint::kSyncedReadable);
  while (!published_after_sync_.empty() && published_after_sync_.front().mark.lsn <= synced) {
    Release release = std::move(published_after_sync_.front().release);
    published_after_sync_.pop_front();
    release(nullptr);
    io::failpoint(io::Failpoint::kSyncedReleased);
  }
  if (rows_) rows_->proceed(synced);
  release_reached();
  if (checkpoint_ != nullptr) publish_checkpoint();
  if (readable) schedule_turn();
}

void Shard::on_poisoned(const Error& why) {
  log_error("a sync of the journal failed; this shard takes nothing more until a restart",
            {{"shard", options_.index}, {"error", why.detail}});
  give_up(why);
}

void Shard::give_up(const Error& why) {
  dispatcher_->set_paused(true);
  for (auto* waiting : {&after_write_, &published_after_sync_, &after_sync_}) {
    while (!waiting->empty()) {
      Release release = std::move(waiting->front().release);
      waiting->pop_front();
      release(&why);
    }
  }
  fail_waiting(why);
}

void Shard::when_offered(Task done) {
  turn_offered_.push_back(std::move(done));
  schedule_turn();
}

void Shard::after_sync(std::move_only_function<void(const Error*)> done) {
  turn_after_sync_.push_back(std::move(done));
  schedule_turn();
}

}  // namespace ackline::runtime

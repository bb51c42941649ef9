#include "ackline/io/journal/journal.h"

#include <deque>
#include <optional>

#include "ackline/base/check.h"
#include "ackline/base/plants.h"
#include "ackline/base/storage_lanes.h"
#include "ackline/io/failpoint.h"
#include "ackline/io/journal/batch_builder.h"
#include "ackline/io/journal/journal_files.h"

namespace ackline::io {

using journal::BatchBuilder;
using journal::JournalFiles;

struct Journal::Impl : std::enable_shared_from_this<Journal::Impl> {
  explicit Impl(JournalOptions given)
      : options(std::move(given)), files(std::make_shared<JournalFiles>(options, stats)) {}

  [[nodiscard]] Result<void> start(const JournalRecovery& recovered, const JournalRecord& boot);
  [[nodiscard]] Result<Lsn> commit(bool arm);
  void arm_timer();
  void start_sync();
  void end_sync(Lsn target, const Result<void>& outcome);
  void poison(const Error& cause);
  void close();

  const JournalOptions options;
  JournalStats stats;
  std::shared_ptr<JournalFiles> files;
  BatchBuilder open;
  std::uint64_t journal_id = 0;
  std::uint64_t last_checksum = 0;
  Lsn written;
  Lsn synced;
  Lsn covered;  // through here the last round that began syncs
  // The last batch that is owed a sync within the interval, and since when.
  Lsn owed;
  MonoMs owed_since;
  bool syncing = false;
  bool wanted = false;  // another sync at once when the running one ends
  bool closed = false;
  Executor::TimerId timer = 0;
  std::optional<Error> poisoned;
  // Deques: a listener may add another while it runs.
  std::deque<std::function<void(Lsn)>> synced_listeners;
  std::deque<std::function<void(const Error&)>> poisoned_listeners;
};

Result<void> Journal::Impl::start(const JournalRecovery& recovered, const JournalRecord& boot) {
  journal_id = recovered.journal_id != 0 ? recovered.journal_id : options.new_journal_id;
  ACKLINE_CHECK(journal_id != 0);
  std::string batches;
  last_checksum = recovered.synced_checksum;
  Lsn lsn = recovered.synced;
  const auto add = [&] {
    ++lsn;
    const auto sealed = open.seal(journal_id, lsn, recovered.synced, last_checksum);
    batches.append(as_text(sealed.bytes));
    last_checksum = sealed.checksum;
    open.clear();
  };
  for (const KeptBatch& kept : recovered.kept) {
    ACKLINE_CHECK(kept.lsn == lsn.next());
    open.add_body(as_bytes(kept.body), kept.partitions);
    add();
  }
  ACKLINE_CHECK(lsn == recovered.last);
  open.add(boot.type, boot.partition, boot.body);
  add();
  auto done = files->start(recovered, journal_id, recovered.synced.next(), lsn, as_bytes(batches));
  if (!done) return done;
  written = synced = covered = owed = lsn;
  return {};
}

Result<Lsn> Journal::Impl::commit(bool arm) {
  if (poisoned) return std::unexpected(*poisoned);
  if (open.empty()) return written;
  const Lsn lsn = written.next();
  const auto sealed = open.seal(journal_id, lsn, synced, last_checksum);
  if (auto done = files->write(lsn, sealed.bytes); !done) {
    ++stats.write_failures;
    return fail(done);
  }
  ++stats.batches;
  stats.records += open.records();
  stats.bytes += sealed.bytes.size();
  last_checksum = sealed.checksum;
  written = lsn;
  open.clear();
  if (!arm) return lsn;
  if (owed <= covered) owed_since = options.executor.clock().mono();
  owed = lsn;
  arm_timer();
  return lsn;
}

void Journal::Impl::arm_timer() {
  if (syncing || timer != 0 || closed) return;
  timer = options.executor.schedule(MonoMs(owed_since.value() + options.sync_interval_ms),
                                    [self = shared_from_this()] {
                                      if (self->closed) return;
                                      self->timer = 0;
                                      if (!self->syncing && !self->poisoned) self->start_sync();
                                    });
}

void Journal::Impl::start_sync() {
  if (timer != 0) options.executor.cancel(std::exchange(timer, 0));
  syncing = true;
  wanted = false;
  ++stats.syncs;
  const Lsn target = covered = written;
  struct Round {
    JournalFiles::SyncSet set;
    Result<void> outcome;
  };
  auto round = std::make_shared<Round>();
  round->set = files->begin_sync();
  options.storage.run(
      storage_lane::journal_sync(options.shard),
      [&fs = options.fs, directory = options.directory, round] {
        failpoint(Failpoint::kJournalSyncBefore);
        for (const auto& file : round->set.files) {
          if (round->outcome) round->outcome = file->sync();
        }
        if (round->outcome && round->set.directory) round->outcome = fs.sync_directory(directory);
        failpoint(Failpoint::kJournalSyncAfter);
      },
      options.executor,
      [self = shared_from_this(), round, target] { self->end_sync(target, round->outcome); });
}

void Journal::Impl::end_sync(Lsn target, const Result<void>& outcome) {
  if (closed) return;
  syncing = false;
  if (!outcome && !plant(Plant::kFsyncErrorIgnored)) return poison(outcome.error());
  failpoint(Failpoint::kJournalSyncTold);
  synced = target;
  if (wanted && written > synced) {
    start_sync();
  } else if (owed > synced) {
    arm_timer();
  }
  for (std::size_t i = 0; i < synced_listeners.size() && !closed; ++i) {
    synced_listeners[i](target);
  }
}

void Journal::Impl::poison(const Error& cause) {
  if (timer != 0) options.executor.cancel(std::exchange(timer, 0));
  poisoned = Error{ErrorCode::kPoisoned,
                   "the journal in " + options.directory + " could not be synced: " + cause.detail,
                   "Check the disk, then restart: nothing is known of what it holds until the "
                   "journal is read again.",
                   {}};
  for (std::size_t i = 0; i < poisoned_listeners.size() && !closed; ++i) {
    poisoned_listeners[i](*poisoned);
  }
}

void Journal::Impl::close() {
  closed = true;
  files->close();
  if (timer != 0) options.executor.cancel(std::exchange(timer, 0));
}

Result<std::unique_ptr<Journal>> Journal::open(JournalOptions options,
                                               const JournalRecovery& recovered,
                                               const JournalRecord& boot) {
  auto impl = std::make_shared<Impl>(std::move(options));
  if (auto done = impl->start(recovered, boot); !done) return fail(done);
  return std::unique_ptr<Journal>(new Journal(std::move(impl)));
}

Journal::Journal(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Journal::~Journal() {
  impl_->close();
}

void Journal::append(std::uint8_t type, PartitionNumber partition, ByteView body) {
  impl_->open.add(type, partition, body);
}

Result<Lsn> Journal::commit() {
  return impl_->commit(true);
}

Result<Lsn> Journal::commit_unowed() {
  return impl_->commit(false);
}

bool Journal::discard_open() {
  impl_->open.clear();
  return impl_->files->banish(impl_->written.next());
}

bool Journal::open_is_empty() const {
  return impl_->open.empty();
}

std::size_t Journal::open_bytes() const {
  return impl_->open.body_bytes();
}

void Journal::want_sync() {
  if (impl_->poisoned) return;
  if (impl_->syncing) {
    impl_->wanted = true;
  } else if (impl_->written > impl_->synced) {
    impl_->start_sync();
  }
}

Lsn Journal::written() const {
  return impl_->written;
}

Lsn Journal::synced() const {
  return impl_->synced;
}

std::uint64_t Journal::journaled_bytes() const {
  return impl_->files->live_bytes();
}

const Error* Journal::poison() const {
  return impl_->poisoned ? &*impl_->poisoned : nullptr;
}

void Journal::on_synced(std::function<void(Lsn)> listener) {
  impl_->synced_listeners.push_back(std::move(listener));
}

void Journal::on_poisoned(std::function<void(const Error&)> listener) {
  impl_->poisoned_listeners.push_back(std::move(listener));
}

void Journal::recycle_below(Lsn lowest_needed) {
  ACKLINE_CHECK(lowest_needed <= impl_->synced.next());
  if (impl_->poisoned) return;
  // The next file may not be on disk yet: the one with the last synced batch stays, so that one
  // always has it (RecoverOptions::journal_id).
  impl_->files->recycle_below(lowest_needed, impl_->synced);
}

const JournalStats& Journal::stats() const {
  return impl_->stats;
}

std::uint64_t Journal::journal_id() const {
  return impl_->journal_id;
}

}  // namespace ackline::io

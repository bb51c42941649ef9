// One shard's journal: everything that must survive a crash goes through here, in one chain.
//
// Records gather in an open batch; `commit` writes the batch with one write: from then on kill -9
// cannot undo it. A sync follows when somebody waits for one (`want_sync`), else within
// `sync_interval_ms`; from `on_synced` on a power cut cannot undo it either. One sync covers all
// partitions of the shard: a thousand partitions cost what one costs.
//
// What may be answered when is the caller's business (docs/formats/journal.md, the rules): after
// `commit` the 200 of an ack; after `on_synced` the 202 of a publish, readers, offers of an event
// that was offered before.
//
// Owned by a shard, used on its thread only; syncs and file preparation run on storage threads
// through StorageExecutor. Failure: a failed write leaves the open batch as it was: answer 503 and
// `commit` again later, or `discard_open` it; the file is given up and the next try starts
// a new one. A failed sync poisons the journal for good: nothing is retried, all later calls answer
// kPoisoned, and only a restart (which reads what is really on disk) helps.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ackline/base/executor.h"
#include "ackline/base/result.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/io/journal/record.h"
#include "ackline/io/journal/recovery.h"

namespace ackline::io {

struct JournalOptions {
  FileSystem& fs;
  std::string directory;
  ShardIndex shard;
  Executor& executor;
  StorageExecutor& storage;
  // Name of a new journal, stamped on every batch: any random number but 0. Not used when the
  // directory has one already.
  std::uint64_t new_journal_id = 1;
  std::uint64_t file_bytes = std::uint64_t{64} << 20;
  // Size of the file that a start begins with; it is filled with zeros before the start ends, so it
  // is small.
  std::uint64_t first_file_bytes = std::uint64_t{1} << 20;
  std::int64_t sync_interval_ms = 10;
  std::size_t spare_files_max = 2;  // files kept for reuse; more are removed
};

struct JournalStats {
  std::uint64_t batches = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t write_failures = 0;
  std::uint64_t files_made = 0;
  std::uint64_t files_reused = 0;
  std::uint64_t files_removed = 0;
};

class Journal {
 public:
  // After `recover_journal`: writes what was kept and then `boot` as a batch into a new file and
  // syncs it before it returns. Blocking. Errors: kFull, kUnavailable.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open(JournalOptions options,
                                                             const JournalRecovery& recovered,
                                                             const JournalRecord& boot);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Adds a record to the open batch, in memory. All records between two commits are one batch: they
  // survive together or not at all.
  void append(std::uint8_t type, PartitionNumber partition, ByteView body);
  // Writes the open batch. Returns its lsn (the last written one when it is empty). Errors: kFull,
  // kUnavailable: the batch is still open, nothing is lost. kPoisoned.
  [[nodiscard]] Result<Lsn> commit();
  // The same for records that are not worth a sync of their own (alive marks): none is owed.
  [[nodiscard]] Result<Lsn> commit_unowed();
  // Forgets the records of the open batch, whose write failed. False: the disk takes nothing now,
  // so a restart may find the batch all the same.
  [[nodiscard]] bool discard_open();
  [[nodiscard]] bool open_is_empty() const;
  [[nodiscard]] std::size_t open_bytes() const;

  // Somebody waits for what is written so far: starts a sync, or the next one as soon as the
  // running one ends.
  void want_sync();
  [[nodiscard]] Lsn written() const;
  [[nodiscard]] Lsn synced() const;
  // Bytes in files that a replay would read: what a checkpoint would free.
  [[nodiscard]] std::uint64_t journaled_bytes() const;
  // nullptr while all is well.
  [[nodiscard]] const Error* poison() const;

  // Adds a listener; called on the shard's thread after each sync with the new `synced()`.
  void on_synced(std::function<void(Lsn)> listener);
  // Adds a listener; called once.
  void on_poisoned(std::function<void(const Error&)> listener);

  // A checkpoint holds all below `lowest_needed`: files wholly below are reused or removed.
  // `lowest_needed` <= synced() + 1, and the manifest that says so is durable.
  void recycle_below(Lsn lowest_needed);

  [[nodiscard]] const JournalStats& stats() const;
  [[nodiscard]] std::uint64_t journal_id() const;

 private:
  struct Impl;
  explicit Journal(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with syncs that are under way when the journal goes
};

}  // namespace ackline::io

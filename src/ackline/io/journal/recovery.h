// Reading a shard's journal after whatever happened to it.
//
// Finds every file of the directory, follows the batches in lsn order, tells a torn tail from
// damage, names the partitions that damage hit, and hands the surviving records to a visitor.
// Nothing on disk is changed: `Journal::open` takes the result and starts the new file, a changed
// shard count reads and then calls `remove_journal`, the doctor only reads.
//
// Tail or damage: a batch that cannot be read is damage when its lsn is at or below the highest
// `synced_through` of any batch header that can, else it was never promised and is cut off together
// with all that follows it. The one hole: rot in the final batch, which no later batch has marked
// synced, looks like a torn tail, unless the caller knows better (`synced_at_least`). A file that
// became shorter than its header says, at a place where a batch stood or should begin, is damage as
// well: a file with a synced batch has its whole size on disk, and no crash takes that back.
//
// Blocking; any thread; not under a running Journal. Errors: kUnsupported (a newer format, named),
// kCorrupt (files of another journal or shard), kUnavailable (the disk cannot be read), and what
// the visitor returns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/io/journal/record.h"

namespace ackline::io {

// Batches that are gone although they had been synced. The partitions they named are to be
// quarantined; the others are not touched by it.
struct JournalDamage {
  Lsn first;
  Lsn last;
  bool every_partition = false;  // neither header nor trailer of some batch can be read
  std::vector<PartitionNumber> partitions;
  std::string detail;  // file, position and what is wrong, for the log line
};

// A batch that was written and perhaps synced, but not marked so by a later one. It is written
// again into the new file.
struct KeptBatch {
  Lsn lsn;
  std::vector<PartitionNumber> partitions;
  std::string body;
};

struct JournalFileInfo {
  std::string name;
  std::uint64_t sequence = 0;
  Lsn first;
  Lsn last;  // first - 1 when nothing in it counts
  std::uint64_t used_bytes = 0;
  // Holds damage or cannot be read: set aside under another name, never removed by the journal.
  bool damaged = false;
};

struct JournalRecovery {
  std::uint64_t journal_id = 0;  // 0: no file was found
  Lsn last;                      // the last batch that counts; the next one is last + 1
  Lsn synced;                    // what is known to be on disk
  std::uint64_t last_checksum = 0;
  std::uint64_t synced_checksum = 0;  // of the batch `synced`
  std::vector<JournalDamage> damage;
  std::vector<KeptBatch> kept;
  std::vector<JournalFileInfo> files;  // in the order of their use
  // Prepared and never used, half-made, or wholly replaced: removed once the new file is in place.
  std::vector<std::string> leftovers;
  std::uint64_t batches = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t cut_batches = 0;       // readable batches that came after the torn one
  std::uint64_t repaired_headers = 0;  // header or trailer unreadable, the batch whole all the same
  std::uint64_t next_sequence = 1;
  std::uint64_t next_number = 1;  // of a file's name

  [[nodiscard]] bool is_damaged(PartitionNumber partition) const;
};

struct RecoverOptions {
  ShardIndex shard{0};
  bool any_shard = false;  // whoever's it is
  // From the manifest: the lowest lsn some partition still needs. Older batches are not visited,
  // and missing ones are not damage.
  Lsn lowest_needed{1};
  // Somebody outside knows that the journal was synced through here: the manifest, written after
  // it, or whoever keeps what the last start wrote. So all from `lowest_needed` to here must be
  // found.
  Lsn synced_at_least{0};
  // The journal that the last start went on with or began; 0: not known. The files of another one
  // are damage of every partition. There is a file then that has the batch `synced_at_least` or
  // begins behind it, also when nobody needs that batch: without one, all that came later is lost.
  std::uint64_t journal_id = 0;
};

// Called once, before the first record: the damage is known by then.
using RecoveryBegin = std::function<Result<void>(const JournalRecovery&)>;
// Called for each record in order. Records of damaged partitions are handed over too; skip them by
// `is_damaged`. An error stops the recovery and is returned.
using RecordVisitor = std::function<Result<void>(Lsn, const JournalRecord&)>;

[[nodiscard]] Result<JournalRecovery> recover_journal(FileSystem& fs, const std::string& directory,
                                                      const RecoverOptions& options,
                                                      const RecoveryBegin& begin,
                                                      const RecordVisitor& visit);

// Removes the directory with all its files and makes that durable (J11: after a full checkpoint of
// another shard layout).
[[nodiscard]] Result<void> remove_journal(FileSystem& fs, const std::string& directory);

}  // namespace ackline::io

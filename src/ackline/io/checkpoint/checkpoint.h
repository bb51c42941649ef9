// A shard's checkpoint: the state of its partitions in one file, and the manifest that makes it
// count.
//
// A checkpoint file is a row of sections, one a partition, each with the lsn it was taken at; what
// is in a section is the caller's business. The small file MANIFEST names the checkpoint that
// counts. Order of a checkpoint, which the caller keeps and `publish` checks where it can:
//
//   1. write segment bytes and sync the segments that sections refer to
//   2. CheckpointWriter: begin, add for each partition, finish (writes and syncs the file)
//   3. sync the journal through the highest applied lsn: else a power cut could leave a section
//      that knows more than the journal does
//   4. publish: replaces MANIFEST (rename, directory sync), then removes older checkpoint files
//   5. Journal::recycle_below(info.journal_lowest)
//
// A crash at any step leaves the old manifest with its file, or the new one with its file.
//
// Blocking, one thread at a time: run it on a storage thread. Errors: kFull, kUnavailable;
// kUnsupported for a newer format (named, never guessed); kCorrupt when the manifest cannot be
// read in either of its two copies, or is missing although there are checkpoint files and the
// journal beside them is not whole from its first batch on: the shard must not start, since all it
// has would look new.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/io/fs/file_system.h"

namespace ackline::io {

struct CheckpointInfo {
  std::uint64_t sequence = 0;  // given by CheckpointWriter
  ShardIndex shard;
  std::uint32_t shard_count = 1;
  // Version of what is inside the sections; the caller's.
  std::uint32_t data_version = 1;
  WallMs created;
  // Filled by `finish`: replay starts here.
  Lsn journal_lowest{1};
  // Filled by `finish`: the journal was synced through here before the manifest was written.
  Lsn journal_synced{0};
};

struct CheckpointSection {
  PartitionNumber partition;
  Lsn applied;  // replay skips records of this partition up to here
  std::string body;
};

struct DamagedSection {
  PartitionNumber partition;
  std::string detail;  // file, position and what is wrong
};

struct Checkpoint {
  CheckpointInfo info;
  std::string file;
  std::vector<CheckpointSection> sections;  // in the order of `add`
  std::vector<DamagedSection> damaged;      // quarantine these partitions
  // Some sections could not even be named: quarantine every partition of the shard that is not in
  // `sections`.
  bool unnamed_damage = false;
  // Header, index or one copy of the manifest was unreadable and made good from elsewhere.
  std::uint64_t repaired = 0;
};

class CheckpointWriter {
 public:
  // Starts the file of the next sequence number beside the present one. `info.sequence` is ignored.
  [[nodiscard]] static Result<std::unique_ptr<CheckpointWriter>> begin(FileSystem& fs,
                                                                       std::string directory,
                                                                       CheckpointInfo info);
  // An unfinished file is removed.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Each partition once. PartitionNumber{0} is the shard's own section.
  [[nodiscard]] Result<void> add(PartitionNumber partition, Lsn applied, ByteView body);
  // Writes the index and syncs the file. `applied_all`: what Journal::written() was when the
  // checkpoint began. A partition whose first record is younger may have no section; replay starts
  // behind the lower of this and the lowest applied lsn.
  [[nodiscard]] Result<CheckpointInfo> finish(Lsn applied_all);
  // Makes the file count. `journal_synced` = Journal::synced(): refused with kStale while it is
  // below the highest applied lsn (sync the journal first).
  [[nodiscard]] Result<void> publish(Lsn journal_synced);

  [[nodiscard]] std::uint64_t bytes_written() const;

 private:
  struct Impl;
  explicit CheckpointWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The checkpoint that counts; nullopt when there never was one: a first one that was interrupted is
// none, all is in the journal. kUnsupported when its sections are
// of a data version above `data_version_max`.
[[nodiscard]] Result<std::optional<Checkpoint>> read_checkpoint(
    FileSystem& fs, const std::string& directory, std::uint32_t data_version_max = UINT32_MAX);

}  // namespace ackline::io

// Finds the batches of one journal file, and what is missing between them.
//
// Walks from batch to batch as long as each is where it must be: right behind the one before or at
// the next block. Where none is, looks at every eighth byte of the rest: for a trailer that makes
// the batch whole although its header is lost, for the next whole batch, and for the partitions
// that marks of the lost ones name. Works on the file's bytes in memory; pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ackline/io/journal/format.h"

namespace ackline::io::journal {

struct ScannedBatch {
  Lsn lsn;
  std::uint64_t body_at = 0;
  std::uint32_t body_bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t previous = 0;
};

// Batches [first, last] that are not in the file as they should be. `last` of the final gap is one
// below the scan's limit.
struct ScannedGap {
  Lsn first;
  Lsn last;
  std::uint64_t position = 0;
  // Per lsn, the partitions that its header or trailer names.
  std::map<Lsn, std::vector<PartitionNumber>> named;
};

struct FileScan {
  std::vector<ScannedBatch> batches;
  std::vector<ScannedGap> gaps;
  Lsn synced_through;  // the highest any mark says
  std::uint64_t repaired = 0;
  std::uint64_t used_bytes = kFirstBatch;
  // How far the file must go for the scan to have seen that no batch follows the last one.
  std::uint64_t seen_through = 0;
};

struct ScanRange {
  std::uint64_t journal_id = 0;
  Lsn first;
  Lsn limit;  // batches from here on are another file's
  // Checksum of the batch before `first`; 0: not known.
  std::uint64_t previous = 0;
};

[[nodiscard]] FileScan scan_file(ByteView content, const ScanRange& range);

// Of a file whose header cannot be read: the highest `synced_through` of its marks. Tells whether
// what it held had been promised. `journal_id` 0: any.
[[nodiscard]] Lsn highest_synced_mark(ByteView content, std::uint64_t journal_id);

}  // namespace ackline::io::journal

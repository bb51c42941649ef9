// Reads a partition's files without the running log: for `ackline doctor`, for scrubs and for the
// lag audit's recount.
//
// A reader of its own, written from docs/formats/segment.md: segments and indexes are decoded
// without the log's code, so that the two check each other. Shared are the names and constants of
// format.h and, for what the checkpoint says, `decode_section`. Changes nothing. Blocks; any
// thread. Call `flush_tail` first when the partition is live: what is only in memory and the
// journal is not seen.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/io/fs/file_system.h"

namespace ackline::log {

enum class Severity : std::uint8_t {
  kNote,    // expected after a crash, or harmless
  kDamage,  // events are lost or cannot be trusted
};

// What a repair can do about it.
enum class Mend : std::uint8_t {
  kNothing,     // the next start does it, or nobody can
  kRemoveFile,  // `mend_file` is of no use, or is made again
  kGiveUp,      // the events of this segment
};

struct Problem {
  Severity severity = Severity::kDamage;
  std::string file;
  std::uint64_t position = 0;
  std::string what;    // one sentence
  std::string remedy;  // one sentence
  Mend mend = Mend::kNothing;
  std::string mend_file;  // kRemoveFile
  Offset segment;         // kGiveUp: its base
};

struct SegmentReport {
  std::string file;
  Offset base;
  Offset end;  // exclusive, of the good records
  std::uint64_t data_bytes = 0;
  std::uint64_t file_bytes = 0;
  bool sealed = false;  // has an index file
};

struct PartitionReport {
  std::vector<SegmentReport> segments;
  std::vector<Problem> problems;
  std::int64_t events = 0;
  [[nodiscard]] bool damaged() const;
};

// Every record of every file, and every index against it. `section`: what the newest checkpoint
// holds for the partition; with it a bad byte below the checkpoint's lengths is told from the torn
// end that a crash leaves (and the journal refills). Without it, what follows the last good record
// is a note if it is the end of the newest file, else damage. `log_start`: what the journal says of
// it; files of the section that end below it may be gone, as retention takes them before the next
// checkpoint. Errors: only when the directory cannot be listed; one that is not there is an empty
// partition.
[[nodiscard]] Result<PartitionReport> examine_partition(
    io::FileSystem& fs, const std::string& directory, PartitionNumber number,
    std::optional<std::string_view> section = std::nullopt, Offset log_start = Offset(0));

// Calls `each` for every offset that exists in the files within [from, to], ascending; it returns
// false to stop. Verifies each record on the way. Errors: kCorrupt naming file and position.
[[nodiscard]] Result<void> for_each_offset(io::FileSystem& fs, const std::string& directory,
                                           PartitionNumber number, Offset from, Offset to,
                                           const std::function<bool(Offset)>& each);

}  // namespace ackline::log

// The sparse index of one segment: offset and time to byte position, one entry per 8 KiB.
//
// Grows with the segment that is appended to; written to an .index file when the segment is sealed;
// thinned out into the checkpoint's section. Derived data: an index that cannot be read is rebuilt
// by a scan, never a reason to refuse the segment.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/log/local/chunk.h"

namespace ackline::log {

// Below every append time: "no record before".
inline constexpr WallMs kNoTime{std::numeric_limits<std::int64_t>::min()};

// A segment in numbers; what an index file repeats so that it cannot be taken for another's.
struct SegmentFacts {
  Offset base;
  Offset end;                 // exclusive
  std::uint64_t length = 0;   // bytes that are data, header included
  WallMs max_time = kNoTime;  // no record's append time is above it
  friend bool operator==(const SegmentFacts&, const SegmentFacts&) = default;
};

class SegmentIndex {
 public:
  struct Entry {
    Offset offset;
    std::uint64_t position = 0;
    // Highest append time of the segment's records before this one (kNoTime when there is none).
    WallMs max_before;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // The record of `offset` begins at `position`; all before it had append times <= `max_before`.
  // Kept when it is `step_bytes` beyond the last entry, or the first. Ascending.
  void add(const Entry& entry, std::uint64_t step_bytes);
  // Forgets entries of offsets >= `offset`.
  void cut(Offset offset);
  // The last entry at or before `offset`; nullopt when there is none.
  [[nodiscard]] std::optional<ChunkStart> before(Offset offset) const;
  // The first entry after `offset`.
  [[nodiscard]] std::optional<ChunkStart> after(Offset offset) const;
  // Where to begin the search for the first record with append time >= `time`.
  [[nodiscard]] std::optional<ChunkStart> before_time(WallMs time) const;
  // With entries at least `step_bytes` apart.
  [[nodiscard]] SegmentIndex thinned(std::uint64_t step_bytes) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return entries_.capacity() * sizeof(Entry); }

  // Delta-coded entries, for index files and sections.
  void encode(std::string& out) const;
  // False when the bytes make no ascending index of a segment with these facts.
  [[nodiscard]] bool decode(ByteReader& in, const SegmentFacts& facts);

 private:
  std::vector<Entry> entries_;
};

// The .index file of a sealed segment.
[[nodiscard]] std::string encode_index_file(PartitionNumber number, const SegmentFacts& facts,
                                            const SegmentIndex& index);
// kCorrupt when it is not the index of that segment.
[[nodiscard]] Result<SegmentIndex> decode_index_file(PartitionNumber number,
                                                     const SegmentFacts& facts, ByteView bytes);

}  // namespace ackline::log

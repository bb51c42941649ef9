// The bytes of a journal file. docs/formats/journal.md is the same in words.
//
//   file   := header (block 0) header again (block 1) batch*
//   batch  := mark("AKJH") body pad8 [list] mark("AKJT")
//   body   := record*
//   record := type u8, partition varint, length varint, bytes
//   list   := partition u32 *, pad8, checksum u64      only when a mark has no room for them
//
// Header and trailer mark of a batch say the same, so that one of them can be lost. Pure functions;
// integers are little-endian.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/base/types.h"
#include "ackline/io/journal/record.h"

namespace ackline::io::journal {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint64_t kBlockBytes = 4096;
inline constexpr std::uint64_t kSecondHeader = kBlockBytes;
inline constexpr std::uint64_t kFirstBatch = 2 * kBlockBytes;
inline constexpr std::size_t kFileHeaderBytes = 64;
inline constexpr std::size_t kMarkBytes = 64;  // with no partition in it
inline constexpr std::size_t kInlinePartitionsMax = 64;
inline constexpr std::size_t kMarkBytesMax = kMarkBytes + 4 * kInlinePartitionsMax;
inline constexpr std::size_t kBodyBytesMax = std::size_t{1} << 30;
inline constexpr std::uint32_t kHeaderMagic = 0x484a4b41;   // "AKJH"
inline constexpr std::uint32_t kTrailerMagic = 0x544a4b41;  // "AKJT"

[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

struct FileHeader {
  std::uint32_t version = kVersion;
  ShardIndex shard;
  std::uint64_t journal_id = 0;
  std::uint64_t sequence = 0;  // raised with every file that is taken into use
  Lsn first;                   // lsn of the first batch; files of a lower sequence end before it
  std::uint64_t size = 0;      // bytes of the file when it was taken into use; 0: not said
};

enum class HeaderState : std::uint8_t {
  kGood,
  kBlank,  // zeros: prepared, never used
  kNewer,  // a version that this program does not know
  kBad,
};

[[nodiscard]] std::array<std::byte, kFileHeaderBytes> encode_file_header(const FileHeader& header);
// `bytes`: one copy. Fills `header` when the state is kGood or kNewer.
[[nodiscard]] HeaderState decode_file_header(ByteView bytes, FileHeader& header);

// What header and trailer of a batch say.
struct BatchMark {
  std::uint64_t journal_id = 0;
  Lsn lsn;
  std::uint32_t body_bytes = 0;
  std::uint32_t listed = 0;    // partitions in the list after the body; then `partitions` is empty
  Lsn synced_through;          // all batches up to here were synced when this one was written
  std::uint64_t previous = 0;  // checksum of the batch before; 0: not known
  std::uint64_t body_checksum = 0;
  std::vector<PartitionNumber> partitions;

  [[nodiscard]] std::size_t mark_bytes() const;
  [[nodiscard]] std::size_t list_bytes() const;
  // From the first byte of the header to the last of the trailer.
  [[nodiscard]] std::uint64_t batch_bytes() const;
};

// Writes `mark` to `out` (mark_bytes() long) and returns its checksum. A batch's checksum, as the
// next batch repeats it, is that of its header.
std::uint64_t encode_mark(const BatchMark& mark, std::uint32_t magic, std::byte* out);
// nullopt unless a whole mark with `magic` and a right checksum stands at the start of `bytes`.
// `checksum` is set to that of the batch.
[[nodiscard]] std::optional<BatchMark> decode_mark(ByteView bytes, std::uint32_t magic,
                                                   std::uint64_t& checksum);

void encode_list(std::span<const PartitionNumber> partitions, std::byte* out);
[[nodiscard]] std::optional<std::vector<PartitionNumber>> decode_list(ByteView bytes,
                                                                      std::uint32_t count);

// Reads the record at the start of `body` and moves `body` past it. nullopt when it is malformed.
[[nodiscard]] std::optional<JournalRecord> take_record(ByteView& body);

}  // namespace ackline::io::journal

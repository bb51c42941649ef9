// The bytes of checkpoint files and of MANIFEST. docs/formats/checkpoint.md is the same in words.
//
//   checkpoint := header (64) section* index
//   section    := head (48) body pad8
//   index      := magic u64, count u64, entry (40) *, checksum u64
//   MANIFEST   := manifest (512) manifest (512)
//
// Pure functions; integers are little-endian. What one copy loses another has: the header is in the
// manifest too, each section head in the index too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/io/checkpoint/checkpoint.h"

namespace ackline::io::checkpoint {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kSectionHeadBytes = 48;
inline constexpr std::size_t kManifestBytes = 512;

enum class FormatState : std::uint8_t { kGood, kBad, kNewer };

struct SectionHead {
  PartitionNumber partition;
  Lsn applied;
  std::uint64_t body_at = 0;  // in the file
  std::uint64_t body_bytes = 0;
  std::uint64_t body_checksum = 0;
};

struct Manifest {
  CheckpointInfo info;
  std::uint64_t file_bytes = 0;
  std::uint64_t index_at = 0;
  std::uint64_t sections = 0;
};

[[nodiscard]] std::string encode_header(const CheckpointInfo& info);
// Fills all of `info` but the two lsns, which only the manifest knows.
[[nodiscard]] FormatState decode_header(ByteView bytes, CheckpointInfo& info,
                                        std::uint32_t& version);

[[nodiscard]] std::string encode_section_head(const SectionHead& head, std::uint64_t sequence);
// `sequence`: of the checkpoint, so that a head inside some body is not taken for one of the file.
[[nodiscard]] std::optional<SectionHead> decode_section_head(ByteView file, std::uint64_t position,
                                                             std::uint64_t sequence);

[[nodiscard]] std::string encode_index(const std::vector<SectionHead>& heads);
[[nodiscard]] std::optional<std::vector<SectionHead>> decode_index(ByteView bytes);

[[nodiscard]] std::string encode_manifest(const Manifest& manifest);
[[nodiscard]] FormatState decode_manifest(ByteView copy, Manifest& manifest,
                                          std::uint32_t& version);

// "checkpoint-00000007"
[[nodiscard]] std::string file_name(std::uint64_t sequence);
[[nodiscard]] std::optional<std::uint64_t> file_sequence(std::string_view name);

}  // namespace ackline::io::checkpoint

// The bytes of segment files (docs/formats/segment.md): constants, names, the record's encoder.
//
// Pure. The live reader is in chunk.h, the doctor has one of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ackline/base/bytes.h"
#include "ackline/base/types.h"

namespace ackline::log::format {

inline constexpr std::string_view kSegmentMagic = "ACKLSEG\n";
inline constexpr std::uint32_t kSegmentVersion = 1;
inline constexpr std::size_t kSegmentHeaderBytes = 32;
// u64 checksum, u32 frame length, i64 offset, i64 append time.
inline constexpr std::size_t kRecordHeaderBytes = 28;
inline constexpr std::size_t kChecksumBytes = 8;

inline constexpr std::string_view kIndexMagic = "ACKLIDX\n";
inline constexpr std::uint32_t kIndexVersion = 1;
// Distance of index entries in a segment that is being written, and in a checkpoint's section.
inline constexpr std::uint64_t kIndexStepBytes = 8192;
inline constexpr std::uint64_t kSectionStepBytes = 65536;

// The 32 bytes at the head of segment `base` of partition `number`.
[[nodiscard]] std::string segment_header(PartitionNumber number, Offset base);
// Mixed into every record's checksum, so that a record of another partition or segment that lands
// here (a misdirected write, a copied file) is not taken for one of ours.
[[nodiscard]] std::uint64_t segment_identity(PartitionNumber number, Offset base);

// Little-endian loads and stores at `at`; the caller knows that the bytes are there.
[[nodiscard]] std::uint32_t load_u32(const std::byte* at);
[[nodiscard]] std::uint64_t load_u64(const std::byte* at);
void store_u32(std::byte* at, std::uint32_t value);
void store_u64(std::byte* at, std::uint64_t value);

// Writes one record (kRecordHeaderBytes + frame) at `at`.
void encode_record(std::byte* at, std::uint64_t identity, Offset offset, WallMs time,
                   ByteView frame);

// "00000000000000000042.log" and back; nullopt for any other name.
[[nodiscard]] std::string segment_name(Offset base);
[[nodiscard]] std::string index_name(Offset base);
[[nodiscard]] std::optional<Offset> parse_segment_name(std::string_view name);
[[nodiscard]] std::optional<Offset> parse_index_name(std::string_view name);
// data.path/log/<partition number>
[[nodiscard]] std::string partition_directory(std::string_view data_path, PartitionNumber number);

}  // namespace ackline::log::format

#include "ackline/io/checkpoint/format.h"

#include <fmt/core.h>

#include <charconv>

namespace ackline::io::checkpoint {
namespace {

constexpr std::uint64_t kHeaderMagic = 0x0a5450434b434b41;    // "AKCKCPT\n"
constexpr std::uint64_t kSectionMagic = 0x434553504b434b41;   // "AKCKPSEC"
constexpr std::uint64_t kIndexMagic = 0x58444e494b434b41;     // "AKCKINDX"
constexpr std::uint64_t kManifestMagic = 0x4e414d4b434b410a;  // "\nAKCKMAN"
constexpr std::size_t kEntryBytes = 40;
constexpr std::string_view kPrefix = "checkpoint-";

void seal(std::string& out) {
  ByteWriter(out).u64(checksum64(as_bytes(out)));
}

// The fields before the checksum, when that is right; else an empty view.
ByteView sealed_fields(ByteView bytes) {
  if (bytes.size() < 16) return {};
  const ByteView fields = bytes.first(bytes.size() - 8);
  return ByteReader(bytes.last(8)).u64() == checksum64(fields) ? fields : ByteView{};
}

void put_head(ByteWriter& out, const SectionHead& head) {
  out.u32(head.partition.value());
  out.u32(0);
  out.u64(head.applied.value());
  out.u64(head.body_at);
  out.u64(head.body_bytes);
  out.u64(head.body_checksum);
}

SectionHead get_head(ByteReader& in) {
  SectionHead head;
  head.partition = PartitionNumber(in.u32());
  static_cast<void>(in.u32());
  head.applied = Lsn(in.u64());
  head.body_at = in.u64();
  head.body_bytes = in.u64();
  head.body_checksum = in.u64();
  return head;
}

void put_info(ByteWriter& out, const CheckpointInfo& info) {
  out.u64(info.sequence);
  out.u32(info.shard.value());
  out.u32(info.shard_count);
  out.u32(info.data_version);
  out.u64(static_cast<std::uint64_t>(info.created.value()));
}

void get_info(ByteReader& in, CheckpointInfo& info) {
  info.sequence = in.u64();
  info.shard = ShardIndex(in.u32());
  info.shard_count = in.u32();
  info.data_version = in.u32();
  info.created = WallMs(static_cast<std::int64_t>(in.u64()));
}

}  // namespace

std::string encode_header(const CheckpointInfo& info) {
  std::string out;
  ByteWriter writer(out);
  writer.u64(kHeaderMagic);
  writer.u32(kVersion);
  put_info(writer, info);
  out.resize(kHeaderBytes - 8);
  seal(out);
  return out;
}

FormatState decode_header(ByteView bytes, CheckpointInfo& info, std::uint32_t& version) {
  if (bytes.size() < kHeaderBytes) return FormatState::kBad;
  ByteReader reader(sealed_fields(bytes.first(kHeaderBytes)));
  if (reader.u64() != kHeaderMagic) return FormatState::kBad;
  version = reader.u32();
  if (version != kVersion) return FormatState::kNewer;
  get_info(reader, info);
  return FormatState::kGood;
}

std::string encode_section_head(const SectionHead& head, std::uint64_t sequence) {
  std::string out;
  ByteWriter writer(out);
  writer.u64(kSectionMagic);
  writer.u32(head.partition.value());
  writer.u32(static_cast<std::uint32_t>(sequence));
  writer.u64(head.applied.value());
  writer.u64(head.body_bytes);
  writer.u64(head.body_checksum);
  seal(out);
  return out;
}

std::optional<SectionHead> decode_section_head(ByteView file, std::uint64_t position,
                                               std::uint64_t sequence) {
  if (position > file.size() || file.size() - position < kSectionHeadBytes) return std::nullopt;
  ByteReader reader(
      sealed_fields(file.subspan(static_cast<std::size_t>(position), kSectionHeadBytes)));
  if (reader.u64() != kSectionMagic) return std::nullopt;
  SectionHead head;
  head.partition = PartitionNumber(reader.u32());
  if (reader.u32() != static_cast<std::uint32_t>(sequence)) return std::nullopt;
  head.applied = Lsn(reader.u64());
  head.body_at = position + kSectionHeadBytes;
  head.body_bytes = reader.u64();
  head.body_checksum = reader.u64();
  return head;
}

std::string encode_index(const std::vector<SectionHead>& heads) {
  std::string out;
  ByteWriter writer(out);
  writer.u64(kIndexMagic);
  writer.u64(heads.size());
  for (const SectionHead& head : heads) put_head(writer, head);
  seal(out);
  return out;
}

std::optional<std::vector<SectionHead>> decode_index(ByteView bytes) {
  ByteReader reader(sealed_fields(bytes));
  if (reader.u64() != kIndexMagic) return std::nullopt;
  const std::uint64_t count = reader.u64();
  if (reader.left() % kEntryBytes != 0 || reader.left() / kEntryBytes != count) {
    return std::nullopt;
  }
  std::vector<SectionHead> heads;
  heads.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) heads.push_back(get_head(reader));
  return heads;
}

std::string encode_manifest(const Manifest& manifest) {
  std::string out;
  ByteWriter writer(out);
  writer.u64(kManifestMagic);
  writer.u32(kVersion);
  put_info(writer, manifest.info);
  writer.u64(manifest.info.journal_lowest.value());
  writer.u64(manifest.info.journal_synced.value());
  writer.u64(manifest.file_bytes);
  writer.u64(manifest.index_at);
  writer.u64(manifest.sections);
  out.resize(kManifestBytes - 8);
  seal(out);
  return out;
}

FormatState decode_manifest(ByteView copy, Manifest& manifest, std::uint32_t& version) {
  if (copy.size() < kManifestBytes) return FormatState::kBad;
  ByteReader reader(sealed_fields(copy.first(kManifestBytes)));
  if (reader.u64() != kManifestMagic) return FormatState::kBad;
  version = reader.u32();
  if (version != kVersion) return FormatState::kNewer;
  get_info(reader, manifest.info);
  manifest.info.journal_lowest = Lsn(reader.u64());
  manifest.info.journal_synced = Lsn(reader.u64());
  manifest.file_bytes = reader.u64();
  manifest.index_at = reader.u64();
  manifest.sections = reader.u64();
  return FormatState::kGood;
}

std::string file_name(std::uint64_t sequence) {
  return fmt::format("{}{:08}", kPrefix, sequence);
}

std::optional<std::uint64_t> file_sequence(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint64_t sequence = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), sequence);
  if (failure != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return sequence;
}

}  // namespace ackline::io::checkpoint

#include "ackline/io/journal/format.h"

#include <algorithm>
#include <cstring>

namespace ackline::io::journal {
namespace {

constexpr std::uint64_t kFileMagic = 0x0a4c4e524a4b4341;  // "ACKJRNL\n"
constexpr std::size_t kFileChecksumAt = kFileHeaderBytes - 8;

void put32(std::byte* out, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) out[i] = static_cast<std::byte>(value >> (8 * i));
}
void put64(std::byte* out, std::uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) out[i] = static_cast<std::byte>(value >> (8 * i));
}
std::uint32_t get32(const std::byte* in) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(in[i]) << (8 * i);
  return value;
}
std::uint64_t get64(const std::byte* in) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= static_cast<std::uint64_t>(in[i]) << (8 * i);
  return value;
}

std::size_t padded_partitions(std::size_t count) {
  return static_cast<std::size_t>(align_up(4 * count, 8));
}

}  // namespace

std::array<std::byte, kFileHeaderBytes> encode_file_header(const FileHeader& header) {
  std::array<std::byte, kFileHeaderBytes> out{};
  put64(out.data(), kFileMagic);
  put32(out.data() + 8, header.version);
  put32(out.data() + 12, header.shard.value());
  put64(out.data() + 16, header.journal_id);
  put64(out.data() + 24, header.sequence);
  put64(out.data() + 32, header.first.value());
  put64(out.data() + 40, header.size);
  put64(out.data() + kFileChecksumAt, checksum64(ByteView(out).first(kFileChecksumAt)));
  return out;
}

HeaderState decode_file_header(ByteView bytes, FileHeader& header) {
  if (bytes.size() < kFileHeaderBytes) return HeaderState::kBad;
  bytes = bytes.first(kFileHeaderBytes);
  if (std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; })) {
    return HeaderState::kBlank;
  }
  if (get64(bytes.data()) != kFileMagic) return HeaderState::kBad;
  if (get64(bytes.data() + kFileChecksumAt) != checksum64(bytes.first(kFileChecksumAt))) {
    return HeaderState::kBad;
  }
  header.version = get32(bytes.data() + 8);
  header.shard = ShardIndex(get32(bytes.data() + 12));
  header.journal_id = get64(bytes.data() + 16);
  header.sequence = get64(bytes.data() + 24);
  header.first = Lsn(get64(bytes.data() + 32));
  header.size = get64(bytes.data() + 40);
  return header.version == kVersion ? HeaderState::kGood : HeaderState::kNewer;
}

std::size_t BatchMark::mark_bytes() const {
  return kMarkBytes + padded_partitions(partitions.size());
}

std::size_t BatchMark::list_bytes() const {
  return listed == 0 ? 0 : padded_partitions(listed) + 8;
}

std::uint64_t BatchMark::batch_bytes() const {
  return 2 * mark_bytes() + align_up(body_bytes, 8) + list_bytes();
}

std::uint64_t encode_mark(const BatchMark& mark, std::uint32_t magic, std::byte* out) {
  const std::size_t checksum_at = mark.mark_bytes() - 8;
  put32(out, magic);
  put32(out + 4, static_cast<std::uint32_t>(mark.partitions.size()));
  put64(out + 8, mark.journal_id);
  put64(out + 16, mark.lsn.value());
  put32(out + 24, mark.body_bytes);
  put32(out + 28, mark.listed);
  put64(out + 32, mark.synced_through.value());
  put64(out + 40, mark.previous);
  put64(out + 48, mark.body_checksum);
  std::byte* at = out + 56;
  for (const PartitionNumber partition : mark.partitions) {
    put32(at, partition.value());
    at += 4;
  }
  if (at != out + checksum_at) put32(at, 0);
  const std::uint64_t checksum = checksum64({out, checksum_at});
  put64(out + checksum_at, checksum);
  return checksum;
}

std::optional<BatchMark> decode_mark(ByteView bytes, std::uint32_t magic, std::uint64_t& checksum) {
  if (bytes.size() < kMarkBytes || get32(bytes.data()) != magic) return std::nullopt;
  const std::uint32_t count = get32(bytes.data() + 4);
  if (count > kInlinePartitionsMax) return std::nullopt;
  const std::size_t size = kMarkBytes + padded_partitions(count);
  if (bytes.size() < size) return std::nullopt;
  if (get64(bytes.data() + size - 8) != checksum64(bytes.first(size - 8))) return std::nullopt;
  BatchMark mark;
  mark.journal_id = get64(bytes.data() + 8);
  mark.lsn = Lsn(get64(bytes.data() + 16));
  mark.body_bytes = get32(bytes.data() + 24);
  mark.listed = get32(bytes.data() + 28);
  mark.synced_through = Lsn(get64(bytes.data() + 32));
  mark.previous = get64(bytes.data() + 40);
  mark.body_checksum = get64(bytes.data() + 48);
  mark.partitions.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    mark.partitions.emplace_back(get32(bytes.data() + 56 + 4 * i));
  }
  if (magic == kHeaderMagic) {
    checksum = get64(bytes.data() + size - 8);
  } else {
    std::array<std::byte, kMarkBytesMax> header{};
    checksum = encode_mark(mark, kHeaderMagic, header.data());
  }
  return mark;
}

void encode_list(std::span<const PartitionNumber> partitions, std::byte* out) {
  const std::size_t size = padded_partitions(partitions.size());
  std::memset(out, 0, size);
  for (std::size_t i = 0; i < partitions.size(); ++i) put32(out + 4 * i, partitions[i].value());
  put64(out + size, checksum64({out, size}));
}

std::optional<std::vector<PartitionNumber>> decode_list(ByteView bytes, std::uint32_t count) {
  const std::size_t size = padded_partitions(count);
  if (bytes.size() != size + 8) return std::nullopt;
  if (get64(bytes.data() + size) != checksum64(bytes.first(size))) return std::nullopt;
  std::vector<PartitionNumber> partitions;
  partitions.reserve(count);
  for (std::size_t i = 0; i < count; ++i) partitions.emplace_back(get32(bytes.data() + 4 * i));
  return partitions;
}

std::optional<JournalRecord> take_record(ByteView& body) {
  ByteReader reader(body);
  JournalRecord record;
  record.type = reader.u8();
  const std::uint64_t partition = reader.varint();
  const std::uint64_t length = reader.varint();
  if (!reader.ok() || partition > UINT32_MAX || length > reader.left()) return std::nullopt;
  record.partition = PartitionNumber(static_cast<std::uint32_t>(partition));
  const std::size_t head = body.size() - reader.left();
  record.body = body.subspan(head, static_cast<std::size_t>(length));
  body = body.subspan(head + static_cast<std::size_t>(length));
  return record;
}

}  // namespace ackline::io::journal

#include "ackline/log/local/format.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>

#include "ackline/io/fs/file_system.h"

namespace ackline::log::format {

static_assert(std::endian::native == std::endian::little, "loads and stores are plain copies");

namespace {

constexpr std::size_t kNameDigits = 20;

std::string header_fields(PartitionNumber number, Offset base) {
  std::string out;
  ByteWriter writer(out);
  writer.raw(as_bytes(kSegmentMagic));
  writer.u32(kSegmentVersion);
  writer.u32(number.value());
  writer.u64(static_cast<std::uint64_t>(base.value()));
  return out;
}

std::optional<Offset> parse_name(std::string_view name, std::string_view suffix) {
  if (name.size() != kNameDigits + suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  std::int64_t value = 0;
  const char* end = name.data() + kNameDigits;
  const auto [stop, error] = std::from_chars(name.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) return std::nullopt;
  return Offset(value);
}

}  // namespace

std::string segment_header(PartitionNumber number, Offset base) {
  std::string out = header_fields(number, base);
  const std::uint64_t checksum = checksum64(as_bytes(out));
  ByteWriter(out).u64(checksum);
  return out;
}

std::uint64_t segment_identity(PartitionNumber number, Offset base) {
  return checksum64(as_bytes(header_fields(number, base)));
}

std::uint32_t load_u32(const std::byte* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

std::uint64_t load_u64(const std::byte* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void store_u32(std::byte* at, std::uint32_t value) {
  std::memcpy(at, &value, sizeof(value));
}
void store_u64(std::byte* at, std::uint64_t value) {
  std::memcpy(at, &value, sizeof(value));
}

void encode_record(std::byte* at, std::uint64_t identity, Offset offset, WallMs time,
                   ByteView frame) {
  store_u32(at + 8, static_cast<std::uint32_t>(frame.size()));
  store_u64(at + 12, static_cast<std::uint64_t>(offset.value()));
  store_u64(at + 20, static_cast<std::uint64_t>(time.value()));
  if (!frame.empty()) std::memcpy(at + kRecordHeaderBytes, frame.data(), frame.size());
  const ByteView covered(at + kChecksumBytes, kRecordHeaderBytes - kChecksumBytes + frame.size());
  store_u64(at, checksum64(covered) ^ identity);
}

std::string segment_name(Offset base) {
  return fmt::format("{:020}.log", base.value());
}
std::string index_name(Offset base) {
  return fmt::format("{:020}.idx", base.value());
}

std::optional<Offset> parse_segment_name(std::string_view name) {
  return parse_name(name, ".log");
}
std::optional<Offset> parse_index_name(std::string_view name) {
  return parse_name(name, ".idx");
}

std::string partition_directory(std::string_view data_path, PartitionNumber number) {
  return io::join(io::join(data_path, "log"), fmt::format("{}", number.value()));
}

}  // namespace ackline::log::format

#include "ackline/log/local/records.h"

#include <fmt/format.h>

#include "ackline/log/local/format.h"

namespace ackline::log {

namespace {

constexpr std::uint8_t kPublishVersion = 1;
constexpr std::uint8_t kSectionVersion = 1;
constexpr std::uint8_t kSealedFlag = 1;

std::unexpected<Error> corrupt(std::string_view what) {
  return fail(ErrorCode::kCorrupt, std::string(what));
}

}  // namespace

void encode_publish_head(std::string& out, const PublishBody& body, std::uint64_t record_bytes) {
  ByteWriter writer(out);
  writer.u8(kPublishVersion);
  writer.varint(static_cast<std::uint64_t>(body.base.value()));
  writer.varint(body.events);
  writer.svarint(body.time.value());
  writer.varint(static_cast<std::uint64_t>(body.segment.value()));
  writer.varint(body.position);
  writer.varint(record_bytes);
}

Result<PublishBody> decode_publish(ByteView bytes) {
  ByteReader reader(bytes);
  if (reader.u8() != kPublishVersion) return corrupt("a publish record has an unknown version");
  PublishBody body;
  body.base = Offset(static_cast<std::int64_t>(reader.varint()));
  const std::uint64_t events = reader.varint();
  body.time = WallMs(reader.svarint());
  body.segment = Offset(static_cast<std::int64_t>(reader.varint()));
  body.position = reader.varint();
  const std::uint64_t size = reader.varint();
  if (!reader.ok() || size != reader.left()) return corrupt("a publish record is cut off");
  if (events == 0 || events > size / format::kRecordHeaderBytes || events > UINT32_MAX ||
      body.segment.value() < 0 || body.base < body.segment ||
      body.base.value() > INT64_MAX - static_cast<std::int64_t>(UINT32_MAX) ||
      body.position < format::kSegmentHeaderBytes) {
    return corrupt("a publish record has impossible numbers");
  }
  body.events = static_cast<std::uint32_t>(events);
  body.records = reader.raw(static_cast<std::size_t>(size));
  return body;
}

Result<std::uint32_t> verify_record(ByteView bytes, std::uint64_t identity, Offset offset) {
  if (bytes.size() < format::kRecordHeaderBytes) return corrupt("a record is cut off");
  const std::uint64_t length =
      format::kRecordHeaderBytes + std::uint64_t{format::load_u32(bytes.data() + 8)};
  if (length > bytes.size()) return corrupt("a record is cut off");
  const ByteView covered = bytes.subspan(format::kChecksumBytes, length - format::kChecksumBytes);
  if ((checksum64(covered) ^ identity) != format::load_u64(bytes.data()) ||
      static_cast<std::int64_t>(format::load_u64(bytes.data() + 12)) != offset.value()) {
    return corrupt(fmt::format("the record of offset {} has a wrong checksum", offset.value()));
  }
  return static_cast<std::uint32_t>(length);
}

std::string encode_section(const Section& section) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(kSectionVersion);
  writer.varint(static_cast<std::uint64_t>(section.log_start.value()));
  writer.varint(static_cast<std::uint64_t>(section.next.value()));
  writer.varint(section.segments.size());
  for (const SectionSegment& segment : section.segments) {
    writer.varint(static_cast<std::uint64_t>(segment.facts.base.value()));
    writer.varint(static_cast<std::uint64_t>(segment.facts.end.value()));
    writer.varint(segment.facts.length);
    writer.svarint(segment.facts.max_time.value());
    writer.u8(segment.sealed ? kSealedFlag : 0);
    if (!segment.sealed) segment.index.encode(out);
  }
  return out;
}

Result<Section> decode_section(std::string_view bytes) {
  ByteReader reader(as_bytes(bytes));
  if (reader.u8() != kSectionVersion)
    return corrupt("a partition's section has an unknown version");
  Section section;
  section.log_start = Offset(static_cast<std::int64_t>(reader.varint()));
  section.next = Offset(static_cast<std::int64_t>(reader.varint()));
  const std::uint64_t count = reader.varint();
  bool good = reader.ok() && section.log_start.value() >= 0 && section.log_start <= section.next;
  Offset expected = section.next;
  for (std::uint64_t i = 0; good && i < count; ++i) {
    SectionSegment segment;
    segment.facts.base = Offset(static_cast<std::int64_t>(reader.varint()));
    segment.facts.end = Offset(static_cast<std::int64_t>(reader.varint()));
    segment.facts.length = reader.varint();
    segment.facts.max_time = WallMs(reader.svarint());
    const std::uint8_t flags = reader.u8();
    segment.sealed = flags == kSealedFlag;
    good = reader.ok() && flags <= kSealedFlag && segment.facts.base.value() >= 0 &&
           segment.facts.base < segment.facts.end && (i == 0 || segment.facts.base == expected) &&
           segment.facts.length > format::kSegmentHeaderBytes &&
           (segment.sealed || segment.index.decode(reader, segment.facts));
    expected = segment.facts.end;
    section.segments.push_back(std::move(segment));
  }
  if (!good || !reader.empty() || expected != section.next) {
    return corrupt("a partition's section in the checkpoint does not decode");
  }
  const Offset kept_from =
      section.segments.empty() ? section.next : section.segments.front().facts.base;
  if (kept_from > section.log_start) {
    return corrupt("a partition's section has no segment for its log start");
  }
  return section;
}

}  // namespace ackline::log

#include "ackline/log/local/segment_index.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/log/local/format.h"

namespace ackline::log {

namespace {

ChunkStart start_of(const SegmentIndex::Entry& entry) {
  return {entry.offset, entry.position};
}

}  // namespace

void SegmentIndex::add(const Entry& entry, std::uint64_t step_bytes) {
  if (!entries_.empty() && entry.position < entries_.back().position + step_bytes) return;
  entries_.push_back(entry);
}

void SegmentIndex::cut(Offset offset) {
  while (!entries_.empty() && entries_.back().offset >= offset) entries_.pop_back();
}

std::optional<ChunkStart> SegmentIndex::before(Offset offset) const {
  const auto above = std::ranges::upper_bound(entries_, offset, {}, &Entry::offset);
  if (above == entries_.begin()) return std::nullopt;
  return start_of(*std::prev(above));
}

std::optional<ChunkStart> SegmentIndex::after(Offset offset) const {
  const auto above = std::ranges::upper_bound(entries_, offset, {}, &Entry::offset);
  if (above == entries_.end()) return std::nullopt;
  return start_of(*above);
}

std::optional<ChunkStart> SegmentIndex::before_time(WallMs time) const {
  const auto at = std::ranges::lower_bound(entries_, time, {}, &Entry::max_before);
  if (at == entries_.begin()) {
    return entries_.empty() ? std::nullopt : std::optional(start_of(entries_.front()));
  }
  return start_of(*std::prev(at));
}

SegmentIndex SegmentIndex::thinned(std::uint64_t step_bytes) const {
  SegmentIndex out;
  for (const Entry& entry : entries_) out.add(entry, step_bytes);
  return out;
}

// The first entry is the segment's first record, which has none before it; times are written as
// differences to the one before, the second entry's to 0.
void SegmentIndex::encode(std::string& out) const {
  ByteWriter writer(out);
  writer.varint(entries_.size());
  std::int64_t time = 0;
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    const Entry& last = entries_[i - 1];
    const Entry& entry = entries_[i];
    writer.varint(static_cast<std::uint64_t>(entry.offset.value() - last.offset.value()));
    writer.varint(entry.position - last.position);
    writer.svarint(entry.max_before.value() - time);
    time = entry.max_before.value();
  }
}

bool SegmentIndex::decode(ByteReader& in, const SegmentFacts& facts) {
  entries_.clear();
  const std::uint64_t count = in.varint();
  // An entry takes three bytes at least: a claimed count beyond that is refused before reserving.
  if (!in.ok() || (count > 1 && count - 1 > in.left() / 3)) return false;
  if (count == 0) return true;
  if (facts.base >= facts.end) return false;
  entries_.reserve(count);
  entries_.push_back({facts.base, format::kSegmentHeaderBytes, kNoTime});
  std::uint64_t time = 0;
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::uint64_t offsets = in.varint();
    const std::uint64_t bytes = in.varint();
    time += static_cast<std::uint64_t>(in.svarint());  // unsigned: hostile input may wrap
    const Entry& last = entries_.back();
    const bool fits =
        in.ok() && offsets > 0 && bytes > 0 &&
        offsets < static_cast<std::uint64_t>(facts.end.value() - last.offset.value()) &&
        bytes < facts.length - last.position &&
        static_cast<std::int64_t>(time) >= last.max_before.value() &&
        static_cast<std::int64_t>(time) <= facts.max_time.value();
    if (!fits) return false;
    entries_.push_back({last.offset.plus(static_cast<std::int64_t>(offsets)), last.position + bytes,
                        WallMs(static_cast<std::int64_t>(time))});
  }
  return true;
}

std::string encode_index_file(PartitionNumber number, const SegmentFacts& facts,
                              const SegmentIndex& index) {
  std::string out;
  ByteWriter writer(out);
  writer.raw(as_bytes(format::kIndexMagic));
  writer.u32(format::kIndexVersion);
  writer.u32(number.value());
  writer.u64(static_cast<std::uint64_t>(facts.base.value()));
  writer.u64(static_cast<std::uint64_t>(facts.end.value()));
  writer.u64(facts.length);
  writer.u64(static_cast<std::uint64_t>(facts.max_time.value()));
  index.encode(out);
  const std::uint64_t checksum = checksum64(as_bytes(out));
  writer.u64(checksum);
  return out;
}

Result<SegmentIndex> decode_index_file(PartitionNumber number, const SegmentFacts& facts,
                                       ByteView bytes) {
  const auto corrupt = [](std::string_view what) {
    return fail(ErrorCode::kCorrupt, fmt::format("the index {}", what));
  };
  if (bytes.size() < format::kChecksumBytes) return corrupt("is too short");
  const ByteView body = bytes.first(bytes.size() - format::kChecksumBytes);
  if (checksum64(body) != format::load_u64(body.data() + body.size())) {
    return corrupt("has a checksum that does not match");
  }
  ByteReader reader(body);
  if (as_text(reader.raw(format::kIndexMagic.size())) != format::kIndexMagic) {
    return corrupt("has a wrong magic");
  }
  if (reader.u32() != format::kIndexVersion) return corrupt("has an unknown version");
  const bool ours = reader.u32() == number.value();
  SegmentFacts found;
  found.base = Offset(static_cast<std::int64_t>(reader.u64()));
  found.end = Offset(static_cast<std::int64_t>(reader.u64()));
  found.length = reader.u64();
  found.max_time = WallMs(static_cast<std::int64_t>(reader.u64()));
  if (!reader.ok() || !ours || found != facts) return corrupt("belongs to another segment");
  SegmentIndex index;
  if (!index.decode(reader, facts) || !reader.empty()) return corrupt("does not decode");
  return index;
}

}  // namespace ackline::log

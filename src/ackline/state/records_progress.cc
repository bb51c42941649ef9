// Codecs of the records that carry sets of offsets: settle, reopen and the lanes.
#include "ackline/base/check.h"
#include "ackline/state/record_codec.h"
#include "ackline/state/records.h"

namespace ackline::state {
namespace {

using codec::FieldReader;
using codec::finish;
using codec::kOffsetMax;
using codec::put_offset_or_before;

// Bits of a settle's first byte, above the outcome.
constexpr std::uint8_t kSettleOutcomeMask = 0x0f;
constexpr std::uint8_t kSettleSingle = 0x10;  // one offset, no lengths
constexpr std::uint8_t kSettleDead = 0x20;
constexpr std::uint8_t kSettleKnown = 0x3f;

// Adds `step` to `base` if the sum still is an offset; else marks the reader.
std::int64_t step_from(FieldReader& in, std::int64_t base, std::uint64_t step) {
  in.require(step <= kOffsetMax - static_cast<std::uint64_t>(base));
  return in.good() ? base + static_cast<std::int64_t>(step) : 0;
}

void put_entry(ByteWriter& writer, const LaneEntry& entry, std::int64_t after,
               std::int64_t dlq_after) {
  writer.svarint(entry.offset.value() - after);
  writer.svarint(entry.dlq_offset.value() - dlq_after);
  writer.u8(static_cast<std::uint8_t>(entry.state));
}

// Differences wrap as unsigned numbers do, so that any bytes are harmless; the result is checked.
std::int64_t add_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

LaneEntry read_entry(FieldReader& in, std::int64_t after, std::int64_t dlq_after) {
  LaneEntry entry;
  entry.offset = Offset(add_wrapping(after, in.svarint()));
  entry.dlq_offset = Offset(add_wrapping(dlq_after, in.svarint()));
  in.require(entry.offset.value() >= 0 && entry.dlq_offset.value() >= -1);
  entry.state = in.one_of(in.u8(), EntryState::kDead, EntryState::kPurged);
  return entry;
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAcked:
      return "acked";
    case Outcome::kRejected:
      return "rejected";
    case Outcome::kExhausted:
      return "exhausted";
    case Outcome::kFiltered:
      return "filtered";
    case Outcome::kExpired:
      return "expired";
    case Outcome::kGone:
      return "gone";
  }
  return "unknown";
}

std::string_view dead_reason_name(DeadReason reason) {
  switch (reason) {
    case DeadReason::kMaxAttempts:
      return "max_attempts";
    case DeadReason::kMaxRestarts:
      return "max_restarts";
    case DeadReason::kRejected:
      return "rejected";
    case DeadReason::kExpired:
      return "expired";
  }
  return "unknown";
}

std::string_view reopen_kind_name(ReopenKind kind) {
  switch (kind) {
    case ReopenKind::kStart:
      return "start";
    case ReopenKind::kReplay:
      return "replay";
    case ReopenKind::kReset:
      return "reset";
  }
  return "unknown";
}

std::string_view entry_state_name(EntryState state) {
  switch (state) {
    case EntryState::kDead:
      return "dead";
    case EntryState::kRedriving:
      return "redriving";
    case EntryState::kResolved:
      return "resolved";
    case EntryState::kPurged:
      return "purged";
  }
  return "unknown";
}

void SettleRecord::encode(std::string& out) const {
  if (ranges.size() == 1 && ranges.front().count() == 1) {
    encode_one(out, progress, outcome, ranges.front().first, dead);
    return;
  }
  ACKLINE_CHECK(!dead);
  encode_ranges(out, progress, outcome, ranges);
}

void SettleRecord::encode_one(std::string& out, ProgressNumber progress, Outcome outcome,
                              Offset offset, const std::optional<DeadLetterMark>& dead) {
  ACKLINE_CHECK(offset.value() >= 0);
  auto head = static_cast<std::uint8_t>(static_cast<unsigned>(outcome) | kSettleSingle);
  head |= dead ? kSettleDead : 0;
  codec::ShortWriter writer;
  writer.u8(head);
  writer.varint(progress.value());
  writer.offset(offset);
  if (dead) {
    writer.offset(dead->dlq_offset);
    writer.u8(static_cast<std::uint8_t>(dead->reason));
  }
  writer.append_to(out);
}

void SettleRecord::encode_ranges(std::string& out, ProgressNumber progress, Outcome outcome,
                                 std::span<const OffsetRange> ranges) {
  ACKLINE_CHECK(!ranges.empty() && ranges.front().first.value() >= 0);
  if (ranges.size() == 1 && ranges.front().count() == 1) {
    encode_one(out, progress, outcome, ranges.front().first);
    return;
  }
  ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(outcome));
  writer.varint(progress.value());
  writer.varint(ranges.size());
  std::int64_t next = 0;
  for (const OffsetRange& range : ranges) {
    ACKLINE_CHECK(range.first.value() >= next && range.count() > 0);
    writer.varint(static_cast<std::uint64_t>(range.first.value() - next));
    writer.varint(static_cast<std::uint64_t>(range.count() - 1));
    next = range.last.value() + 1;
  }
}

Result<SettleRecord> SettleRecord::decode(ByteView body) {
  FieldReader in(body);
  SettleRecord record;
  const std::uint8_t head = in.u8();
  const bool single = (head & kSettleSingle) != 0;
  const bool dead = (head & kSettleDead) != 0;
  in.require((head & ~kSettleKnown) == 0 && (single || !dead));
  record.outcome = in.one_of(head & kSettleOutcomeMask, Outcome::kAcked, Outcome::kGone);
  record.progress = in.progress();
  if (single) {
    const Offset offset = in.offset();
    record.ranges.push_back({offset, offset});
  } else {
    const std::size_t count = in.count(2);
    in.require(count > 0);
    record.ranges.reserve(count);
    std::int64_t next = 0;
    for (std::size_t i = 0; i < count && in.good(); ++i) {
      // The largest offset leaves no next one, so nothing may follow it.
      const std::int64_t first = step_from(in, next, in.varint_up_to(kOffsetMax));
      const std::int64_t last = step_from(in, first, in.varint_up_to(kOffsetMax));
      in.require(last < static_cast<std::int64_t>(kOffsetMax) || i + 1 == count);
      record.ranges.push_back({Offset(first), Offset(last)});
      next = in.good() && i + 1 < count ? last + 1 : 0;
    }
  }
  if (dead) {
    DeadLetterMark mark;
    mark.dlq_offset = in.offset();
    mark.reason = in.one_of(in.u8(), DeadReason::kMaxAttempts, DeadReason::kExpired);
    record.dead = mark;
  }
  return finish(in, std::move(record));
}

void ReopenRecord::encode(std::string& out) const {
  ACKLINE_CHECK(frontier.value() >= -1);
  ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(kind));
  writer.varint(progress.value());
  writer.varint(generation.value());
  put_offset_or_before(writer, frontier);
  writer.varint(kept.size());
  std::int64_t next = 0;
  for (const Offset offset : kept) {
    ACKLINE_CHECK(offset.value() >= next);
    writer.varint(static_cast<std::uint64_t>(offset.value() - next));
    next = offset.value() + 1;
  }
}

Result<ReopenRecord> ReopenRecord::decode(ByteView body) {
  FieldReader in(body);
  ReopenRecord record;
  record.kind = in.one_of(in.u8(), ReopenKind::kStart, ReopenKind::kReset);
  record.progress = in.progress();
  record.generation = Generation(in.u32());
  record.frontier = in.offset_or_before();
  const std::size_t count = in.count(1);
  record.kept.reserve(count);
  std::int64_t next = 0;
  for (std::size_t i = 0; i < count && in.good(); ++i) {
    const std::int64_t offset = step_from(in, next, in.varint_up_to(kOffsetMax));
    in.require(offset < static_cast<std::int64_t>(kOffsetMax) || i + 1 == count);
    record.kept.push_back(Offset(offset));
    next = in.good() && i + 1 < count ? offset + 1 : 0;
  }
  return finish(in, std::move(record));
}

void LanePartRecord::encode(std::string& out) const {
  ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(kind));
  writer.varint(lane.value());
  writer.varint(group.value());
  writer.varint(entries.size());
  std::int64_t after = 0;
  std::int64_t dlq_after = 0;
  for (const LaneEntry& entry : entries) {
    ACKLINE_CHECK(entry.offset.value() >= 0 && entry.dlq_offset.value() >= -1);
    put_entry(writer, entry, after, dlq_after);
    after = entry.offset.value();
    dlq_after = entry.dlq_offset.value();
  }
}

Result<LanePartRecord> LanePartRecord::decode(ByteView body) {
  FieldReader in(body);
  LanePartRecord record;
  record.kind = in.one_of(in.u8(), LaneKind::kRedrive, LaneKind::kReplay);
  record.lane = in.progress();
  record.group = in.progress();
  const std::size_t count = in.count(3);
  record.entries.reserve(count);
  std::int64_t after = 0;
  std::int64_t dlq_after = 0;
  for (std::size_t i = 0; i < count && in.good(); ++i) {
    record.entries.push_back(read_entry(in, after, dlq_after));
    after = record.entries.back().offset.value();
    dlq_after = record.entries.back().dlq_offset.value();
  }
  return finish(in, std::move(record));
}

void LaneEntryRecord::encode(std::string& out) const {
  ACKLINE_CHECK(entry.offset.value() >= 0 && entry.dlq_offset.value() >= -1);
  ByteWriter writer(out);
  writer.varint(lane.value());
  writer.varint(group.value());
  put_entry(writer, entry, 0, 0);
}

Result<LaneEntryRecord> LaneEntryRecord::decode(ByteView body) {
  FieldReader in(body);
  LaneEntryRecord record;
  record.lane = in.progress();
  record.group = in.progress();
  record.entry = read_entry(in, 0, 0);
  return finish(in, record);
}

}  // namespace ackline::state

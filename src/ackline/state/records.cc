#include "ackline/state/records.h"

#include <algorithm>

#include "ackline/base/check.h"
#include "ackline/state/record_codec.h"

namespace ackline::state {
namespace {

using codec::FieldReader;
using codec::finish;
using codec::put_offset;

// Bits of an offer's first byte. What is usual costs no byte of its own.
constexpr std::uint8_t kOfferRedelivery = 0x01;
constexpr std::uint8_t kOfferLane = 0x02;
constexpr std::uint8_t kOfferHasAttempt = 0x04;  // else 1
constexpr std::uint8_t kOfferHasRestarts = 0x08;
constexpr std::uint8_t kOfferHasKey = 0x10;
constexpr std::uint8_t kOfferHasLosses = 0x20;
constexpr std::uint8_t kOfferKnown = 0x3f;

// Bits of an end's first byte, above the cause.
constexpr std::uint8_t kEndCauseMask = 0x0f;
constexpr std::uint8_t kEndHasRetry = 0x10;
constexpr std::uint8_t kEndHasError = 0x20;
constexpr std::uint8_t kEndKnown = 0x3f;

std::uint64_t bounded(std::uint64_t duration_ms) {
  return std::min(duration_ms, kDurationMaxMs);
}

// The longest start of `text` that is at most `most` bytes and does not cut a UTF-8 character.
std::string_view cut_text(std::string_view text, std::size_t most) {
  if (text.size() <= most) {
    return text;
  }
  std::size_t end = most;
  const std::size_t earliest = most - 3;
  while (end > earliest && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace

std::string_view record_name(RecordType type) {
  switch (type) {
    case RecordType::kPublish:
      return "publish";
    case RecordType::kOffer:
      return "offer";
    case RecordType::kEnd:
      return "end";
    case RecordType::kExtend:
      return "extend";
    case RecordType::kSettle:
      return "settle";
    case RecordType::kReopen:
      return "reopen";
    case RecordType::kLanePart:
      return "lane_part";
    case RecordType::kLaneEntry:
      return "lane_entry";
    case RecordType::kLogStart:
      return "log_start";
    case RecordType::kAlive:
      return "alive";
    case RecordType::kBoot:
      return "boot";
  }
  return "unknown";
}

std::string_view end_cause_name(EndCause cause) {
  switch (cause) {
    case EndCause::kNack:
      return "nack";
    case EndCause::kExpiry:
      return "expiry";
    case EndCause::kLoss:
      return "loss";
    case EndCause::kWithdrawn:
      return "withdrawn";
    case EndCause::kRestart:
      return "restart";
  }
  return "unknown";
}

void OfferRecord::encode(std::string& out) const {
  ACKLINE_CHECK(offset.value() >= 0 && attempt > 0);
  std::uint8_t flags = 0;
  flags |= redelivery ? kOfferRedelivery : 0;
  flags |= lane ? kOfferLane : 0;
  flags |= attempt != 1 ? kOfferHasAttempt : 0;
  flags |= restarts != 0 ? kOfferHasRestarts : 0;
  flags |= key_hash != 0 ? kOfferHasKey : 0;
  flags |= losses != 0 ? kOfferHasLosses : 0;
  codec::ShortWriter writer;
  writer.u8(flags);
  writer.varint(progress.value());
  writer.offset(offset);
  writer.varint(slot);
  writer.varint(offer);
  writer.varint(client.value());
  writer.varint(bounded(lease_ms));
  if (attempt != 1) {
    writer.varint(attempt);
  }
  if (restarts != 0) {
    writer.varint(restarts);
  }
  if (losses != 0) {
    writer.varint(losses);
  }
  writer.append_to(out);
  if (key_hash != 0) {
    ByteWriter(out).u64(key_hash);
  }
}

Result<OfferRecord> OfferRecord::decode(ByteView body) {
  FieldReader in(body);
  OfferRecord record;
  const std::uint8_t flags = in.u8();
  in.require((flags & ~kOfferKnown) == 0);
  record.redelivery = (flags & kOfferRedelivery) != 0;
  record.lane = (flags & kOfferLane) != 0;
  record.progress = in.progress();
  record.offset = in.offset();
  record.slot = in.u32();
  record.offer = in.u32();
  record.client = ClientNumber(in.u32());
  record.lease_ms = in.duration_ms();
  if ((flags & kOfferHasAttempt) != 0) {
    record.attempt = in.u32();
    in.require(record.attempt > 0);
  }
  if ((flags & kOfferHasRestarts) != 0) {
    record.restarts = in.u32();
  }
  if ((flags & kOfferHasLosses) != 0) {
    record.losses = in.u32();
  }
  if ((flags & kOfferHasKey) != 0) {
    record.key_hash = in.u64();
  }
  return finish(in, record);
}

void EndRecord::encode(std::string& out) const {
  ACKLINE_CHECK(offset.value() >= 0);
  auto head = static_cast<std::uint8_t>(cause);
  head |= retry_in_ms != 0 ? kEndHasRetry : 0;
  head |= !error.empty() ? kEndHasError : 0;
  ByteWriter writer(out);
  writer.u8(head);
  writer.varint(progress.value());
  put_offset(writer, offset);
  writer.varint(slot);
  writer.varint(offer);
  if (retry_in_ms != 0) {
    writer.varint(bounded(retry_in_ms));
  }
  if (!error.empty()) {
    writer.blob(cut_text(error, kErrorTextMaxBytes));
  }
}

Result<EndRecord> EndRecord::decode(ByteView body) {
  FieldReader in(body);
  EndRecord record;
  const std::uint8_t head = in.u8();
  in.require((head & ~kEndKnown) == 0);
  record.cause = in.one_of(head & kEndCauseMask, EndCause::kNack, EndCause::kRestart);
  record.progress = in.progress();
  record.offset = in.offset();
  record.slot = in.u32();
  record.offer = in.u32();
  if ((head & kEndHasRetry) != 0) {
    record.retry_in_ms = in.duration_ms();
  }
  if ((head & kEndHasError) != 0) {
    record.error = in.text(kErrorTextMaxBytes);
  }
  return finish(in, std::move(record));
}

void ExtendRecord::encode(std::string& out) const {
  ACKLINE_CHECK(offset.value() >= 0);
  ByteWriter writer(out);
  writer.varint(progress.value());
  put_offset(writer, offset);
  writer.varint(slot);
  writer.varint(offer);
  writer.varint(bounded(lease_ms));
}

Result<ExtendRecord> ExtendRecord::decode(ByteView body) {
  FieldReader in(body);
  ExtendRecord record;
  record.progress = in.progress();
  record.offset = in.offset();
  record.slot = in.u32();
  record.offer = in.u32();
  record.lease_ms = in.duration_ms();
  return finish(in, record);
}

void LogStartRecord::encode(std::string& out) const {
  ACKLINE_CHECK(offset.value() >= 0);
  ByteWriter writer(out);
  put_offset(writer, offset);
}

Result<LogStartRecord> LogStartRecord::decode(ByteView body) {
  FieldReader in(body);
  LogStartRecord record;
  record.offset = in.offset();
  return finish(in, record);
}

void AliveRecord::encode(std::string& out) const {
  ACKLINE_CHECK(elapsed.value() >= 0);
  ByteWriter writer(out);
  writer.varint(bounded(static_cast<std::uint64_t>(elapsed.value())));
  writer.svarint(wall.value());
}

Result<AliveRecord> AliveRecord::decode(ByteView body) {
  FieldReader in(body);
  AliveRecord record;
  record.elapsed = MonoMs(static_cast<std::int64_t>(in.duration_ms()));
  record.wall = WallMs(in.svarint());
  return finish(in, record);
}

void BootRecord::encode(std::string& out) const {
  ACKLINE_CHECK(shard_count > 0);
  ByteWriter writer(out);
  writer.varint(epoch.value());
  writer.varint(shard_count);
}

Result<BootRecord> BootRecord::decode(ByteView body) {
  FieldReader in(body);
  BootRecord record;
  record.epoch = Epoch(in.u32());
  record.shard_count = in.u32();
  in.require(record.shard_count > 0);
  return finish(in, record);
}

}  // namespace ackline::state

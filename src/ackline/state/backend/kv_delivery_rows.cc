#include "ackline/state/backend/kv_delivery_rows.h"

#include <algorithm>
#include <limits>

#include "ackline/base/big_endian.h"
#include "ackline/base/bytes.h"
#include "ackline/state/backend/sealed_value.h"
#include "ackline/state/record_codec.h"

namespace ackline::state::rows {
namespace {

using codec::FieldReader;
using codec::put_offset_or_before;

constexpr std::uint8_t kVersion = 1;
constexpr std::string_view kWhat = "delivery";
constexpr std::size_t kProgressKeyBytes = 1 + 4 + 4;
constexpr std::size_t kPlaceKeyBytes = kProgressKeyBytes + 8;

constexpr std::uint8_t kLeased = 0x01;
constexpr std::uint8_t kLane = 0x02;
constexpr std::uint8_t kHasKey = 0x04;
constexpr std::uint8_t kHasError = 0x08;
constexpr std::uint8_t kKnown = 0x0f;

constexpr std::uint8_t kRanges = 0;
constexpr std::uint8_t kBitmap = 1;
constexpr std::size_t kBitmapBytes = kChunkOffsets / 8;

std::uint64_t big(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) {
    value = value << 8U | static_cast<unsigned char>(byte);
  }
  return value;
}

void put_time(ByteWriter& out, MonoMs at) {
  out.svarint(at.value());
}

}  // namespace

std::string shard_key(std::uint32_t shards, ShardIndex shard) {
  std::string out = prefix(Kind::kShard);
  append_big_endian(out, shards);
  append_big_endian(out, shard.value());
  return out;
}

std::string prefix(Kind kind) {
  return {static_cast<char>(kind)};
}

std::string prefix(Kind kind, PartitionNumber partition) {
  std::string out;
  out.reserve(kPlaceKeyBytes);
  out.push_back(static_cast<char>(kind));
  append_big_endian(out, partition.value());
  return out;
}

std::string prefix(Kind kind, PartitionNumber partition, ProgressNumber progress) {
  std::string out = prefix(kind, partition);
  append_big_endian(out, progress.value());
  return out;
}

std::string key(Kind kind, PartitionNumber partition, ProgressNumber progress, std::int64_t place) {
  std::string out = prefix(kind, partition, progress);
  append_big_endian(out, static_cast<std::uint64_t>(place));
  return out;
}

std::string note_key(PartitionNumber partition, ProgressNumber progress, std::string_view note) {
  return prefix(Kind::kNote, partition, progress).append(note);
}

Result<Place> place_of(std::string_view key) {
  if (key.size() < kProgressKeyBytes) {
    return std::unexpected(corrupt_value(kWhat, key));
  }
  Place out;
  out.partition = PartitionNumber(static_cast<std::uint32_t>(big(key.substr(1, 4))));
  out.progress = ProgressNumber(static_cast<std::uint32_t>(big(key.substr(5, 4))));
  const auto kind = static_cast<Kind>(key.front());
  if (kind == Kind::kSettled || kind == Kind::kDelivery) {
    if (key.size() != kPlaceKeyBytes) {
      return std::unexpected(corrupt_value(kWhat, key));
    }
    const std::uint64_t place = big(key.substr(kProgressKeyBytes));
    if (place > codec::kOffsetMax) {
      return std::unexpected(corrupt_value(kWhat, key));
    }
    out.place = static_cast<std::int64_t>(place);
  } else if (kind == Kind::kNote) {
    out.note = key.substr(kProgressKeyBytes);
  } else if (kind != Kind::kHead || key.size() != kProgressKeyBytes) {
    return std::unexpected(corrupt_value(kWhat, key));
  }
  return out;
}

std::string encode(std::string_view key, const ShardRow& row) {
  std::string out;
  ByteWriter writer(out);
  put_time(writer, row.now);
  writer.varint(row.starts);
  writer.varint(row.journal.value());
  return seal(kVersion, key, out);
}

Result<ShardRow> decode_shard(std::string_view key, std::string_view value) {
  const Result<std::string_view> fields = unseal(kWhat, kVersion, key, value);
  if (!fields) {
    return fail(fields);
  }
  ByteReader in(as_bytes(*fields));
  ShardRow row;
  row.now = MonoMs(in.svarint());
  row.starts = in.varint();
  row.journal = Lsn(in.varint());
  if (!in.ok() || !in.empty()) {
    return std::unexpected(corrupt_value(kWhat, key));
  }
  return row;
}

std::string encode(std::string_view key, const HeadRow& row) {
  std::string out;
  ByteWriter writer(out);
  writer.varint(row.generation.value());
  put_offset_or_before(writer, row.frontier);
  return seal(kVersion, key, out);
}

Result<HeadRow> decode_head(std::string_view key, std::string_view value) {
  const Result<std::string_view> fields = unseal(kWhat, kVersion, key, value);
  if (!fields) {
    return fail(fields);
  }
  FieldReader in(as_bytes(*fields));
  HeadRow row;
  row.generation = Generation(in.u32());
  row.frontier = in.offset_or_before();
  if (!in.complete()) {
    return std::unexpected(corrupt_value(kWhat, key));
  }
  return row;
}

std::string encode_chunk(std::string_view key, std::int64_t chunk,
                         const std::vector<OffsetRange>& ranges) {
  const std::int64_t begin = chunk * kChunkOffsets;
  std::string list;
  ByteWriter writer(list);
  writer.u8(kRanges);
  writer.varint(ranges.size());
  std::int64_t at = begin;
  for (const OffsetRange& range : ranges) {
    writer.varint(static_cast<std::uint64_t>(range.first.value() - at));
    writer.varint(static_cast<std::uint64_t>(range.count()));
    at = range.last.value() + 1;
  }
  if (list.size() <= 1 + kBitmapBytes) {
    return seal(kVersion, key, list);
  }
  std::string bits(1 + kBitmapBytes, '\0');
  bits.front() = static_cast<char>(kBitmap);
  for (const OffsetRange& range : ranges) {
    for (std::int64_t bit = range.first.value() - begin; bit <= range.last.value() - begin; ++bit) {
      char& byte = bits[static_cast<std::size_t>(1 + bit / 8)];
      byte = static_cast<char>(static_cast<unsigned char>(byte) | 1U << (bit % 8));
    }
  }
  return seal(kVersion, key, bits);
}

Result<std::vector<OffsetRange>> decode_chunk(std::string_view key, std::int64_t chunk,
                                              std::string_view value) {
  const Result<std::string_view> fields = unseal(kWhat, kVersion, key, value);
  if (!fields) {
    return fail(fields);
  }
  if (chunk > static_cast<std::int64_t>(codec::kOffsetMax) / kChunkOffsets) {
    return std::unexpected(corrupt_value(kWhat, key));
  }
  const std::int64_t begin = chunk * kChunkOffsets;
  const std::int64_t end = begin + kChunkOffsets;
  std::vector<OffsetRange> out;
  ByteReader in(as_bytes(*fields));
  if (in.u8() == kBitmap) {
    const ByteView bits = in.raw(kBitmapBytes);
    for (std::int64_t bit = 0; in.ok() && bit < kChunkOffsets; ++bit) {
      const auto byte = static_cast<unsigned>(bits[static_cast<std::size_t>(bit / 8)]);
      if ((byte >> (bit % 8) & 1U) == 0) {
        continue;
      }
      const Offset offset(begin + bit);
      if (!out.empty() && out.back().last.next() == offset) {
        out.back().last = offset;
      } else {
        out.push_back({offset, offset});
      }
    }
  } else {
    const std::uint64_t count = in.varint();
    std::int64_t at = begin;
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
      const std::uint64_t gap = in.varint();
      const std::uint64_t length = in.varint();
      const auto room = static_cast<std::uint64_t>(end - at);
      if (gap > room || length == 0 || length > room - gap) {
        return std::unexpected(corrupt_value(kWhat, key));
      }
      const std::int64_t first = at + static_cast<std::int64_t>(gap);
      at = first + static_cast<std::int64_t>(length);
      out.push_back({Offset(first), Offset(at - 1)});
    }
  }
  if (!in.ok() || !in.empty()) {
    return std::unexpected(corrupt_value(kWhat, key));
  }
  return out;
}

std::string encode(std::string_view key, const DeliveryState& delivery, MonoMs now,
                   std::uint64_t starts) {
  std::uint8_t flags = 0;
  flags |= delivery.leased ? kLeased : 0;
  flags |= delivery.lane ? kLane : 0;
  flags |= delivery.key_hash != 0 ? kHasKey : 0;
  flags |= !delivery.last_error.empty() ? kHasError : 0;
  std::string out;
  ByteWriter writer(out);
  writer.u8(flags);
  writer.varint(delivery.ref.slot);
  writer.varint(delivery.ref.offer);
  writer.varint(delivery.epoch.value());
  put_time(writer,
           now.plus(static_cast<std::int64_t>(std::min(delivery.due_in_ms, kDurationMaxMs))));
  put_time(writer,
           now.plus(-static_cast<std::int64_t>(std::min(delivery.since_ms, kDurationMaxMs))));
  writer.varint(delivery.client.value());
  writer.varint(delivery.attempt);
  writer.svarint(std::int64_t{delivery.restarts} -
                 (delivery.leased ? static_cast<std::int64_t>(starts) : 0));
  writer.varint(delivery.losses);
  if (delivery.key_hash != 0) {
    writer.u64(delivery.key_hash);
  }
  if (!delivery.last_error.empty()) {
    writer.blob(std::string_view(delivery.last_error).substr(0, kErrorTextMaxBytes));
  }
  return seal(kVersion, key, out);
}

Result<DeliveryState> decode_delivery(std::string_view key, const Place& place,
                                      std::string_view value, MonoMs now, std::uint64_t starts) {
  const Result<std::string_view> fields = unseal(kWhat, kVersion, key, value);
  if (!fields) {
    return fail(fields);
  }
  FieldReader in(as_bytes(*fields));
  DeliveryState out;
  const std::uint8_t flags = in.u8();
  in.require((flags & ~kKnown) == 0);
  out.leased = (flags & kLeased) != 0;
  out.lane = (flags & kLane) != 0;
  out.ref = {place.progress, place.partition, Offset(place.place), in.u32(), in.u32()};
  out.epoch = Epoch(in.u32());
  const MonoMs due(in.svarint());
  const MonoMs since(in.svarint());
  constexpr std::int64_t kTimeMax = std::numeric_limits<std::int64_t>::max() / 4;
  in.require(due.value() >= -kTimeMax && due.value() <= kTimeMax);
  in.require(since.value() >= -kTimeMax && since.value() <= kTimeMax);
  out.client = ClientNumber(in.u32());
  out.attempt = in.u32();
  const std::int64_t restarts = in.svarint() + (out.leased ? static_cast<std::int64_t>(starts) : 0);
  in.require(restarts >= 0 && restarts <= std::numeric_limits<std::uint32_t>::max());
  out.losses = in.u32();
  out.key_hash = (flags & kHasKey) != 0 ? in.u64() : 0;
  if ((flags & kHasError) != 0) {
    out.last_error = in.text(kErrorTextMaxBytes);
  }
  if (!in.complete() || out.attempt == 0) {
    return std::unexpected(corrupt_value(kWhat, key));
  }
  out.restarts = static_cast<std::uint32_t>(restarts);
  // What a row may hold is bounded, so that it is kept when it is written again.
  const auto between = [](MonoMs from, MonoMs to) {
    const auto ms =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, to.value() - from.value()));
    return std::min<std::uint64_t>(ms, kDurationMaxMs);
  };
  out.due_in_ms = between(now, due);
  out.since_ms = between(since, now);
  return out;
}

std::string encode_note(std::string_view key, std::string_view bytes) {
  return seal(kVersion, key, bytes);
}

Result<std::string> decode_note(std::string_view key, std::string_view value) {
  const Result<std::string_view> bytes = unseal(kWhat, kVersion, key, value);
  return bytes ? Result<std::string>(std::string(*bytes)) : fail(bytes);
}

}  // namespace ackline::state::rows

// The rows of the delivery store (docs/formats/deliveries.md). Laws: fields that are read are
// written and read again as the same, whatever the bytes; a sealed value with one bit changed, or
// under another key, is refused; a key that can be taken apart is put together as it was.
#include <cstdint>
#include <string>
#include <vector>

#include "ackline/state/backend/kv_delivery_rows.h"
#include "ackline/state/backend/sealed_value.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

namespace rows = ackline::state::rows;
using ackline::MonoMs;
using ackline::Offset;
using ackline::OffsetRange;
using ackline::PartitionNumber;
using ackline::ProgressNumber;
using ackline::ShardIndex;
using ackline::fuzz::Input;
using ackline::fuzz::law;

constexpr std::uint8_t kVersion = 1;
constexpr std::uint64_t kTimeMax = std::uint64_t{1} << 40U;
constexpr std::uint64_t kPlaceMax = std::uint64_t{1} << 62U;

// What `decode` makes of `fields` under `key` is kept by `encode`; damage is refused.
template <class Decode, class Encode>
void check(const std::string& key, std::string_view fields, std::uint32_t flip, Decode decode,
           Encode encode) {
  std::string value = ackline::state::seal(kVersion, key, fields);
  if (const auto row = decode(key, value)) {
    const std::string written = encode(key, *row);
    const auto again = decode(key, written);
    law(again.has_value(), "a written row can be read");
    law(*again == *row, "a row is kept");
    law(encode(key, *again) == written, "a row has one written form");
  }
  char& byte = value[flip / 8 % value.size()];
  byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << (flip % 8)));
  law(!decode(key, value).has_value(), "a changed bit is noticed");
  const std::string elsewhere = key + "x";
  const auto moved = ackline::state::seal(kVersion, key, fields);
  law(!rows::decode_note(elsewhere, moved).has_value(), "a value belongs to its key");
}

void check_chunk(Input& input, PartitionNumber partition, ProgressNumber progress) {
  const auto chunk = static_cast<std::int64_t>(input.number() % (kPlaceMax / rows::kChunkOffsets));
  const std::uint32_t flip = input.small();
  const std::string key = rows::key(rows::Kind::kSettled, partition, progress, chunk);
  check(
      key, input.rest(), flip,
      [chunk](std::string_view at, std::string_view value) {
        auto ranges = rows::decode_chunk(at, chunk, value);
        if (!ranges) return ranges;
        Offset before(chunk * rows::kChunkOffsets - 1);
        for (const OffsetRange& range : *ranges) {
          law(range.first > before && range.first <= range.last, "ranges ascend");
          before = range.last;
        }
        law(before < Offset((chunk + 1) * rows::kChunkOffsets), "ranges stay in their chunk");
        ackline::fuzz::planted(ranges->size() == 5);
        return ranges;
      },
      [chunk](std::string_view at, const std::vector<OffsetRange>& ranges) {
        return rows::encode_chunk(at, chunk, ranges);
      });
}

void check_delivery(Input& input, PartitionNumber partition, ProgressNumber progress) {
  const auto offset = static_cast<std::int64_t>(input.number() % kPlaceMax);
  const MonoMs now(static_cast<std::int64_t>(input.number() % kTimeMax));
  const std::uint64_t starts = input.byte();
  const std::uint32_t flip = input.small();
  const std::string key = rows::key(rows::Kind::kDelivery, partition, progress, offset);
  const auto place = rows::place_of(key);
  law(place && place->partition == partition && place->progress == progress &&
          place->place == offset,
      "a key says its place");
  check(
      key, input.rest(), flip,
      [&](std::string_view at, std::string_view value) {
        return rows::decode_delivery(at, *place, value, now, starts);
      },
      [&](std::string_view at, const ackline::state::DeliveryState& delivery) {
        return rows::encode(at, delivery, now, starts);
      });
}

void check_key(std::string_view text) {
  const auto place = rows::place_of(text);
  if (!place) return;
  const auto kind = static_cast<rows::Kind>(text.front());
  std::string again;
  switch (kind) {
    case rows::Kind::kHead:
      again = rows::prefix(kind, place->partition, place->progress);
      break;
    case rows::Kind::kNote:
      again = rows::note_key(place->partition, place->progress, place->note);
      break;
    case rows::Kind::kSettled:
    case rows::Kind::kDelivery:
      again = rows::key(kind, place->partition, place->progress, place->place);
      break;
    case rows::Kind::kShard:
      break;
  }
  law(again == text, "a key is put together as it was");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::uint8_t kind = input.byte() % 6;
  const PartitionNumber partition(input.small());
  const ProgressNumber progress(input.small());
  switch (kind) {
    case 0: {
      const std::uint32_t flip = input.small();
      check(rows::shard_key(partition.value(), ShardIndex(progress.value())), input.rest(), flip,
            rows::decode_shard,
            [](std::string_view key, const rows::ShardRow& row) { return rows::encode(key, row); });
      break;
    }
    case 1: {
      const std::uint32_t flip = input.small();
      check(rows::prefix(rows::Kind::kHead, partition, progress), input.rest(), flip,
            rows::decode_head,
            [](std::string_view key, const rows::HeadRow& row) { return rows::encode(key, row); });
      break;
    }
    case 2:
      check_chunk(input, partition, progress);
      break;
    case 3:
      check_delivery(input, partition, progress);
      break;
    case 4: {
      const std::uint32_t flip = input.small();
      const std::string_view note = input.text(input.byte() % 32);
      check(rows::note_key(partition, progress, note), input.rest(), flip, rows::decode_note,
            [](std::string_view key, const std::string& bytes) {
              return rows::encode_note(key, bytes);
            });
      break;
    }
    default:
      check_key(input.rest());
  }
  return 0;
}

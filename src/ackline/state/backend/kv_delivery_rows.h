// The rows that KvDeliveryStateStore keeps: keys that sort by partition, progress and place, and
// sealed values. Byte tables: docs/formats/deliveries.md.
//
// Pure, any thread. Errors: kCorrupt for a row that does not add up, kUnsupported for one of a
// newer version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/offset_range.h"
#include "ackline/base/result.h"
#include "ackline/state/delivery_state_store.h"

namespace ackline::state::rows {

// What a key is of. The letter is the key's first byte.
enum class Kind : char {
  kShard = 'h',     // shard_count, shard
  kHead = 'p',      // partition, progress
  kSettled = 's',   // partition, progress, chunk
  kDelivery = 'd',  // partition, progress, offset
  kNote = 'n',      // partition, progress, the caller's bytes
};

inline constexpr std::int64_t kChunkOffsets = 4096;

[[nodiscard]] std::string shard_key(std::uint32_t shards, ShardIndex shard);
// All keys of a kind; those of one partition; those of one progress on it.
[[nodiscard]] std::string prefix(Kind kind);
[[nodiscard]] std::string prefix(Kind kind, PartitionNumber partition);
[[nodiscard]] std::string prefix(Kind kind, PartitionNumber partition, ProgressNumber progress);
// `place`: offset, or number of the chunk.
[[nodiscard]] std::string key(Kind kind, PartitionNumber partition, ProgressNumber progress,
                              std::int64_t place);
[[nodiscard]] std::string note_key(PartitionNumber partition, ProgressNumber progress,
                                   std::string_view note);

// A key of head, settled, delivery or note taken apart again.
struct Place {
  PartitionNumber partition;
  ProgressNumber progress;
  std::int64_t place = 0;  // of settled and delivery
  std::string_view note;   // of note; into the key
};
[[nodiscard]] Result<Place> place_of(std::string_view key);

// What belongs to one shard as a whole.
struct ShardRow {
  MonoMs now;                // how far the store's time had come
  std::uint64_t starts = 0;  // unclean starts so far
  Lsn journal;               // records of the shard's journal up to here are in the rows
  friend bool operator==(const ShardRow&, const ShardRow&) = default;
};
[[nodiscard]] std::string encode(std::string_view key, const ShardRow& row);
[[nodiscard]] Result<ShardRow> decode_shard(std::string_view key, std::string_view value);

struct HeadRow {
  Generation generation;
  Offset frontier;
  friend bool operator==(const HeadRow&, const HeadRow&) = default;
};
[[nodiscard]] std::string encode(std::string_view key, const HeadRow& row);
[[nodiscard]] Result<HeadRow> decode_head(std::string_view key, std::string_view value);

// Settled ranges inside one chunk, ascending and disjoint.
[[nodiscard]] std::string encode_chunk(std::string_view key, std::int64_t chunk,
                                       const std::vector<OffsetRange>& ranges);
[[nodiscard]] Result<std::vector<OffsetRange>> decode_chunk(std::string_view key,
                                                            std::int64_t chunk,
                                                            std::string_view value);

// `now`: the store's time, to which the delivery's times are tied. `starts`: what a leased delivery
// lives through by being there, so that an unclean start rewrites no row.
[[nodiscard]] std::string encode(std::string_view key, const DeliveryState& delivery, MonoMs now,
                                 std::uint64_t starts);
[[nodiscard]] Result<DeliveryState> decode_delivery(std::string_view key, const Place& place,
                                                    std::string_view value, MonoMs now,
                                                    std::uint64_t starts);

[[nodiscard]] std::string encode_note(std::string_view key, std::string_view bytes);
[[nodiscard]] Result<std::string> decode_note(std::string_view key, std::string_view value);

}  // namespace ackline::state::rows

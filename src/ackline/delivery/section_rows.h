// The repeated parts of a delivery section (docs/formats/delivery-section.md): written here for the
// snapshot of a checkpoint and for the notes of a store of rows, so that both are the same bytes.
//
// Internal to snapshot.cc and stored.cc.
#pragma once

#include <string_view>

#include "ackline/base/bytes.h"
#include "ackline/delivery/model.h"

namespace ackline::delivery::section {

inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint8_t kGroupKind = 0;
inline constexpr std::uint8_t kLaneKind = 1;
inline constexpr std::uint8_t kLeasedFlag = 1;
inline constexpr std::uint8_t kErrorFlag = 2;
inline constexpr std::uint8_t kReopenedFlag = 1;

struct SlotRow {
  std::uint32_t index = 0;
  Offset offset;
  Epoch epoch;
  std::uint32_t offer = 0;
  bool leased = false;
  std::int64_t due_in_ms = 0;    // from the section's time
  std::int64_t since_in_ms = 0;  // the same, mostly below 0
  ClientNumber client;
  std::uint32_t size_bytes = 0;
  std::uint64_t key_hash = 0;
  std::uint32_t attempt = 0;
  std::uint8_t restarts = 0;
  std::uint8_t losses = 0;
  std::string_view error;
};

inline void put(ByteWriter& to, const SlotRow& row) {
  to.varint(row.index);
  to.varint(static_cast<std::uint64_t>(row.offset.value()));
  to.varint(row.epoch.value());
  to.varint(row.offer);
  to.u8(static_cast<std::uint8_t>((row.leased ? kLeasedFlag : 0U) |
                                  (row.error.empty() ? 0U : kErrorFlag)));
  to.svarint(row.due_in_ms);
  to.svarint(row.since_in_ms);
  to.varint(row.client.value());
  to.varint(row.size_bytes);
  to.u64(row.key_hash);
  to.varint(row.attempt);
  to.u8(row.restarts);
  to.u8(row.losses);
  if (!row.error.empty()) {
    to.blob(row.error);
  }
}

inline void put(ByteWriter& to, const DeadTable& dead, const DeadTable::Map::value_type& item) {
  const auto& [key, entry] = item;
  to.varint(static_cast<std::uint64_t>(key.source.value()));
  to.varint(key.generation.value());
  to.svarint(entry.dlq.value());
  to.varint(entry.redrives);
  to.u8(static_cast<std::uint8_t>(entry.state));
  to.u8(entry.reopened ? kReopenedFlag : 0);
  const auto error = dead.errors().find(key);
  to.blob(error == dead.errors().end() ? std::string_view{} : error->second);
}

inline void put(ByteWriter& to, const LaneItem& item) {
  to.varint(static_cast<std::uint64_t>(item.source.value()));
  to.svarint(item.dlq.value());
  to.u8(static_cast<std::uint8_t>(item.state));
}

// What stands before the frontier, without the generation.
struct HeadPart {
  Offset start;
  std::uint64_t gone = 0;
  bool clamped = false;
  Offset known_end;
  Offset offered_below;
};
inline void put_head(ByteWriter& to, const HeadPart& head) {
  to.svarint(head.start.value());
  to.varint(head.gone);
  to.u8(head.clamped ? 1 : 0);
  to.svarint(head.known_end.value());
  to.svarint(head.offered_below.value());
}
inline void put_head(ByteWriter& to, const Progress& progress) {
  put_head(to, HeadPart{.start = progress.start,
                        .gone = progress.gone,
                        .clamped = progress.clamped,
                        .known_end = progress.known_end,
                        .offered_below = progress.offered_below});
}

// What stands before a lane's items.
inline void put_head(ByteWriter& to, const LaneState& lane) {
  to.varint(lane.offered);
  to.varint((lane.rate_milli + 999) / 1000);  // the exact one is told again at the start
}

}  // namespace ackline::delivery::section

// Progress of groups as plain values: the monotonic export of the journal, and the truth where
// there is no journal (flows, connectors).
//
// A value is (incarnation, progress, generation, frontier), compared in that order, and never moves
// backwards (invariant 5): compare and put are one step under one lock. A group that is deleted and
// made again has another progress number, so that what was still on its way of the old one is not
// taken for the new one's. The frontier is inclusive; start - 1 before the first (vocabulary,
// "frontier").
//
// Blocking, any thread. Writes are not synced one by one: a power cut may lose those since the last
// `flush`, a kill -9 loses none. What was forgotten stays so.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/types.h"
#include "ackline/state/stateful_store.h"

namespace ackline::state {

// Names hold no '#', '/' or '@' (kBadName), so no key can be taken for another.
struct OffsetKey {
  std::string topic;
  std::string group;
  PartitionIndex partition;
  friend auto operator<=>(const OffsetKey&, const OffsetKey&) = default;
};

struct OffsetValue {
  Incarnation incarnation;
  // 0: not known, of a record from before there were numbers.
  ProgressNumber progress;
  Generation generation;
  Offset frontier;
  friend auto operator<=>(const OffsetValue&, const OffsetValue&) = default;

  // Whether this tells of that group of that topic, and not of one of the same name before it.
  [[nodiscard]] bool is_of(Incarnation topic, ProgressNumber group) const {
    return incarnation == topic && (progress == group || progress == ProgressNumber{});
  }
};

struct OffsetRecord {
  OffsetKey key;
  OffsetValue value;
  friend bool operator==(const OffsetRecord&, const OffsetRecord&) = default;
};

class OffsetStore : public StatefulStore {
 public:
  // nullopt: never written.
  [[nodiscard]] virtual Result<std::optional<OffsetValue>> read_offset(const OffsetKey& key) = 0;
  // True: moved there. False: already there or further, nothing changed; a success for the caller.
  // An error: not known to be written, so the delivery that waits for it stays in flight.
  [[nodiscard]] virtual Result<bool> write_offset(const OffsetKey& key, OffsetValue value) = 0;
  // The same for many in one atomic step (the export of a round); a key given twice: the higher one
  // counts. Returns how many moved. An error: none moved, kAmbiguous apart.
  [[nodiscard]] virtual Result<std::size_t> write_offsets(
      std::span<const OffsetRecord> records) = 0;
  // By topic, group, partition. `topic` "": all of them.
  [[nodiscard]] virtual Result<std::vector<OffsetRecord>> read_all_offsets(
      std::string_view topic) = 0;
  // Sorted, each once.
  [[nodiscard]] virtual Result<std::vector<std::string>> read_all_topics() = 0;
  // A deleted group (group "": all groups of a deleted topic). Returns how many values went.
  [[nodiscard]] virtual Result<std::size_t> forget(std::string_view topic,
                                                   std::string_view group) = 0;
};

}  // namespace ackline::state

// The nouns of Ackline as types that do not mix.
//
// The vocabulary of docs/guarantees.md: an Offset is a position in one partition, a PartitionIndex
// says which partition of its topic, a PartitionNumber names that partition for ever (numbers come
// from meta and are never reused, so a journal record of a deleted topic cannot be taken for one of
// a new topic of the same name).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace ackline {

// A number that is not interchangeable with another kind of number. Zero cost.
template <class Tag, class Rep>
class Strong {
 public:
  using rep = Rep;
  constexpr Strong() = default;
  constexpr explicit Strong(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Strong, Strong) = default;
  constexpr Strong& operator++() {
    ++value_;
    return *this;
  }
  [[nodiscard]] constexpr Strong plus(Rep n) const { return Strong(static_cast<Rep>(value_ + n)); }
  [[nodiscard]] constexpr Strong next() const { return plus(Rep{1}); }
  [[nodiscard]] constexpr Strong previous() const { return Strong(static_cast<Rep>(value_ - 1)); }

 private:
  Rep value_{};
};

// Position in one partition, from 0. -1 stands for "before the first" where a position may be none.
using Offset = Strong<struct OffsetTag, std::int64_t>;
// Which partition of its topic, 0 to count - 1.
using PartitionIndex = Strong<struct PartitionIndexTag, std::uint32_t>;
// A partition of one topic incarnation, unique in this data directory for ever; from meta, from 1.
using PartitionNumber = Strong<struct PartitionNumberTag, std::uint32_t>;
// A group of one topic incarnation, or a lane; from meta, from 1, never reused (invariant 12:
// "progress").
using ProgressNumber = Strong<struct ProgressNumberTag, std::uint32_t>;
// A subscription (topic incarnation, clientId); from meta, from 1, never reused. Records name
// clients by it.
using ClientNumber = Strong<struct ClientNumberTag, std::uint32_t>;
// Boot counter of this data directory, from 1.
using Epoch = Strong<struct EpochTag, std::uint32_t>;
// Each creation of a topic of one name is a new incarnation; from meta, from 1.
using Incarnation = Strong<struct IncarnationTag, std::uint64_t>;
// Counter of a group's progress on a partition, from 1; raised by reset and replay.
using Generation = Strong<struct GenerationTag, std::uint32_t>;
// Place of a batch in one shard's journal, from 1, without holes.
using Lsn = Strong<struct LsnTag, std::uint64_t>;
// Index of a shard, 0 to count - 1.
using ShardIndex = Strong<struct ShardIndexTag, std::uint32_t>;

// Monotonic time in milliseconds; its zero means nothing. Leases and retries live on it.
using MonoMs = Strong<struct MonoMsTag, std::int64_t>;
// Wall clock, milliseconds since 1970-01-01T00:00:00Z. For display, event times and retention only.
using WallMs = Strong<struct WallMsTag, std::int64_t>;

}  // namespace ackline

template <class Tag, class Rep>
struct std::hash<ackline::Strong<Tag, Rep>> {
  std::size_t operator()(ackline::Strong<Tag, Rep> strong) const noexcept {
    return std::hash<Rep>{}(strong.value());
  }
};

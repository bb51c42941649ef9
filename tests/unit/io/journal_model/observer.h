// What the journal's rules promise, seen from outside: one partition, its dead letters, one group.
//
// `PartitionState` is what records make of a partition. `Observer` is the memory of everybody who
// was told something (publishers, readers, clients); its checks are the promises. Both are used by
// the abstract model and by the walk over the real code, so that they are judged alike.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace ackline::io::model {

inline constexpr int kOffsets = 4;
inline constexpr int kIds = 32;  // an id is epoch * 8 + offer

enum class Kind : std::uint8_t { kPublish, kOffer, kEnd, kSettle, kDead, kDeadLetter };

struct Record {
  Kind kind = Kind::kPublish;
  std::uint8_t offset = 0;
  std::uint8_t value = 0;  // event of a publish, id of an offer
  bool operator==(const Record&) const = default;
};

// The partition itself and the group's state on it.
struct PartitionState {
  std::uint8_t count = 0;  // next offset
  std::array<std::uint8_t, kOffsets> events{};
  std::array<std::uint8_t, kOffsets> id{};  // of the latest offer; 0 none
  std::uint8_t live = 0;                    // bit per offset: offered and not ended
  std::uint8_t settled = 0;
  std::uint8_t dead = 0;

  // False when the record cannot follow what is there.
  [[nodiscard]] bool apply(const Record& r) {
    const auto bit = static_cast<std::uint8_t>(1U << r.offset);
    if (r.kind == Kind::kPublish) {
      if (r.offset != count || count == kOffsets) return false;
      events[count++] = r.value;
      return true;
    }
    if (r.offset >= count) return false;
    if (r.kind == Kind::kOffer) {
      id[r.offset] = r.value;
      live |= bit;
      return true;
    }
    live &= static_cast<std::uint8_t>(~bit);
    if (r.kind == Kind::kSettle) settled |= bit;
    if (r.kind == Kind::kDead) {
      settled |= bit;
      dead |= bit;
    }
    return true;
  }
  bool operator==(const PartitionState&) const = default;
};

// The dead-letter partition: how often each offset was appended.
struct DeadLetters {
  std::array<std::uint8_t, kOffsets> count{};
  void apply(const Record& r) { ++count[r.offset]; }
  bool operator==(const DeadLetters&) const = default;
};

struct Observer {
  std::uint32_t accepted = 0;                 // events whose publish was answered 202
  std::array<std::uint8_t, kOffsets> seen{};  // event a reader saw at the offset; 0 none
  std::uint8_t answered = 0;                  // offsets whose ack was answered 200
  std::uint8_t visible = 0;                   // offsets shown as settled by a progress answer
  std::uint32_t issued = 0;                   // ids that a client got
  std::uint32_t over = 0;                     // ids that are lost or replaced: never current again

  void deliver(const PartitionState& state, int offset, std::uint8_t id, std::uint8_t before) {
    const auto at = static_cast<std::size_t>(offset);
    if (seen[at] == 0) seen[at] = state.events[at];
    issued |= 1U << id;
    if (before != 0) over |= 1U << before;
  }

  // After a restart: what was handed out and is not there any more is lost for good.
  void restarted(const PartitionState& state, bool power_cut) {
    std::uint32_t current = 0;
    for (std::size_t o = 0; o < state.count; ++o) {
      if (((state.live >> o) & 1U) != 0) current |= 1U << state.id[o];
    }
    over |= issued & ~current;
    // A power cut may take what was answered within the interval, but not what was shown as synced.
    if (power_cut) answered &= static_cast<std::uint8_t>(state.settled | visible);
  }

  // "" while every promise holds.
  [[nodiscard]] std::string broken(const PartitionState& state, const DeadLetters& letters) const {
    for (std::size_t o = 0; o < kOffsets; ++o) {
      const bool there = o < state.count;
      if (seen[o] != 0 && there && state.events[o] != seen[o]) {
        return "an offset that a reader saw is given to another event";
      }
      if (there && ((state.live >> o) & 1U) != 0 && ((over >> state.id[o]) & 1U) != 0) {
        return "a lost or replaced deliveryId is current again";
      }
      const bool dead = ((state.dead >> o) & 1U) != 0;
      if (dead && letters.count[o] == 0) return "settled as dead without its dead letter";
      if (letters.count[o] > (dead ? 1 : 0)) return "a dead letter without its settle";
    }
    std::uint32_t present = 0;
    for (std::size_t o = 0; o < state.count; ++o) present |= 1U << state.events[o];
    if ((accepted & ~present) != 0) return "an accepted event is lost";
    if ((visible & ~state.settled) != 0) return "a settle shown as synced is undone";
    if ((answered & ~state.settled) != 0) return "an answered ack is undone";
    return "";
  }
  bool operator==(const Observer&) const = default;
};

}  // namespace ackline::io::model

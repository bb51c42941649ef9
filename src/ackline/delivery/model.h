// What a dispatcher holds: partitions, groups, clients, and the progress of each group or lane on
// each partition. Plain data; the rules are in `impl.h`'s sources.
#pragma once

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackline/base/types.h"
#include "ackline/delivery/dead_table.h"
#include "ackline/delivery/dispatcher.h"
#include "ackline/delivery/key_table.h"
#include "ackline/delivery/slot.h"
#include "ackline/frontier/frontier.h"
#include "ackline/io/timer_wheel.h"

namespace ackline::delivery {

struct Progress;
struct Client;

struct Partition {
  PartitionSpec spec;
  std::vector<Progress*> progress;  // groups and lanes on it
};

struct Group {
  GroupSpec spec;
  std::vector<Client*> clients;
  std::vector<Client*> open;  // of these, who takes offers now
  std::size_t turn = 0;       // round robin over `open`
  std::vector<Progress*> progress;
  std::deque<Progress*> run;      // may have something to offer
  std::vector<Progress*> parked;  // have something, but for no client that is open now
  bool queued = false;            // in the dispatcher's list of groups with work
};

struct Client {
  ClientSpec spec;
  Group* group = nullptr;
  std::uint32_t window_events = 0;
  std::uint64_t window_bytes = 0;
  std::uint32_t demand = 0;
  std::uint32_t held = 0;
  std::uint64_t held_bytes = 0;
  Progress* short_of = nullptr;  // whose next event it had no room for: closed until there is
  bool short_suspect = false;    // that event is a suspect
  std::uint32_t suspects = 0;
  bool connected = false;
  bool grace_over = false;          // in a drain, which ends no lease
  std::uint32_t open_at = kNoSlot;  // place in Group::open
  std::uint32_t node = kNoSlot;     // timer of the reconnect grace
  boost::unordered_flat_map<Progress*, SlotList> holding;

  // A client that names no partitions takes all of them.
  [[nodiscard]] bool takes(PartitionIndex partition) const {
    return spec.partitions.empty() ||
           std::ranges::find(spec.partitions, partition) != spec.partitions.end();
  }
  // One event larger than the whole window may still go to a client that holds nothing.
  [[nodiscard]] bool fits(std::uint64_t bytes) const {
    return held == 0 || held_bytes + bytes <= window_bytes;
  }
};

// Where an event is read: in its own partition, or its copy in the dead-letter partition.
struct ReadPlace {
  PartitionNumber partition;
  Offset offset;
  friend bool operator==(const ReadPlace&, const ReadPlace&) = default;
};

// One event of a lane's part. In `kDeadAgain` without an entry it is gone: retention took it before
// its turn came.
enum class LaneItemState : std::uint8_t { kOpen, kInFlight, kResolved, kDeadAgain };
struct LaneItem {
  Offset source;
  Offset dlq;  // its dead letter; -1: it has none, the event itself is delivered (a replay)
  LaneItemState state = LaneItemState::kOpen;
  [[nodiscard]] bool has_entry() const { return dlq >= Offset(0); }
  [[nodiscard]] bool is_open() const {
    return state == LaneItemState::kOpen || state == LaneItemState::kInFlight;
  }
};

struct LaneState {
  ProgressNumber number;
  std::vector<LaneItem> items;  // ascending by source
  bool reduced = false;         // it is done: `items` are gone, the counts stay
  std::size_t next = 0;         // everything before is not kOpen
  std::uint64_t offered = 0;
  std::uint64_t resolved = 0;
  std::uint64_t dead_again = 0;
  std::uint64_t gone = 0;
  std::uint64_t rate_milli = 0;  // offers in 1000 s; 0: no limit
  std::int64_t tokens_micro = 0;
  MonoMs tokens_at;
  [[nodiscard]] std::uint64_t left() const {
    return reduced ? 0 : items.size() - resolved - dead_again - gone;
  }
  [[nodiscard]] LaneItem* find(Offset source);
};

enum class Place : std::uint8_t { kIdle, kRunning, kParked };

// Sizes of the next event and of the next suspect of a progress.
using ShortBytes = std::array<std::uint32_t, 2>;

// One group on one partition, or one lane's part.
struct Progress {
  Progress(ProgressKey of, Group& of_group, Partition& on, Offset from, std::uint64_t ahead_max,
           MonoMs now)
      : key(of),
        group(&of_group),
        partition(&on),
        frontier(from, ahead_max),
        slots(now),
        wheel(now),
        start(from) {}

  // What every delivery touches lies together: with a thousand partitions all of it is cold.
  ProgressKey key;
  Group* group;
  Partition* partition;
  std::uint32_t next_offer = 0;
  Place place = Place::kIdle;
  bool in_parked = false;    // listed in Group::parked, perhaps from before
  bool went_hungry = false;  // parked without having offered anything: it looks first next time
  bool ahead_limited = false;
  bool reading = false;  // a read is on its way
  bool resend_queued = false;
  bool clamped = false;
  bool touched = false;          // restored, or a record spoke of it
  bool has_unread = false;       // `unread` is not empty
  std::uint32_t node = kNoSlot;  // timer of the earliest thing here
  // What found no client with so much room, 0: nothing did. Clients wait for it (`short_of`); where
  // it is 0 none does.
  ShortBytes short_bytes{};
  std::uint64_t leased = 0;
  std::uint64_t waiting = 0;  // all that is in a slot and not leased
  Generation generation{1};
  Offset known_end;      // one past the highest offset that is settled or was in flight
  Offset offered_below;  // offsets below may have been offered before (an earlier generation)
  std::unique_ptr<LaneState> lane;
  frontier::Frontier frontier;  // idle in a lane
  SlotSlab slots;
  SlotList ready;           // may be offered again, oldest first
  SlotList ready_suspects;  // the same, for a client without a suspect
  io::TimerWheel<SlotSlab> wheel;
  KeyTable keys;
  DeadTable dead;
  Offset start;
  boost::unordered_flat_map<std::uint32_t, std::string> errors;  // last error, by slot
  std::uint64_t gone = 0;

  // Work.
  std::optional<MonoMs> read_again_at;    // after one that failed
  std::optional<ReadPlace> arrived_from;  // one that came
  log::ReadBatch arrived;
  struct Unread {
    Offset offset;
    std::uint32_t slot;
  };
  std::vector<Unread> unread;  // in flight, key or size not known; the lowest last (reorder.cc)
  struct Resend {
    std::uint32_t slot;
    Epoch epoch;
    std::uint32_t offer;
  };
  std::deque<Resend> resends;
  boost::unordered_flat_map<std::int64_t, std::uint32_t> recovery;  // offset -> slot, in recovery

  [[nodiscard]] bool is_lane() const { return lane != nullptr; }
  [[nodiscard]] std::uint32_t max_attempts() const { return group->spec.policy.max_attempts; }
};

// The shard-wide wheel's entries: a progress or a client with something to do at a time.
struct TimerNode {
  io::TimerLinks timer{};
  MonoMs due{};
  Progress* progress = nullptr;
  Client* client = nullptr;
  std::uint32_t next_free = kNoSlot;
};

class TimerNodes {
 public:
  [[nodiscard]] std::uint32_t add(Progress* progress, Client* client) {
    std::uint32_t index = free_;
    if (index == kNoSlot) {
      index = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    } else {
      free_ = nodes_[index].next_free;
    }
    nodes_[index] = TimerNode{.progress = progress, .client = client};
    return index;
  }
  void remove(std::uint32_t index) {
    nodes_[index] = TimerNode{.next_free = free_};
    free_ = index;
  }
  [[nodiscard]] TimerNode& operator[](std::uint32_t index) { return nodes_[index]; }
  [[nodiscard]] io::TimerLinks& timer_links(std::uint32_t index) { return nodes_[index].timer; }
  [[nodiscard]] MonoMs timer_due(std::uint32_t index) const { return nodes_[index].due; }
  [[nodiscard]] std::size_t memory_bytes() const { return nodes_.capacity() * sizeof(TimerNode); }

 private:
  std::vector<TimerNode> nodes_;
  std::uint32_t free_ = kNoSlot;
};

}  // namespace ackline::delivery

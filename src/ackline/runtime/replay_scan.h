// Chooses the events of a replay by filter on one shard: what lies in the range, matches, and is
// terminal for the group (invariant 18).
//
// Walks the partitions in steps of one bounded read each. The shard's thread only hands the bytes
// over and asks its dispatcher; cold reads and the filter run on storage threads, so a walk over
// millions of events holds up nobody. Left out: what the group's own filter skips, what has
// expired, and what another lane has under way. The shard's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ackline/event/filter.h"
#include "ackline/runtime/shard.h"

namespace ackline::runtime {

struct ReplaySelection {
  struct Range {
    Offset from;
    std::optional<Offset> until;  // exclusive; none: what is there when its step comes
  };
  TopicPtr topic;
  GroupPtr group;
  std::map<std::uint32_t, Range> ranges;  // by partition index
  std::optional<event::Filter> filter;    // none: every event
  WallMs now;
  std::uint64_t max_events = 0;  // more than that is an error (kTooLarge)
};

struct ReplayFound {
  Offset frontier;              // of the group; it does not move
  std::vector<Offset> offsets;  // ascending
  std::uint64_t matched = 0;    // also those that are not terminal, or under way
  std::uint64_t bytes = 0;      // frames of `offsets`
};

struct ReplayPart {
  std::map<std::uint32_t, ReplayFound> found;  // by partition index
  std::optional<Error> error;
};

void scan_replay(Shard& shard, std::shared_ptr<const ReplaySelection> selection,
                 std::move_only_function<void(ReplayPart)> done);
// The error of a replay that means too much: too many events, or too far apart for one record.
[[nodiscard]] Error too_many_to_replay(std::uint64_t max_events);
[[nodiscard]] Error too_sparse_to_replay(std::uint64_t events);

}  // namespace ackline::runtime

// What a dispatcher says of its state: plain values behind lag, holes, explain, dead letters and
// clients.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ackline/base/offset_range.h"
#include "ackline/base/types.h"
#include "ackline/delivery/delivery_id.h"
#include "ackline/state/records.h"

namespace ackline::delivery {

// A group on a partition. `high watermark` and log start are the log's; the shard adds them.
struct ProgressReport {
  Generation generation;
  Offset frontier;                  // inclusive
  Offset cursor;                    // next offset to offer
  Offset start;                     // the group's resolved start in this generation
  std::uint64_t settled_ahead = 0;  // existing events past the frontier that are terminal
  std::uint64_t in_flight = 0;      // leased
  std::uint64_t waiting = 0;        // waiting for a retry, dead-lettering included
  std::uint64_t blocked = 0;        // behind their key
  std::uint64_t holes = 0;
  std::uint64_t dead = 0;                // dead entries, state `dead` or `redriving`
  std::uint64_t gone = 0;                // taken by retention before they were passed
  bool clamped = false;                  // retention passed the frontier in this generation
  std::optional<Offset> oldest_pending;  // lowest offset that exists and is not terminal, below the
                                         // cursor; else cursor
  Offset known_end;  // what is pending below it is in the holes; above the cursor after a start
};

struct Hole {
  Offset from;
  Offset to;  // inclusive
  std::uint64_t events = 0;
  std::uint64_t leased = 0;
  std::uint64_t waiting = 0;
  std::uint64_t blocked = 0;
  std::uint64_t dead_lettering = 0;
  std::optional<MonoMs> oldest;  // since when its oldest delivery is what it is
};

struct HolePage {
  std::vector<Hole> holes;
  std::optional<Offset> next;  // `from` of the next page
  std::uint64_t total = 0;
};

enum class BlockerState : std::uint8_t {
  kLeased,
  kWaitingRetry,
  kBlockedByKey,
  kDeadLettering,
  kNotOffered,
  kAheadLimit,
};

// What stands at frontier + 1.
struct BlockerReport {
  bool caught_up = false;  // nothing below the end is left; the rest is empty
  Offset offset;
  BlockerState state = BlockerState::kNotOffered;
  std::uint64_t settled_behind = 0;
  ClientNumber client;  // 0: nobody
  std::string client_id;
  std::optional<DeliveryId> id;
  std::uint32_t attempt = 0;
  std::uint32_t max_attempts = 0;
  std::optional<MonoMs> since;
  std::optional<std::int64_t> lease_left_ms;
  std::optional<std::int64_t> next_attempt_in_ms;
  std::string last_error;
  bool has_client = false;               // some client could take offers of this partition
  bool ahead_limited = false;            // the bound on events past the frontier is reached
  std::optional<std::int64_t> stuck_ms;  // something could be offered and is not, for so long
};

struct DeliveryReport {
  Offset offset;
  DeliveryId id;
  std::uint32_t attempt = 0;
  BlockerState state = BlockerState::kLeased;
  ClientNumber client;
  std::int64_t left_ms = 0;  // of the lease or the wait
};

struct ReopenReport {
  Offset frontier_before;
  Offset frontier_after;
  std::uint64_t reopened = 0;
  // Of a replay: where the events lie that are open again, ascending. At most `kRangesMax`; with
  // more of them the last one spans the rest, also what lies in between.
  static constexpr std::size_t kRangesMax = 1000;
  std::vector<OffsetRange> ranges = {};
  std::uint64_t skipped = 0;
  std::uint64_t dropped_in_flight = 0;
  Generation generation;
};

enum class EntryState : std::uint8_t { kDead, kRedriving, kResolved, kPurged };

struct DeadEntry {
  Offset source;  // offset of the event
  Offset dlq;     // offset of its record in the dead-letter partition
  Generation generation;
  EntryState state = EntryState::kDead;
  std::uint32_t redrives = 0;
  std::string last_error;  // of the last redrive; empty: as in the record
};

struct LanePart {
  ProgressNumber lane;
  ProgressNumber group;
  PartitionNumber partition;
  state::LaneKind kind = state::LaneKind::kRedrive;
  // Redrive: offsets in the dead-letter partition; empty: every dead entry of the group on the
  // partition. Replay: offsets of events.
  std::vector<Offset> entries;
  std::uint64_t rate_milli = 0;  // of this part alone: offers in 1000 s; 0: no limit
};

struct LanePartReport {
  std::uint64_t matched = 0;
  std::uint64_t taken = 0;
};

struct LaneReport {
  std::uint64_t offered = 0;
  std::uint64_t resolved = 0;
  std::uint64_t dead_again = 0;
  std::uint64_t gone = 0;  // retention took the event before its turn
  std::uint64_t left = 0;
};

struct ClientReport {
  ClientNumber client;
  std::string client_id;
  ProgressNumber group;
  bool connected = false;
  std::uint64_t in_flight = 0;
  std::uint64_t in_flight_bytes = 0;
  std::uint32_t window_events = 0;
  std::uint64_t window_bytes = 0;
};

}  // namespace ackline::delivery

// What the admin routes call. The runtime implements it.
//
// Same thread rules as `traffic.h`. Reports include everything that was answered before the call
// came: the runtime starts a round and waits for it (invariant 13).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackline/api/traffic.h"
#include "ackline/delivery/report.h"
#include "ackline/event/query.h"

namespace ackline::api {

// --- topics
struct Retention {
  std::optional<std::int64_t> age_ms;
  std::optional<std::uint64_t> bytes;  // per partition
};
enum class PartitionState : std::uint8_t { kOk, kQuarantined, kPoisoned };
struct PartitionOffsets {
  Offset log_start;
  Offset high_watermark;
  PartitionState state = PartitionState::kOk;
};
struct TopicItem {
  std::string name;
  std::uint32_t partitions = 0;
  std::string partitioner;
  bool dlq = false;
  Retention retention;
  std::uint64_t bytes = 0;
  std::map<std::uint32_t, PartitionOffsets> offsets;
};
struct TopicCreate {
  std::string name;
  std::optional<std::uint32_t> partitions;
  std::optional<std::string> partitioner;
  Retention retention;
};
struct Removed {
  bool removed = false;
  std::string audit_id;
};

// --- groups, clients
struct GroupItem {
  std::string topic;
  std::string group;
  delivery::Mode mode = delivery::Mode::kClustering;
  delivery::Ordering ordering = delivery::Ordering::kNone;
  std::uint32_t max_attempts = 0;
  std::vector<std::int64_t> backoff_ms;
  std::string filter_json;  // "" = none
  bool dead_letter_expired = false;
  // Null: the partition is quarantined.
  std::map<std::uint32_t, std::optional<Generation>> generations;
  std::uint64_t clients = 0;
  // False: the sums are of some partitions only, and shown as unknown.
  bool known = true;
  std::uint64_t lag = 0;
  std::uint64_t pending = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t waiting = 0;
  std::uint64_t dead_letters = 0;
  std::uint64_t gone = 0;
};
struct GroupPatch {
  std::string topic;
  std::string group;
  std::optional<delivery::Mode> mode;
  std::optional<delivery::Ordering> ordering;
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::vector<std::int64_t>> backoff_ms;
  std::optional<std::string> filter_json;
  std::optional<bool> dead_letter_expired;
};
struct GroupPatched {
  GroupItem item;
  std::string audit_id;
};
struct SubscriptionItem {
  std::string subscription_id;
  std::string client_id;
  std::string topic;
  std::string group;
  delivery::Mode mode = delivery::Mode::kClustering;
  std::vector<std::uint32_t> partitions;
  std::string filter_json;
  std::string instance;
  WallMs since;
};
struct ClientItem {
  std::string client_id;
  std::string topic;
  std::string group;
  std::string channel;  // "sse", "poll", "none"
  bool connected = false;
  std::uint64_t in_flight = 0;
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t credit_events = 0;
  std::uint64_t pending = 0;  // offered, not yet sent
  WallMs last_seen;
  std::string remote;
};
struct OffsetItem {
  std::string group;
  std::uint32_t partition = 0;
  Offset frontier;
  Generation generation;
  std::optional<WallMs> written_time;  // nullopt: not known
};

// --- progress
struct PartitionLag {
  // False: the partition is quarantined, its numbers are not to be trusted and shown as unknown.
  bool known = true;
  delivery::ProgressReport report;
  Offset log_start;
  Offset high_watermark;
  std::uint64_t lag = 0;
  std::uint64_t pending = 0;
  std::uint64_t lag_bytes = 0;  // of pending events
  double lag_seconds = 0;       // age of the oldest pending event
  bool clamped = false;
};
struct LagAudit {
  // Null where a partition is quarantined: there is nothing to hold a count against.
  std::optional<std::uint64_t> recount;
  std::optional<bool> equal;
};
struct GroupLag {
  std::string topic;
  std::string group;
  WallMs as_of;
  std::map<std::uint32_t, PartitionLag> partitions;
  std::optional<LagAudit> audit;
};
struct HoleItem {
  std::uint32_t partition = 0;
  delivery::Hole hole;
  std::optional<WallMs> oldest_time;
};
struct HolesAnswer {
  WallMs as_of;
  std::optional<std::uint64_t> total;                    // unknown where partitions are left out
  std::vector<std::uint32_t> quarantined;                // these are
  std::optional<std::pair<std::uint32_t, Offset>> next;  // partition, from
  std::vector<HoleItem> items;
};
struct HolesQuery {
  std::string topic;
  std::string group;
  std::optional<std::uint32_t> partition;
  std::uint32_t limit = 100;
  std::optional<std::pair<std::uint32_t, Offset>> after;
};
struct ExplainPartition {
  PartitionLag lag;
  delivery::BlockerReport blocker;
  std::optional<WallMs> since;
  double for_seconds = 0;
  std::string delivery_id;  // text of `blocker.id`; "" when there is none
  std::string event_id;
  std::string event_type;
  std::optional<std::string> event_key;
  bool quarantined = false;
  std::string quarantine_detail;
};
struct ExplainAnswer {
  WallMs as_of;
  std::map<std::uint32_t, ExplainPartition> partitions;
  std::uint64_t clients = 0;  // live ones of the group
};
struct ReopenQuery {
  std::string topic;
  std::string group;
  Position to;                            // replay: `from`
  std::vector<std::uint32_t> partitions;  // empty: all
  bool dry_run = false;
  bool reset = false;  // false: replay
  // Of a replay; either makes it a lane, which moves no frontier.
  std::optional<Position> until;           // exclusive
  std::optional<std::string> filter_json;  // canonical; "" = every event
  std::uint32_t rate_per_second = 0;       // of the lane; 0 = no limit
  [[nodiscard]] bool is_lane() const { return until.has_value() || filter_json.has_value(); }
};
struct ReopenPartition {
  delivery::ReopenReport report;
  std::uint64_t events = 0;  // replay: re-opened events
  std::uint64_t bytes = 0;
  std::optional<Offset> first;
  std::optional<Offset> last;
  // Of a lane: events that match and are not done yet: in flight, waiting, or in another lane.
  std::uint64_t left_out = 0;
};
struct ReopenAnswer {
  std::map<std::uint32_t, Result<ReopenPartition>> partitions;
  std::string audit_id;  // "" in a dry run
  std::string lane_id;   // of a replay that is a lane; "" when there was nothing to start
};

// --- events and dead letters
struct EventsQuery {
  std::string topic;
  std::optional<std::uint32_t> partition;
  event::EventQuery query;
  std::uint32_t limit = 100;
  std::map<std::uint32_t, Offset> cursor;
};
struct EventItem {
  std::uint32_t partition = 0;
  Offset offset;
  WallMs time;
  std::string frame;
};
struct EventsAnswer {
  std::vector<EventItem> items;
  std::map<std::uint32_t, Offset> next;
  bool end = false;
  std::uint64_t scanned = 0;
  std::vector<std::uint32_t> quarantined;  // left out
};
// Of the frames of one page, of events or of dead letters: about. Shared among those who read.
inline constexpr std::uint64_t kPageBytes = std::uint64_t{16} << 20U;
// Of one redrive or purge: its offsets are one record in meta.
inline constexpr std::uint32_t kJobEntriesMax = 100'000;
struct DeadLetterQuery {
  std::string topic;  // the source topic
  std::optional<std::string> group;
  std::vector<std::string> ids;  // "<dlqTopic>:<partition>:<offset>"; empty: no choice by id
  std::optional<std::string> reason;
  std::optional<delivery::EntryState> state;
  std::optional<WallMs> since;
  std::optional<WallMs> until;
  std::optional<std::string> filter_json;
  std::optional<std::uint32_t> max;
  std::optional<std::string> after;  // opaque, as `next` gave it
};
struct DeadLetterItem {
  std::string id;
  std::string group;
  std::string reason;
  std::uint32_t attempts = 0;
  std::string last_error;
  WallMs dead_time;
  std::string origin_topic;
  std::uint32_t origin_partition = 0;
  Offset origin_offset;
  std::string origin_delivery_id;
  delivery::EntryState state = delivery::EntryState::kDead;
  std::uint32_t redrives = 0;
  std::string frame;  // whole, `dlq...` extensions included; the route leaves them out
};
struct DeadLetterPage {
  std::string dlq_topic;
  std::optional<std::uint64_t> total;  // unknown under a filter, and where partitions are left out
  std::optional<std::string> next;
  std::vector<std::uint32_t> quarantined;  // left out
  std::vector<DeadLetterItem> items;
};
struct LaneItem {
  std::string lane_id;                // "" when there was nothing to start, or in a dry run
  std::vector<std::string> lane_ids;  // one a group, when the entries belong to several groups
  std::string kind;                   // "redrive", "replay"
  std::string topic;
  std::string group;
  bool dry_run = false;
  std::uint64_t matched = 0;
  std::uint64_t started = 0;
  std::uint64_t already_redriven = 0;
  std::string state;  // starting, running, done
  std::uint64_t offered = 0;
  std::uint64_t resolved = 0;
  std::uint64_t dead_again = 0;
  std::uint64_t gone = 0;
  std::string filter_json;  // of a replay; "" = none
  std::string audit_id;
};
struct RedriveRequest {
  DeadLetterQuery which;
  std::uint32_t rate_per_second = 100;
  bool dry_run = false;
};
struct Purged {
  std::uint64_t purged = 0;
  std::string audit_id;
};

// --- the server
struct HealthCheck {
  std::string name;
  bool ok = true;
  std::string detail;
};
struct DrainState {
  std::string state;  // "serving", "draining"
  std::uint64_t in_flight = 0;
};

class Admin {
 public:
  virtual ~Admin() = default;
  virtual void topics(Done<std::vector<TopicItem>> done) = 0;
  virtual void topic(std::string name, Done<TopicItem> done) = 0;
  virtual void create_topic(TopicCreate request, Done<TopicItem> done) = 0;
  virtual void delete_topic(std::string name, bool force, Done<Removed> done) = 0;
  virtual void groups(std::optional<std::string> topic, Done<std::vector<GroupItem>> done) = 0;
  virtual void group(std::string topic, std::string group, Done<GroupItem> done) = 0;
  virtual void patch_group(GroupPatch patch, Done<GroupPatched> done) = 0;
  virtual void delete_group(std::string topic, std::string group, bool force,
                            Done<Removed> done) = 0;
  virtual void subscriptions(std::optional<std::string> topic,
                             Done<std::vector<SubscriptionItem>> done) = 0;
  virtual void clients(std::optional<std::string> topic, Done<std::vector<ClientItem>> done) = 0;
  virtual void reject_client(std::string client_id, Done<Removed> done) = 0;
  virtual void offsets(std::string topic, Done<std::vector<OffsetItem>> done) = 0;

  // nullopt topic or group: every one of them.
  virtual void lag(std::optional<std::string> topic, std::optional<std::string> group, bool audit,
                   Done<std::vector<GroupLag>> done) = 0;
  virtual void holes(HolesQuery query, Done<HolesAnswer> done) = 0;
  virtual void explain(std::string topic, std::string group, std::optional<std::uint32_t> partition,
                       Done<ExplainAnswer> done) = 0;
  virtual void reopen(ReopenQuery query, Done<ReopenAnswer> done) = 0;

  virtual void events(EventsQuery query, Done<EventsAnswer> done) = 0;
  virtual void browse_dead(DeadLetterQuery query, Done<DeadLetterPage> done) = 0;
  virtual void redrive(RedriveRequest request, Done<LaneItem> done) = 0;
  virtual void purge_dead(DeadLetterQuery which, Done<Purged> done) = 0;
  virtual void lanes(std::optional<std::string> topic, std::optional<std::string> group,
                     Done<std::vector<LaneItem>> done) = 0;
  virtual void lane(std::string lane_id, Done<LaneItem> done) = 0;
  virtual void end_lane(std::string lane_id, Done<Removed> done) = 0;

  virtual void drain(bool on, Done<DrainState> done) = 0;
  // What a drain waits for; changes nothing.
  virtual void drain_progress(Done<DrainState> done) = 0;
  // Any thread; does not wait.
  [[nodiscard]] virtual std::vector<HealthCheck> readiness() const = 0;
};

}  // namespace ackline::api

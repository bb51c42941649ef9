// What exists: topics, groups, subscriptions and lanes, as every shard knows them.
//
// Meta is the truth (invariant 31). The control plane changes meta first and then hands the same
// `Delta` to every shard, so that each has a catalog of its own and reads it without a lock.
// Entities are immutable and shared; a change replaces one. A catalog belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ackline/api/admin.h"
#include "ackline/base/types.h"
#include "ackline/delivery/policy.h"
#include "ackline/event/partitioner.h"
#include "ackline/state/records.h"
#include "ackline/state/subscription_store.h"

namespace ackline::runtime {

struct Topic {
  std::string name;
  Incarnation incarnation;
  event::PartitionerKind partitioner = event::PartitionerKind::kMurmur2;
  api::Retention retention;
  std::vector<PartitionNumber> partitions;
  std::vector<PartitionNumber> dead_letters;  // same count, partition i of `<name>_DLQ`
  WallMs created_at;
};

struct Group {
  ProgressNumber number;
  std::string topic;
  std::string name;
  std::string principal;
  Incarnation incarnation;  // of the topic
  delivery::GroupPolicy policy;
  std::string filter_json;    // canonical; "" = none
  std::vector<Offset> start;  // by partition index; later partitions start at 0
  WallMs created_at;
  WallMs empty_since;  // the last subscription went; 0 while there is one
};

using Subscription = state::Subscription;

enum class LaneState : std::uint8_t { kStarting = 1, kRunning = 2, kDone = 3 };

// A redrive, or a replay by filter (invariant 18).
struct Lane {
  ProgressNumber number;
  std::string topic;
  std::string group;
  ProgressNumber group_number;
  state::LaneKind kind = state::LaneKind::kRedrive;
  LaneState state = LaneState::kStarting;
  std::uint32_t rate_per_second = 0;
  std::uint64_t matched = 0;
  std::uint64_t started = 0;
  std::uint64_t already_redriven = 0;
  // Counts that were final when the lane ended; a running one is counted by the shards.
  std::uint64_t offered = 0;
  std::uint64_t resolved = 0;
  std::uint64_t dead_again = 0;
  std::uint64_t gone = 0;  // of a replay: retention was faster
  std::string audit_id;
  std::string filter_json;  // of a replay; "" = every event of its range
  // Chosen by partition index, ascending: offsets in the dead-letter partition, of a replay those
  // of the events.
  std::map<std::uint32_t, std::vector<Offset>> entries;
};

using TopicPtr = std::shared_ptr<const Topic>;
using GroupPtr = std::shared_ptr<const Group>;
using SubscriptionPtr = std::shared_ptr<const Subscription>;
using LanePtr = std::shared_ptr<const Lane>;

struct RemoveTopic {
  std::string name;
};
struct RemoveGroup {
  std::string topic;
  std::string name;
};
struct RemoveSubscription {
  std::string topic;
  std::string client_id;
};
struct RemoveLane {
  ProgressNumber number;
};
using Change = std::variant<TopicPtr, GroupPtr, SubscriptionPtr, LanePtr, RemoveTopic, RemoveGroup,
                            RemoveSubscription, RemoveLane>;
using Delta = std::vector<Change>;

// Where a partition number belongs.
struct PartitionPlace {
  TopicPtr topic;
  PartitionIndex index;
  bool dead_letter = false;
};

// Next numbers to give out: lower ones that nothing has are tombstoned, higher ones unknown (J1).
struct Numbers {
  std::uint32_t partition = 1;
  std::uint32_t progress = 1;
  std::uint32_t client = 1;
  std::uint64_t incarnation = 1;
  friend bool operator==(const Numbers&, const Numbers&) = default;
};

class Catalog {
 public:
  void apply(const Change& change);

  [[nodiscard]] TopicPtr topic(std::string_view name) const;
  // `name` may be a dead-letter topic's: then its source topic.
  [[nodiscard]] TopicPtr topic_or_source(std::string_view name, bool& dead_letter) const;
  [[nodiscard]] GroupPtr group(std::string_view topic, std::string_view name) const;
  [[nodiscard]] GroupPtr group(ProgressNumber number) const;
  [[nodiscard]] SubscriptionPtr subscription(std::string_view topic, std::string_view client) const;
  [[nodiscard]] SubscriptionPtr subscription(ClientNumber number) const;
  [[nodiscard]] LanePtr lane(ProgressNumber number) const;
  [[nodiscard]] std::optional<PartitionPlace> place(PartitionNumber number) const;

  // In order of their names (numbers for lanes).
  [[nodiscard]] std::vector<TopicPtr> topics() const;
  [[nodiscard]] std::vector<GroupPtr> groups(std::string_view topic) const;  // "": of all topics
  [[nodiscard]] std::vector<SubscriptionPtr> subscriptions(std::string_view topic) const;
  [[nodiscard]] std::vector<SubscriptionPtr> subscriptions_of_group(std::string_view topic,
                                                                    std::string_view group) const;
  [[nodiscard]] std::vector<SubscriptionPtr> subscriptions_of_client(std::string_view client) const;
  [[nodiscard]] std::vector<LanePtr> lanes() const;
  [[nodiscard]] std::size_t topic_count() const { return topics_.size(); }
  [[nodiscard]] std::size_t group_count() const { return groups_.size(); }
  [[nodiscard]] std::size_t subscription_count() const { return subscriptions_.size(); }

 private:
  using Name = std::pair<std::string, std::string>;
  void put(const TopicPtr& topic);
  void put(const GroupPtr& group);
  void put(const SubscriptionPtr& subscription);
  void put(const LanePtr& lane);
  void remove(const RemoveTopic& gone);
  void remove(const RemoveGroup& gone);
  void remove(const RemoveSubscription& gone);
  void remove(const RemoveLane& gone);

  std::map<std::string, TopicPtr, std::less<>> topics_;
  std::map<Name, GroupPtr> groups_;                          // topic, group
  std::map<Name, SubscriptionPtr> subscriptions_;            // topic, client
  std::map<Name, SubscriptionPtr> subscriptions_by_client_;  // client, topic
  std::map<ProgressNumber, LanePtr> lanes_;
  std::unordered_map<ProgressNumber, GroupPtr> groups_by_number_;
  std::unordered_map<ClientNumber, SubscriptionPtr> subscriptions_by_number_;
  std::unordered_map<PartitionNumber, PartitionPlace> places_;
};

// Which shard owns a partition (J1: a partition, its dead letters and all group state on it share
// one).
[[nodiscard]] ShardIndex shard_of_partition(std::string_view topic, PartitionIndex partition,
                                            std::uint32_t shards);
// Where a client's session lives.
[[nodiscard]] ShardIndex shard_of_client(std::string_view client_id, std::uint32_t shards);

}  // namespace ackline::runtime

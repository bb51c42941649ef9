#include "ackline/runtime/catalog.h"

#include "ackline/base/bytes.h"
#include "ackline/event/names.h"

namespace ackline::runtime {
namespace {

template <class Map, class Key>
auto find_or_null(const Map& map, const Key& key) -> typename Map::mapped_type {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

// The entries of an ordered map of pairs whose first part is `first`, or all of them when it is "".
template <class Ptr>
std::vector<Ptr> with_first(const std::map<std::pair<std::string, std::string>, Ptr>& map,
                            std::string_view first) {
  std::vector<Ptr> found;
  auto at = first.empty() ? map.begin() : map.lower_bound({std::string(first), std::string()});
  for (; at != map.end() && (first.empty() || at->first.first == first); ++at) {
    found.push_back(at->second);
  }
  return found;
}

}  // namespace

void Catalog::apply(const Change& change) {
  std::visit(
      [this](const auto& what) {
        using T = std::decay_t<decltype(what)>;
        if constexpr (requires { what->name; } || std::is_same_v<T, SubscriptionPtr> ||
                      std::is_same_v<T, LanePtr>) {
          put(what);
        } else {
          remove(what);
        }
      },
      change);
}

void Catalog::put(const TopicPtr& topic) {
  topics_[topic->name] = topic;
  for (std::uint32_t i = 0; i < topic->partitions.size(); ++i) {
    places_[topic->partitions[i]] = {topic, PartitionIndex(i), false};
    places_[topic->dead_letters[i]] = {topic, PartitionIndex(i), true};
  }
}

void Catalog::put(const GroupPtr& group) {
  groups_[{group->topic, group->name}] = group;
  groups_by_number_[group->number] = group;
}

void Catalog::put(const SubscriptionPtr& subscription) {
  subscriptions_[{subscription->topic, subscription->client_id}] = subscription;
  subscriptions_by_client_[{subscription->client_id, subscription->topic}] = subscription;
  subscriptions_by_number_[subscription->number] = subscription;
}

void Catalog::put(const LanePtr& lane) {
  lanes_[lane->number] = lane;
}

void Catalog::remove(const RemoveTopic& gone) {
  const auto found = topics_.find(gone.name);
  if (found == topics_.end()) return;
  for (const PartitionNumber number : found->second->partitions) places_.erase(number);
  for (const PartitionNumber number : found->second->dead_letters) places_.erase(number);
  topics_.erase(found);
}

void Catalog::remove(const RemoveGroup& gone) {
  const auto found = groups_.find({gone.topic, gone.name});
  if (found == groups_.end()) return;
  groups_by_number_.erase(found->second->number);
  groups_.erase(found);
}

void Catalog::remove(const RemoveSubscription& gone) {
  const auto found = subscriptions_.find({gone.topic, gone.client_id});
  if (found == subscriptions_.end()) return;
  subscriptions_by_number_.erase(found->second->number);
  subscriptions_by_client_.erase({gone.client_id, gone.topic});
  subscriptions_.erase(found);
}

void Catalog::remove(const RemoveLane& gone) {
  lanes_.erase(gone.number);
}

TopicPtr Catalog::topic(std::string_view name) const {
  return find_or_null(topics_, name);
}

TopicPtr Catalog::topic_or_source(std::string_view name, bool& dead_letter) const {
  dead_letter = event::is_dlq_topic(name);
  return topic(event::source_topic(name));
}

GroupPtr Catalog::group(std::string_view topic, std::string_view name) const {
  return find_or_null(groups_, Name(topic, name));
}

GroupPtr Catalog::group(ProgressNumber number) const {
  return find_or_null(groups_by_number_, number);
}

SubscriptionPtr Catalog::subscription(std::string_view topic, std::string_view client) const {
  return find_or_null(subscriptions_, Name(topic, client));
}

SubscriptionPtr Catalog::subscription(ClientNumber number) const {
  return find_or_null(subscriptions_by_number_, number);
}

LanePtr Catalog::lane(ProgressNumber number) const {
  return find_or_null(lanes_, number);
}

std::optional<PartitionPlace> Catalog::place(PartitionNumber number) const {
  const auto found = places_.find(number);
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

std::vector<TopicPtr> Catalog::topics() const {
  std::vector<TopicPtr> found;
  found.reserve(topics_.size());
  for (const auto& [name, topic] : topics_) found.push_back(topic);
  return found;
}

std::vector<GroupPtr> Catalog::groups(std::string_view topic) const {
  return with_first(groups_, topic);
}

std::vector<SubscriptionPtr> Catalog::subscriptions(std::string_view topic) const {
  return with_first(subscriptions_, topic);
}

std::vector<SubscriptionPtr> Catalog::subscriptions_of_group(std::string_view topic,
                                                             std::string_view group) const {
  std::vector<SubscriptionPtr> found = with_first(subscriptions_, topic);
  std::erase_if(found, [&](const SubscriptionPtr& one) { return one->group != group; });
  return found;
}

std::vector<SubscriptionPtr> Catalog::subscriptions_of_client(std::string_view client) const {
  return with_first(subscriptions_by_client_, client);
}

std::vector<LanePtr> Catalog::lanes() const {
  std::vector<LanePtr> found;
  found.reserve(lanes_.size());
  for (const auto& [number, lane] : lanes_) found.push_back(lane);
  return found;
}

ShardIndex shard_of_partition(std::string_view topic, PartitionIndex partition,
                              std::uint32_t shards) {
  return ShardIndex(static_cast<std::uint32_t>(
      checksum64(as_bytes(topic), 0x9a57U + partition.value()) % shards));
}

ShardIndex shard_of_client(std::string_view client_id, std::uint32_t shards) {
  return ShardIndex(static_cast<std::uint32_t>(checksum64(as_bytes(client_id), 0xc11e) % shards));
}

}  // namespace ackline::runtime

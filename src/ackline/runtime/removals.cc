#include "ackline/runtime/removals.h"

#include "ackline/runtime/catalog_records.h"

namespace ackline::runtime {

void plan_unsubscribe(const Catalog& catalog, const Subscription& subscription, WallMs now,
                      Plan& plan) {
  plan.remove_subscriptions.push_back({subscription.topic, subscription.client_id});
  plan.delta.emplace_back(RemoveSubscription{subscription.topic, subscription.client_id});
  const GroupPtr group = catalog.group(subscription.topic, subscription.group);
  if (!group) return;
  const auto members = catalog.subscriptions_of_group(subscription.topic, subscription.group);
  if (members.size() > 1) return;
  if (group->policy.mode != delivery::Mode::kClustering) {
    plan_remove_group(catalog, *group, plan);
    return;
  }
  auto empty = std::make_shared<Group>(*group);
  empty->empty_since = now;
  plan.writes.push_back({group_key(group->topic, group->name), encode(*empty), {}});
  plan.delta.emplace_back(GroupPtr(empty));
}

void plan_remove_group(const Catalog& catalog, const Group& group, Plan& plan) {
  for (const SubscriptionPtr& one : catalog.subscriptions_of_group(group.topic, group.name)) {
    bool known = false;
    for (const RemoveSubscription& gone : plan.remove_subscriptions) {
      known = known || (gone.topic == one->topic && gone.client_id == one->client_id);
    }
    if (known) continue;
    plan.remove_subscriptions.push_back({one->topic, one->client_id});
    plan.delta.emplace_back(RemoveSubscription{one->topic, one->client_id});
  }
  for (const LanePtr& lane : catalog.lanes()) {
    if (lane->group_number != group.number) continue;
    plan.writes.push_back({lane_key(lane->number), std::nullopt, {}});
    plan.delta.emplace_back(RemoveLane{lane->number});
  }
  plan.writes.push_back({group_key(group.topic, group.name), std::nullopt, {}});
  plan.forget_offsets.emplace_back(group.topic, group.name);
  plan.delta.emplace_back(RemoveGroup{group.topic, group.name});
}

void plan_remove_topic(const Catalog& catalog, const Topic& topic, Plan& plan) {
  plan.writes.push_back({topic_key(topic.name), std::nullopt, {}});
  for (const GroupPtr& group : catalog.groups(topic.name)) {
    plan_remove_group(catalog, *group, plan);
  }
  plan.forget_offsets.emplace_back(topic.name, std::string());
  plan.delta.emplace_back(RemoveTopic{topic.name});
}

}  // namespace ackline::runtime

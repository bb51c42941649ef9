// Clients unseen for `client.ttl` are unsubscribed, groups without clients for `group.ttl` expire
// (invariant 30).
#include <fmt/format.h>

#include "ackline/base/logging.h"
#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/node.h"
#include "ackline/runtime/removals.h"

namespace ackline::runtime {

void Node::arm_reaper() {
  if (stopping_) return;
  reaper_ = control_executor().schedule(
      control_executor().clock().mono().plus(options_.reap_interval_ms), [this] {
        reaper_ = 0;
        reap();
      });
}

void Node::reap() {
  gather<std::vector<SessionView>>(
      *this, control_executor(),
      [](ShardUnit& unit, std::move_only_function<void(std::vector<SessionView>)> answer) {
        answer(unit.sessions->views());
      },
      [this](std::vector<std::vector<SessionView>> parts) {
        std::vector<SessionView> views;
        for (auto& part : parts) std::ranges::move(part, std::back_inserter(views));
        reap_with(views);
        arm_reaper();
      });
}

void Node::reap_with(const std::vector<SessionView>& views) {
  const WallMs now = control_executor().clock().wall();
  for (const SessionView& view : views) {
    if (view.connected || now.value() - view.last_seen.value() < options_.client_ttl_ms) continue;
    control_->change(
        [this, client = view.client_id, now](const Catalog& catalog, Numbers&) -> Result<Plan> {
          Plan plan;
          for (const SubscriptionPtr& one : catalog.subscriptions_of_client(client)) {
            plan_unsubscribe(catalog, *one, now, plan);
            audit().record("client.expired", fmt::format("{}/{}", one->topic, client), {});
          }
          return plan;
        },
        [](const Result<void>&) {});
  }
  for (const GroupPtr& group : control_->catalog().groups({})) {
    if (group->empty_since == WallMs{0} ||
        now.value() - group->empty_since.value() < options_.group_ttl_ms) {
      continue;
    }
    control_->change(
        [this, topic = group->topic, name = group->name](const Catalog& catalog,
                                                         Numbers&) -> Result<Plan> {
          Plan plan;
          const GroupPtr present = catalog.group(topic, name);
          if (!present || present->empty_since == WallMs{0}) return plan;
          plan_remove_group(catalog, *present, plan);
          audit().record("group.expired", fmt::format("{}/{}", topic, name), {});
          return plan;
        },
        [](const Result<void>&) {});
  }
}

}  // namespace ackline::runtime

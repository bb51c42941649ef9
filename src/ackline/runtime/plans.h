// The changes that clients and operators can ask of the control plane, as planners (control.h).
// Pure but for their `out`.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ackline/api/admin.h"
#include "ackline/runtime/control.h"
#include "ackline/runtime/node.h"

namespace ackline::runtime {

// `keep_existing`: a topic that is there is the result (made by use); else it is kAlreadyExists.
[[nodiscard]] Control::Planner plan_topic(const NodeOptions& options, api::TopicCreate request,
                                          bool keep_existing, WallMs now,
                                          std::shared_ptr<TopicPtr> out);

// What was asked of the shards before a subscribe is planned.
struct SubscribeFacts {
  GroupPtr group;                         // as it was then; null: it was not there
  std::map<std::uint32_t, Offset> start;  // resolved, for a group that has to be made
  bool others_live = false;               // another client of the group was seen within client.idle
  std::uint64_t in_flight = 0;            // of the group
};
struct SubscribeOutcome {
  api::Subscribed answer;
  bool look_again = false;  // the group came, went or changed after the facts were gathered
};
[[nodiscard]] Control::Planner plan_subscribe(const NodeOptions& options,
                                              api::SubscribeRequest request, SubscribeFacts facts,
                                              WallMs now, std::shared_ptr<SubscribeOutcome> out);
// The group that a request means: named, `default`, or the client's own.
[[nodiscard]] Result<std::string> group_of(const api::SubscribeRequest& request,
                                           const Catalog& catalog);

// `base` changed by what the patch names. Errors: the filter's.
[[nodiscard]] Result<Group> patched(const Group& base, const api::GroupPatch& patch);

[[nodiscard]] std::string mode_name(delivery::Mode mode);
[[nodiscard]] std::string ordering_name(delivery::Ordering ordering);
[[nodiscard]] std::string subscription_id(const Subscription& subscription);

}  // namespace ackline::runtime

// What goes along when something goes: the parts of a plan that several changes share. Pure.
#pragma once

#include "ackline/runtime/control.h"

namespace ackline::runtime {

// Ends one subscription. Groups of one (BROADCASTING, MULTICAST) end with it; another group is
// marked empty with its last client, so that `group.ttl` can run.
void plan_unsubscribe(const Catalog& catalog, const Subscription& subscription, WallMs now,
                      Plan& plan);
// The group with its subscriptions, lanes and exported offsets.
void plan_remove_group(const Catalog& catalog, const Group& group, Plan& plan);
// The topic first (that is its tombstone), then everything on it (invariant 31).
void plan_remove_topic(const Catalog& catalog, const Topic& topic, Plan& plan);

}  // namespace ackline::runtime

// Is somebody left waiting without a reason? Looked at once a second, beside the export of
// frontiers: a turn has run between two looks (invariant 9: everything is offered until it is
// terminal).
#include "ackline/base/logging.h"
#include "ackline/runtime/shard.h"

namespace ackline::runtime {

void Shard::look_for_stuck() {
  // While the disk refuses, nothing is offered for a reason that readyz tells.
  if (write_error_ || sync_stalled() || draining_ || journal_->poison() != nullptr) return;
  for (const delivery::StuckReport& one :
       dispatcher_->look_for_stuck(now(), options_.stuck_after_ms)) {
    const GroupPtr group = catalog_.group(one.group);
    const auto place = catalog_.place(one.key.partition);
    if (!group || !place) continue;
    const bool lane = one.key.progress != one.group;
    if (one.stuck) {
      log_error("a group is stuck: it could be offered something and is not",
                {{"topic", group->topic},
                 {"group", group->name},
                 {"partition", place->index},
                 {"lane", lane},
                 {"forMs", one.for_ms}});
    } else {
      log_info("a group that was stuck moves again", {{"topic", group->topic},
                                                      {"group", group->name},
                                                      {"partition", place->index},
                                                      {"lane", lane}});
    }
  }
}

}  // namespace ackline::runtime

// A shard's one timer, and how it is.
#include <algorithm>

#include "ackline/runtime/shard.h"
#include "ackline/runtime/waiting_settle.h"

namespace ackline::runtime {
namespace {

// While something is leased or waits the thread looks up this often: a pause is seen by looking up
// late, and one that no look falls into is not seen.
constexpr std::int64_t kLookMs = 200;

}  // namespace

// One timer for all deadlines. An idle shard has none armed and uses no CPU.
void Shard::arm() {
  std::optional<MonoMs> next;
  const auto consider = [&next](const std::optional<MonoMs>& deadline) {
    if (deadline && (!next || *deadline < *next)) next = deadline;
  };
  const auto due = still_ ? std::nullopt : dispatcher_->next_due();
  consider(due);
  if (due) consider(now().plus(kLookMs));
  consider(due_.exports);
  consider(due_.checkpoint);
  consider(due_.retention);
  consider(due_.retry);
  // One that fires too early looks and is armed again: cheaper than moving it in every turn.
  if (timer_ == 0 || !next || *next < *timer_at_) {
    if (timer_ != 0) deps_.executor.cancel(timer_);
    timer_ = 0;
    timer_at_ = next;
    if (next) timer_ = deps_.executor.schedule(*next, [this] { fire(); });
  }
  // What is overdue already was counted: one stall, one gap.
  expected_at_ = due ? std::optional(std::max(*timer_at_, now())) : std::nullopt;
}

void Shard::fire() {
  timer_ = 0;
  timer_at_.reset();
  const MonoMs at = now();
  if (due_.exports && *due_.exports <= at) {
    due_.exports.reset();
    look_for_stuck();
    export_offsets();
  }
  if (due_.checkpoint && *due_.checkpoint <= at) {
    due_.checkpoint.reset();
    checkpoint_wanted_ = true;
  }
  if (due_.retention && *due_.retention <= at) {
    due_.retention.reset();
    run_retention();
  }
  if (due_.retry && *due_.retry <= at) due_.retry.reset();  // what fails again sets it again
  // The turn looks at the dispatcher's timers and tries an open batch again, after the input that
  // is queued already.
  schedule_turn();
}

Shard::Health Shard::health_view() const {
  const std::scoped_lock lock(health_mutex_);
  return health_view_;
}

Shard::Health Shard::health() const {
  Health health;
  if (const Error* why = journal_ ? poison() : nullptr) {
    health.poisoned = true;
    health.detail = why->detail;
  }
  if (write_error_) {
    health.full = true;
    health.detail = write_error_->detail;
  }
  if (full_) {
    health.full = true;
    health.detail = "free disk space is below disk.reserve";
  }
  health.quarantined = quarantined_;
  return health;
}

}  // namespace ackline::runtime

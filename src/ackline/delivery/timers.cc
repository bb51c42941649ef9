// Time: leases that end, retries that are due, and the marks from which a restart knows the hour.
//
// Each progress has a wheel of its slots; the shard's wheel has one entry for each progress with
// the earliest of them, and one for each client in its reconnect grace.
#include <algorithm>

#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

constexpr std::size_t kStepsPerTick = 4096;

}  // namespace

std::optional<MonoMs> Dispatcher::Impl::next_due() const {
  const std::optional<MonoMs> due = timers_.next_due();
  if (!resumed_ || !due) {
    return std::nullopt;
  }
  return outer(std::min(*due, alive_at_.plus(options_.alive_ms)));
}

void Dispatcher::Impl::tick() {
  if (!resumed_) {
    return;
  }
  if (timers_.size() > 0 && clock_.value() - alive_at_.value() >= options_.alive_ms) {
    stamp();
  }
  ticked_ = clock_;
  timers_.advance(nodes_, clock_, kStepsPerTick, [this](std::uint32_t node) {
    if (Client* client = nodes_[node].client; client != nullptr) {
      lose_client(*client);
      return;
    }
    Progress& progress = *nodes_[node].progress;
    progress.slots.follow(clock_);
    if (progress.read_again_at && *progress.read_again_at <= clock_) {
      progress.read_again_at.reset();
      queue_resends(progress);
      wake(progress);
    }
    if (progress.is_lane()) {
      wake(progress);
    }
    progress.wheel.advance(progress.slots, clock_, kStepsPerTick,
                           [this, &progress](std::uint32_t index) { slot_due(progress, index); });
    // What a burst left over has its turn in the next tick, after the input that came meanwhile.
    if (progress.wheel.next_due() <= clock_ && progress.wheel.size() > 0) {
      arm_node(node, clock_.next());
    } else {
      rearm(progress);
    }
  });
}

void Dispatcher::Impl::slot_due(Progress& progress, std::uint32_t index) {
  Slot& slot = progress.slots[index];
  if (slot.asked != 0) {
    progress.slots.set_due(slot, clock_.plus(kAskAgainMs));
    arm(progress, index, progress.slots.due(slot));
    return;
  }
  switch (slot.state()) {
    case SlotState::kLeased:
      end_attempt(progress, index, state::EndCause::kExpiry, backoff(progress, slot.attempt),
                  "lease expired");
      return;
    case SlotState::kWaiting:
      if (slot.restarts >= options_.restarts_max) {
        ask_dead_letter(progress, index, DeadReason::kMaxRestarts);
      } else if (slot.attempt >= progress.max_attempts()) {
        ask_dead_letter(progress, index, DeadReason::kMaxAttempts);
      } else {
        make_ready(progress, index);
      }
      return;
    case SlotState::kDead:
      ask_dead_letter(progress, index, static_cast<DeadReason>(slot.reason));
      return;
    case SlotState::kReady:
    case SlotState::kFree:
      return;
  }
}

void Dispatcher::Impl::arm(Progress& progress, std::uint32_t index, MonoMs at) {
  progress.wheel.arm(progress.slots, index);
  const TimerNode& node = nodes_[progress.node];
  if (!node.timer.armed() || at < node.due) {
    arm_node(progress.node, at);
  }
}

void Dispatcher::Impl::arm_node(std::uint32_t node, MonoMs at) {
  timers_.disarm(nodes_, node);
  nodes_[node].due = at;
  timers_.arm(nodes_, node);
}

void Dispatcher::Impl::rearm(Progress& progress) {
  std::optional<MonoMs> at = progress.wheel.next_due();
  if (progress.read_again_at) {
    at = at ? std::min(*at, *progress.read_again_at) : *progress.read_again_at;
  }
  if (at) {
    const TimerNode& node = nodes_[progress.node];
    if (!node.timer.armed() || *at < node.due) {
      arm_node(progress.node, *at);
    }
  }
}

void Dispatcher::Impl::stamp() {
  if (!resumed_ || clock_ == alive_at_) {
    return;
  }
  alive_at_ = clock_;
  const state::AliveRecord alive{.elapsed = MonoMs(clock_.value() - boot_at_.value()),
                                 .wall = WallMs(clock_.value() + wall_skew_)};
  std::string body;
  alive.encode(body);
  port_.journal(state::RecordType::kAlive, PartitionNumber(0), as_bytes(body));
}

void Dispatcher::Impl::stand_still(MonoMs since) {
  if (!resumed_) {
    return;
  }
  // What was asked since has moved the clock already: it goes back, but not behind what the timers
  // have seen.
  clock_ = std::max(MonoMs(since.value() - skew_), ticked_);
  still_ = true;
  // A restart goes on at the newest mark: one that is ahead would end leases early.
  if (clock_ < alive_at_) {
    stamp();
  }
}

void Dispatcher::Impl::go_on(MonoMs now) {
  if (still_) {
    still_ = false;
    skew_ = now.value() - clock_.value();
  }
}

}  // namespace ackline::delivery

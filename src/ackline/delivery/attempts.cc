// An attempt's life apart from its good end: given back, lost, retried, freed.
#include <algorithm>
#include <utility>

#include "ackline/base/plants.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

DeliveryId Dispatcher::Impl::id_of(const Progress& progress, std::uint32_t index) const {
  const Slot& slot = progress.slots[index];
  return {.epoch = slot.epoch,
          .progress = progress.key.progress,
          .partition = progress.partition->spec.index,
          .offset = slot.offset,
          .slot = index,
          .offer = slot.offer};
}

std::int64_t Dispatcher::Impl::leave(const DeliveryId& id, bool resent) {
  Progress* progress = route(id.progress, id.partition);
  Slot* slot = progress == nullptr ? nullptr : progress->slots.find(id.slot);
  if (slot == nullptr || !is_current(*slot, id) || slot->state() != SlotState::kLeased) {
    return 0;
  }
  if (!resent) {
    progress->slots.set_since(*slot, clock_);
  }
  return std::max<std::int64_t>(progress->slots.due(*slot).value() - clock_.value(), 0);
}

// The offer of a poll that is gone comes back late, when its client may have got it by a stream.
void Dispatcher::Impl::withdraw(const DeliveryId& id) {
  Progress* progress = route(id.progress, id.partition);
  const Slot* slot = progress == nullptr ? nullptr : progress->slots.find(id.slot);
  if (slot != nullptr && is_current(*slot, id) && slot->state() == SlotState::kLeased &&
      slot->asked == 0 && slot->resent == 0) {
    end_attempt(*progress, id.slot, state::EndCause::kWithdrawn, 0, {});
  }
}

void Dispatcher::Impl::end_attempt(Progress& progress, std::uint32_t index, state::EndCause cause,
                                   std::int64_t retry_in_ms, std::string_view error) {
  Slot& slot = progress.slots[index];
  stamp();
  const DeliveryId id = id_of(progress, index);
  const ClientNumber client = slot.client;
  leave_state(progress, index);
  const bool lost = cause == state::EndCause::kExpiry || cause == state::EndCause::kLoss;
  if (cause == state::EndCause::kWithdrawn ||
      (cause == state::EndCause::kExpiry && plant(Plant::kNoAttemptOnExpiry))) {
    slot.set_attempt(slot.attempt == 0 ? 0U : slot.attempt - 1U);
  }
  if (lost) {
    slot.set_losses(slot.losses + 1U);
  }
  const bool exhausted =
      cause != state::EndCause::kWithdrawn && slot.attempt >= progress.max_attempts();
  const std::int64_t wait_ms =
      exhausted ? 0 : std::clamp<std::int64_t>(retry_in_ms, 0, kSlotSpanMaxMs);
  const state::EndRecord end{.progress = progress.key.progress,
                             .offset = slot.offset,
                             .slot = index,
                             .offer = slot.offer,
                             .cause = cause,
                             .retry_in_ms = static_cast<std::uint64_t>(wait_ms),
                             .error = std::string(error)};
  record(progress, end);
  set_error(progress, index, error);
  if (lost || cause == state::EndCause::kWithdrawn) {
    port_.withdrawn(client, id);
  }
  static constexpr auto event_of = [](state::EndCause why) {
    switch (why) {
      case state::EndCause::kExpiry:
        return DeliveryEvent::kExpiredLease;
      case state::EndCause::kLoss:
        return DeliveryEvent::kLostClient;
      case state::EndCause::kWithdrawn:
      case state::EndCause::kRestart:
        return DeliveryEvent::kWithdrawn;
      case state::EndCause::kNack:
        break;
    }
    return DeliveryEvent::kNacked;
  };
  count(progress, event_of(cause), 1);
  if (plant(Plant::kKeyOrderLostOnRetry)) {
    release_key(progress, slot);
  }
  ++progress.waiting;
  progress.slots.set_since(slot, clock_);
  progress.slots.set_due(slot, clock_.plus(wait_ms));
  if (exhausted) {
    ask_dead_letter(progress, index, DeadReason::kMaxAttempts);
  } else if (wait_ms == 0) {
    make_ready(progress, index);
  } else {
    slot.set_state(SlotState::kWaiting);
    arm(progress, index, progress.slots.due(slot));
  }
}

// Out of whatever list, timer and count its state has it in. The caller gives it another state.
void Dispatcher::Impl::leave_state(Progress& progress, std::uint32_t index) {
  Slot& slot = progress.slots[index];
  progress.wheel.disarm(progress.slots, index);
  switch (slot.state()) {
    case SlotState::kLeased:
      unhold(progress, index);
      --progress.leased;
      break;
    case SlotState::kReady:
      progress.slots.remove(slot.suspect != 0 ? progress.ready_suspects : progress.ready, index);
      slot.suspect = 0;
      --progress.waiting;
      forget_short(progress);  // settled late, perhaps
      break;
    case SlotState::kWaiting:
    case SlotState::kDead:
      --progress.waiting;
      break;
    case SlotState::kFree:
      break;
  }
  slot.set_state(SlotState::kWaiting);
}

// `waiting` counts it already.
void Dispatcher::Impl::make_ready(Progress& progress, std::uint32_t index) {
  Slot& slot = progress.slots[index];
  slot.set_state(SlotState::kReady);
  slot.suspect = is_suspect(progress, slot) ? 1U : 0U;
  progress.slots.push_back(slot.suspect != 0 ? progress.ready_suspects : progress.ready, index);
  wake(progress);
}

void Dispatcher::Impl::free_slot(Progress& progress, std::uint32_t index) {
  leave_state(progress, index);
  Slot& slot = progress.slots[index];
  release_key(progress, slot);
  if (slot.has_error != 0) {
    progress.errors.erase(index);
  }
  progress.slots.release(index);
  // One at a time: the next event of the partition may go now.
  if (progress.group->spec.policy.ordering == Ordering::kPartition) {
    wake(progress);
  }
}

void Dispatcher::Impl::release_key(Progress& progress, Slot& slot) {
  if (slot.key != 0) {
    if (progress.keys.release(slot.key)) {
      wake(progress);
    }
    slot.key = 0;
  }
}

void Dispatcher::Impl::set_error(Progress& progress, std::uint32_t index, std::string_view error) {
  if (error.empty()) {
    return;
  }
  progress.errors.insert_or_assign(index, std::string(error.substr(0, state::kErrorTextMaxBytes)));
  progress.slots[index].has_error = 1;
}

// Two attempts lost to expiry or loss, or the last one after such a loss: what may have killed its
// client before. Asked before the attempt begins.
bool Dispatcher::Impl::is_suspect(const Progress& progress, const Slot& slot) const {
  return slot.losses >= 2 || (slot.losses == 1 && slot.attempt + 1U >= progress.max_attempts());
}

std::int64_t Dispatcher::Impl::backoff(const Progress& progress, std::uint32_t attempt) {
  const std::vector<std::int64_t>& steps = progress.group->spec.policy.backoff_ms;
  const std::size_t at = std::min<std::size_t>(attempt == 0 ? 0 : attempt - 1, steps.size() - 1);
  const std::int64_t base = std::clamp<std::int64_t>(steps[at], 0, kSlotSpanMaxMs / 2);
  const std::int64_t spread = base * options_.jitter_percent / 100;
  return base == 0 ? 0 : random_.between(base - spread, base + spread);
}

}  // namespace ackline::delivery

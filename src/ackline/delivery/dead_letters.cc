// Dead letters: the event goes to the dead-letter partition first, and is settled when it is there
// (invariant 16). Until then the delivery stays: a crash repeats, never loses.
#include "ackline/base/plants.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

state::Outcome outcome_of(DeadReason reason) {
  switch (reason) {
    case DeadReason::kRejected:
      return state::Outcome::kRejected;
    case DeadReason::kExpired:
      return state::Outcome::kExpired;
    case DeadReason::kMaxAttempts:
    case DeadReason::kMaxRestarts:
      break;
  }
  return state::Outcome::kExhausted;
}

}  // namespace

state::DeadReason record_reason(DeadReason reason) {
  switch (reason) {
    case DeadReason::kMaxAttempts:
      return state::DeadReason::kMaxAttempts;
    case DeadReason::kMaxRestarts:
      return state::DeadReason::kMaxRestarts;
    case DeadReason::kRejected:
      return state::DeadReason::kRejected;
    case DeadReason::kExpired:
      break;
  }
  return state::DeadReason::kExpired;
}

// From a slot that is in no list and no timer; a rejected one that is still leased stays leased.
void Dispatcher::Impl::ask_dead_letter(Progress& progress, std::uint32_t index, DeadReason reason) {
  Slot& slot = progress.slots[index];
  if (progress.is_lane() && entry_of(progress, slot.offset)) {
    fail_entry(progress, index);
    return;
  }
  const Progress* of = progress.is_lane() ? group_progress(progress) : &progress;
  if (slot.state() != SlotState::kLeased) {
    slot.set_state(SlotState::kDead);
  }
  slot.asked = 1;
  slot.reason = static_cast<std::uint16_t>(reason) & 3U;
  const auto error = progress.errors.find(index);
  DeadLetterRequest request{
      .key = progress.key,
      .group = progress.group->spec.number,
      .slot = index,
      .offset = slot.offset,
      .generation = of == nullptr ? progress.generation : of->generation,
      .id = id_of(progress, index),
      .attempts = slot.attempt,
      .reason = reason,
      .error = error == progress.errors.end() ? std::string{} : error->second};
  if (plant(Plant::kSettleBeforeDeadLetter)) {
    bury(progress, index, reason, Offset(0));
  }
  port_.dead_letter(std::move(request));
}

void Dispatcher::Impl::dead_lettered(const DeadLetterRequest& request,
                                     const Result<Offset>& dlq_offset) {
  Progress* progress = find(request.key);
  Slot* slot = progress == nullptr ? nullptr : progress->slots.find(request.slot);
  if (slot == nullptr || slot->asked == 0 || slot->offset != request.offset ||
      slot->offer != request.id.offer || slot->epoch != request.id.epoch) {
    return;  // a reset came in between: the record in the dead-letter partition has no entry
  }
  if (dlq_offset && progress->is_lane()) {
    bury_in_lane(*progress, request.slot, request.reason, *dlq_offset);
    return;
  }
  if (dlq_offset) {
    bury(*progress, request.slot, request.reason, *dlq_offset);
    return;
  }
  slot->asked = 0;
  slot->reason = 0;
  if (progress->is_lane() && dlq_offset.error().code == ErrorCode::kNotFound) {
    fail_entry(*progress, request.slot, true);  // retention took it while it was under way
    return;
  }
  if (slot->state() == SlotState::kLeased) {
    end_if_left(*progress, request.slot);  // a refused reject: as if it had not been asked
    return;
  }
  if (request.reason == DeadReason::kRejected) {
    slot->set_state(SlotState::kWaiting);
  } else {
    slot->reason = static_cast<std::uint16_t>(request.reason) & 3U;
    set_error(*progress, request.slot, "dead letter refused: " + dlq_offset.error().detail);
  }
  progress->slots.set_due(*slot, clock_.plus(kAskAgainMs));
  arm(*progress, request.slot, clock_.plus(kAskAgainMs));
}

void Dispatcher::Impl::bury(Progress& progress, std::uint32_t index, DeadReason reason,
                            Offset dlq_offset) {
  const Slot& slot = progress.slots[index];
  const Offset offset = slot.offset;
  buffer_.clear();
  state::SettleRecord::encode_one(
      buffer_, progress.key.progress, outcome_of(reason), offset,
      state::DeadLetterMark{.dlq_offset = dlq_offset, .reason = record_reason(reason)});
  port_.journal(state::RecordType::kSettle, progress.key.partition, as_bytes(buffer_));
  progress.dead.add(offset, progress.generation, {.dlq = dlq_offset});
  count(progress, DeliveryEvent::kDeadLettered, 1);
  if (reason == DeadReason::kRejected) {
    count(progress, DeliveryEvent::kRejected, 1);
  }
  free_slot(progress, index);
  settle_frontier(progress, offset);
}

// An event that a replay delivered again and that failed there: a new dead letter of its group. It
// was terminal before and stays so; no frontier moves.
void Dispatcher::Impl::bury_in_lane(Progress& lane, std::uint32_t index, DeadReason reason,
                                    Offset dlq_offset) {
  const Offset source = lane.slots[index].offset;
  buffer_.clear();
  state::SettleRecord::encode_one(
      buffer_, lane.key.progress, outcome_of(reason), source,
      state::DeadLetterMark{.dlq_offset = dlq_offset, .reason = record_reason(reason)});
  port_.journal(state::RecordType::kSettle, lane.key.partition, as_bytes(buffer_));
  record(lane, state::LaneEntryRecord{.lane = lane.key.progress,
                                      .group = lane.group->spec.number,
                                      .entry = {.offset = source,
                                                .dlq_offset = dlq_offset,
                                                .state = state::EntryState::kDead}});
  count(lane, DeliveryEvent::kDeadLettered, 1);
  if (reason == DeadReason::kRejected) {
    count(lane, DeliveryEvent::kRejected, 1);
  }
  free_slot(lane, index);
  entry_made(lane, source, dlq_offset);
}

// A group's event found expired when it was to be offered: the slot is in no list and no timer,
// `waiting` counts it.
void Dispatcher::Impl::expire_event(Progress& progress, std::uint32_t index) {
  count(progress, DeliveryEvent::kExpiredEvent, 1);
  if (progress.group->spec.policy.dead_letter_expired) {
    ask_dead_letter(progress, index, DeadReason::kExpired);
  } else {
    finish(progress, index, state::Outcome::kExpired);
  }
}

}  // namespace ackline::delivery

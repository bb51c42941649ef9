// What clients say of their deliveries, looked at in the order that the HTTP contract gives.
#include <algorithm>
#include <string>

#include "ackline/base/plants.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

Result<SettleAnswer> unknown_delivery() {
  return fail(ErrorCode::kDeliveryUnknown, "this server has given out no such delivery",
              "Use a deliveryId as it came with the delivery.");
}

Result<SettleAnswer> stale(std::string detail) {
  return fail(ErrorCode::kStale, std::move(detail), "Forget it; the event comes again.");
}

}  // namespace

// Invariant 12: offset, epoch and offer all equal.
bool Dispatcher::Impl::is_current(const Slot& slot, const DeliveryId& id) const {
  const bool same_epoch = slot.epoch == id.epoch || plant(Plant::kFirstOfferIdReborn);
  const bool same_offer = slot.offer == id.offer || plant(Plant::kSupersededAckAccepted);
  return slot.offset == id.offset && same_epoch && same_offer && slot.epoch.value() != 0;
}

Result<SettleAnswer> Dispatcher::Impl::settle(const SettleRequest& request) {
  const DeliveryId& id = request.id;
  if (id.epoch.value() == 0 || id.epoch > options_.epoch || id.offset < Offset(0)) {
    return unknown_delivery();
  }
  Progress* progress = route(id.progress, id.partition);
  if (progress == nullptr) {
    return stale("its group, lane or topic was deleted");
  }
  const std::string& owner = progress->group->spec.principal;
  if (!owner.empty() && owner != request.principal) {
    count(*progress, DeliveryEvent::kForeignAck, 1);
    return fail(ErrorCode::kNotOwner, "the group belongs to another principal");
  }
  const Slot* slot = progress->slots.find(id.slot);
  if (slot != nullptr && is_current(*slot, id)) {
    return settle_current(*progress, id.slot, request);
  }
  return settle_over(*progress, request);
}

Result<SettleAnswer> Dispatcher::Impl::settle_current(Progress& progress, std::uint32_t index,
                                                      const SettleRequest& request) {
  const Slot& slot = progress.slots[index];
  if (request.client_id.empty() || holder_name(slot.client) != request.client_id) {
    count(progress, DeliveryEvent::kForeignAck, 1);
    return fail(ErrorCode::kNotOwner, "the delivery is held by another client");
  }
  if (slot.asked != 0) {
    // What this is worth shows when its dead letter is written or refused.
    return SettleAnswer{.pending = true, .again = true};
  }
  const bool live = slot.state() == SlotState::kLeased;
  switch (request.verb) {
    case Verb::kAck:
      count(progress, DeliveryEvent::kAcked, 1);
      if (progress.is_lane()) {
        resolve_entry(progress, index);
      } else {
        finish(progress, index, state::Outcome::kAcked);
      }
      return SettleAnswer{.status = SettleStatus::kAcked};
    case Verb::kReject:
      return reject(progress, index, request.reason);
    case Verb::kNack:
      return live ? nack(progress, index, request) : SettleAnswer{.status = SettleStatus::kAlready};
    case Verb::kExtend:
      break;
  }
  if (!live) {
    return stale("its lease is over");
  }
  return extend(progress, index, request);
}

Result<SettleAnswer> Dispatcher::Impl::reject(Progress& progress, std::uint32_t index,
                                              std::string_view reason) {
  const Slot& slot = progress.slots[index];
  if (progress.is_lane() && entry_of(progress, slot.offset)) {
    count(progress, DeliveryEvent::kRejected, 1);
    // An ordinary end first: it carries the reason into the journal.
    const Offset source = slot.offset;
    if (slot.state() == SlotState::kLeased) {
      end_attempt(progress, index, state::EndCause::kNack, 0, reason);
    }
    if (progress.lane->find(source)->state == LaneItemState::kInFlight) {
      fail_entry(progress, index);
    }
    return SettleAnswer{.status = SettleStatus::kRejected};
  }
  set_error(progress, index, reason);
  if (slot.state() != SlotState::kLeased) {
    leave_state(progress, index);
    ++progress.waiting;
  }
  ask_dead_letter(progress, index, DeadReason::kRejected);
  return SettleAnswer{.status = SettleStatus::kRejected, .pending = true};
}

Result<SettleAnswer> Dispatcher::Impl::nack(Progress& progress, std::uint32_t index,
                                            const SettleRequest& request) {
  const std::int64_t wait_ms =
      request.delay_ms ? *request.delay_ms : backoff(progress, progress.slots[index].attempt);
  end_attempt(progress, index, state::EndCause::kNack, wait_ms,
              request.reason.empty() ? std::string_view("nacked") : request.reason);
  return SettleAnswer{.status = SettleStatus::kNacked};
}

Result<SettleAnswer> Dispatcher::Impl::extend(Progress& progress, std::uint32_t index,
                                              const SettleRequest& request) {
  Slot& slot = progress.slots[index];
  const Client* client = find_client(slot.client);
  const ClientSpec defaults;
  const ClientSpec& spec = client == nullptr ? defaults : client->spec;
  const std::int64_t lease_ms =
      std::max<std::int64_t>(request.extend_ms.value_or(spec.ack_timeout_ms), 0);
  // Invariant 23: `since` is when this offer was made.
  const MonoMs limit = progress.slots.since(slot).plus(std::min(spec.max_lease_ms, kSlotSpanMaxMs));
  if (lease_ms > kSlotSpanMaxMs || clock_.plus(lease_ms) > limit) {
    return fail(ErrorCode::kLeaseLimit,
                "the lease may last " + std::to_string(spec.max_lease_ms) + " ms in all",
                "Ask for less, or finish and let it be offered again.");
  }
  stamp();
  progress.slots.set_due(slot, clock_.plus(lease_ms));
  arm(progress, index, progress.slots.due(slot));
  const state::ExtendRecord extended{.progress = progress.key.progress,
                                     .offset = slot.offset,
                                     .slot = index,
                                     .offer = slot.offer,
                                     .lease_ms = static_cast<std::uint64_t>(lease_ms)};
  record(progress, extended);
  count(progress, DeliveryEvent::kExtended, 1);
  return SettleAnswer{.status = SettleStatus::kExtended, .lease_ms = lease_ms};
}

// The id is not current: rules 4 and 5.
Result<SettleAnswer> Dispatcher::Impl::settle_over(Progress& progress,
                                                   const SettleRequest& request) {
  const Offset offset = request.id.offset;
  bool terminal = false;
  bool is_dead = false;
  Offset entry;
  if (progress.is_lane() && progress.lane->reduced) {
    const Progress* of = group_progress(progress);
    terminal = of != nullptr && of->frontier.is_settled(offset);
    const DeadTable::Entry* dead = terminal ? of->dead.newest(offset) : nullptr;
    is_dead = dead != nullptr && !dead->reopened && dead->state != EntryState::kResolved;
    entry = dead == nullptr ? Offset(-1) : dead->dlq;
  } else if (progress.is_lane()) {
    const LaneItem* item = progress.lane->find(offset);
    if (item == nullptr) {
      return stale("its lane does not have it");
    }
    terminal = item->state == LaneItemState::kDeadAgain || item->state == LaneItemState::kResolved;
    is_dead = item->state == LaneItemState::kDeadAgain && item->has_entry();
    entry = item->dlq;
  } else {
    terminal = progress.frontier.is_settled(offset);
    const DeadTable::Entry* dead = progress.dead.newest(offset);
    is_dead = terminal && dead != nullptr && !dead->reopened;
    entry = dead == nullptr ? Offset(-1) : dead->dlq;
  }
  if (!terminal) {
    count(progress, DeliveryEvent::kStaleAck, 1);
    return stale("offered again, or lost before it was kept");
  }
  const bool already = is_dead ? request.verb == Verb::kReject : request.verb == Verb::kAck;
  if (already) {
    return SettleAnswer{.status = SettleStatus::kAlready};
  }
  return fail(ErrorCode::kSettled, is_dead ? "the event is a dead letter, at offset " +
                                                 std::to_string(entry.value()) +
                                                 " of the dead-letter topic"
                                           : "the event is done");
}

void Dispatcher::Impl::finish(Progress& progress, std::uint32_t index, state::Outcome outcome) {
  const Offset offset = progress.slots[index].offset;
  buffer_.clear();
  state::SettleRecord::encode_one(buffer_, progress.key.progress, outcome, offset);
  port_.journal(state::RecordType::kSettle, progress.key.partition, as_bytes(buffer_));
  free_slot(progress, index);
  settle_frontier(progress, offset);
}

void Dispatcher::Impl::settle_frontier(Progress& progress, Offset offset) {
  progress.known_end = std::max(progress.known_end, offset.next());
  if (plant(Plant::kMaxAckFrontier)) {
    progress.frontier.settle_range(progress.frontier.committed(), offset);
  }
  // What retention took meanwhile is not known any more.
  static_cast<void>(progress.frontier.settle(offset));
  if (progress.ahead_limited && !progress.frontier.full()) {
    progress.ahead_limited = false;
    wake(progress);
  }
}

}  // namespace ackline::delivery

// The lease: an event handed to a client, journaled first (J5), and handed again when its client
// comes back.
#include <algorithm>
#include <utility>

#include "ackline/delivery/impl.h"

namespace ackline::delivery {

// From a slot that is in no list, no timer and no count.
void Dispatcher::Impl::lease(Progress& progress, std::uint32_t index, Client& client,
                             const log::StoredEvent& event, std::shared_ptr<const void> buffer) {
  stamp();
  progress.slots.follow(clock_);
  Slot& slot = progress.slots[index];
  const bool again = slot.reoffer != 0;
  // A lane's event was offered before, by its group.
  const bool redelivery = again || progress.is_lane() || slot.offset < progress.offered_below;
  slot.suspect = is_suspect(progress, slot) ? 1U : 0U;
  slot.set_attempt(slot.attempt + 1U);
  slot.set_state(SlotState::kLeased);
  slot.reoffer = 1;
  slot.resent = 0;
  slot.at_stake = 0;
  slot.restarts = 0;  // of this offer
  slot.epoch = options_.epoch;
  slot.offer = progress.next_offer++;
  slot.client = client.spec.number;
  slot.size_bytes = static_cast<std::uint32_t>(event.frame.size());
  const std::int64_t lease_ms = std::clamp<std::int64_t>(
      std::min(client.spec.ack_timeout_ms, client.spec.max_lease_ms), 0, kSlotSpanMaxMs);
  progress.slots.set_since(slot, clock_);
  progress.slots.set_due(slot, clock_.plus(lease_ms));
  ++progress.leased;
  hold(progress, index, client);
  if (client.demand != kUnlimited) {
    --client.demand;
  }
  refresh_open(client);
  arm(progress, index, progress.slots.due(slot));
  if (progress.is_lane()) {
    ++progress.lane->offered;
  }
  record(progress, state::OfferRecord{.progress = progress.key.progress,
                                      .offset = slot.offset,
                                      .slot = index,
                                      .offer = slot.offer,
                                      .attempt = slot.attempt,
                                      .restarts = slot.restarts,
                                      .client = slot.client,
                                      .lease_ms = static_cast<std::uint64_t>(lease_ms),
                                      .key_hash = slot.key == 0 ? 0 : progress.keys.hash(slot.key),
                                      .redelivery = redelivery,
                                      .lane = progress.is_lane()});
  if (again) {
    count(progress, DeliveryEvent::kReoffered);
  } else {
    ++offered_;
  }
  deliver(progress, index, client, event, std::move(buffer), false, redelivery);
}

void Dispatcher::Impl::deliver(Progress& progress, std::uint32_t index, const Client& client,
                               const log::StoredEvent& event, std::shared_ptr<const void> buffer,
                               bool resent, bool after_sync) {
  Slot& slot = progress.slots[index];
  slot.resent = resent ? 1 : slot.resent;
  Offer offer{.id = id_of(progress, index),
              .client = slot.client,
              .group = progress.group->spec.number,
              .partition = progress.key.partition,
              .partition_index = progress.partition->spec.index,
              .offset = slot.offset,
              .attempt = slot.attempt,
              .max_attempts = progress.max_attempts(),
              .lease_ms = progress.slots.due(slot).value() - clock_.value(),
              .resent = resent,
              .streamed = client.connected,
              .after_sync = after_sync,
              .lane = std::nullopt,
              .lane_entry = Offset(-1),
              .event = event,
              .hold = std::move(buffer)};
  if (progress.is_lane()) {
    offer.lane = progress.key.progress;
    const LaneItem* item = progress.lane->find(slot.offset);
    offer.lane_entry = item == nullptr ? Offset(-1) : item->dlq;
  }
  port_.deliver(std::move(offer));
}

void Dispatcher::Impl::serve_resends() {
  std::vector<Progress*> now;
  now.swap(resending_);
  for (Progress* progress : now) {
    progress->resend_queued = false;
    while (!progress->resends.empty() && serve_resend(*progress)) {
      progress->resends.pop_front();
    }
  }
}

// False: its event is on its way, or cannot be read now.
bool Dispatcher::Impl::serve_resend(Progress& progress) {
  const Progress::Resend& what = progress.resends.front();
  const Slot* slot = progress.slots.find(what.slot);
  if (slot == nullptr || slot->state() != SlotState::kLeased || slot->epoch != what.epoch ||
      slot->offer != what.offer) {
    return true;
  }
  const Client* client = find_client(slot->client);
  if (client == nullptr || !client->connected) {
    return true;
  }
  log::ReadBatch batch;
  bool missing = false;
  if (read_one(progress, slot->offset, batch, missing) != ReadStatus::kReady) {
    return false;
  }
  if (!missing) {
    learn_size(progress, what.slot, batch.events.front());
    std::shared_ptr<const void> buffer = keep(batch);
    // Its offer may not be synced yet, and which offers need not wait for that is not kept.
    deliver(progress, what.slot, *client, batch.events.front(), std::move(buffer), true, true);
  }
  return true;
}

}  // namespace ackline::delivery

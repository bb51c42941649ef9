// What has to be read of deliveries under way before anything is offered: their keys after a change
// of the ordering, and their sizes after a start.
//
// The ordering of a group may change while deliveries are under way (a PATCH). What is in flight
// stays with its holder and counts under the new rule: by partition, nothing new is offered until
// it is done; by key, the keys of its events are read, so that what comes after them waits behind
// them. What waited behind its key is read again under the new rule.
#include <algorithm>
#include <utility>

#include "ackline/delivery/event_key.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

// Under an order by key, what was offered without one: under another order, or because it has none.
bool lacks_key(const Progress& progress, const Slot& slot) {
  return slot.key == 0 && !progress.is_lane() &&
         progress.group->spec.policy.ordering == Ordering::kKey;
}

// A lease that only records tell of: they do not say how large its event is, and it counts against
// the credit of its holder. Others are looked at when they are offered again.
bool lacks_size(const Slot& slot) {
  return slot.size_bytes == 0 && slot.state() == SlotState::kLeased;
}

}  // namespace

void Dispatcher::Impl::reorder(Progress& progress) {
  std::vector<Offset> waiting;
  progress.keys.for_each_blocked(
      [&](std::uint32_t /*entry*/, Offset offset) { waiting.push_back(offset); });
  if (!waiting.empty()) {
    progress.keys.forget_blocked();
    progress.frontier.read_again(waiting);
    // Until the reader is back there, holes are looked for among what is known.
    progress.slots.for_each([&](std::uint32_t /*index*/, const Slot& slot) {
      progress.known_end = std::max(progress.known_end, slot.offset.next());
    });
    progress.ahead_limited = false;
    progress.arrived_from.reset();
    progress.arrived = {};
  }
  list_unread(progress);
}

void Dispatcher::Impl::list_unread(Progress& progress) {
  progress.unread.clear();
  progress.slots.for_each([&](std::uint32_t index, const Slot& slot) {
    if (lacks_key(progress, slot) || lacks_size(slot)) {
      progress.unread.push_back({slot.offset, index});
    }
  });
  std::ranges::sort(progress.unread, std::greater(), &Progress::Unread::offset);
  progress.has_unread = !progress.unread.empty();
}

// Nothing is offered before the keys and sizes of what is in flight are known.
Dispatcher::Impl::Served Dispatcher::Impl::serve_unread(Progress& progress, std::uint32_t quantum,
                                                        std::uint32_t& used) {
  log::ReadBatch batch;
  while (!progress.unread.empty()) {
    const auto [offset, index] = progress.unread.back();
    Slot* slot = progress.slots.find(index);
    // It may be over since, and its slot another event's.
    if (slot == nullptr || slot->offset != offset ||
        !(lacks_key(progress, *slot) || lacks_size(*slot))) {
      progress.unread.pop_back();
      continue;
    }
    if (used >= quantum) {
      return Served::kMore;
    }
    bool missing = false;
    if (read_one(progress, offset, batch, missing) != ReadStatus::kReady) {
      return Served::kReading;
    }
    ++used;
    progress.unread.pop_back();
    if (missing) {
      continue;
    }
    learn_size(progress, index, batch.events.front());
    if (!lacks_key(progress, *slot)) {
      continue;
    }
    const Result<event::FrameView> view = event::FrameView::open(batch.events.front().frame);
    if (const std::uint64_t hash = view ? hash_of_key(*view) : 0; hash != 0) {
      slot->key = progress.keys.hold(hash);
    }
  }
  progress.has_unread = false;
  return Served::kIdle;
}

void Dispatcher::Impl::learn_size(Progress& progress, std::uint32_t index,
                                  const log::StoredEvent& event) {
  Slot& slot = progress.slots[index];
  if (slot.size_bytes != 0) {
    return;
  }
  slot.size_bytes = static_cast<std::uint32_t>(event.frame.size());
  Client* client = slot.state() == SlotState::kLeased ? find_client(slot.client) : nullptr;
  if (client != nullptr && client->group == progress.group) {
    client->held_bytes += slot.size_bytes;
    refresh_open(*client);
  }
}

}  // namespace ackline::delivery

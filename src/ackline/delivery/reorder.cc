// The ordering of a group may change while deliveries are under way (a PATCH).
//
// What is in flight stays with its holder and counts under the new rule: by partition, nothing new
// is offered until it is done; by key, the keys of its events are read, so that what comes after
// them waits behind them. What waited behind its key is read again under the new rule.
#include <algorithm>
#include <utility>

#include "ackline/delivery/event_key.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

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
  list_unkeyed(progress);
}

// Under an order by key, what was offered without one: under another order, or because it has none.
void Dispatcher::Impl::list_unkeyed(Progress& progress) {
  progress.unkeyed.clear();
  if (progress.group->spec.policy.ordering != Ordering::kKey || progress.is_lane()) {
    return;
  }
  progress.slots.for_each([&](std::uint32_t index, const Slot& slot) {
    if (slot.key == 0) {
      progress.unkeyed.push_back({slot.offset, index});
    }
  });
  std::ranges::sort(progress.unkeyed, std::greater(), &Progress::Unkeyed::offset);
}

// Nothing new is offered before the keys of what is in flight are known.
Dispatcher::Impl::Served Dispatcher::Impl::serve_unkeyed(Progress& progress, std::uint32_t quantum,
                                                         std::uint32_t& used) {
  log::ReadBatch batch;
  while (!progress.unkeyed.empty()) {
    const auto [offset, index] = progress.unkeyed.back();
    Slot* slot = progress.slots.find(index);
    // It may be over since, and its slot another event's.
    if (slot == nullptr || slot->offset != offset || slot->key != 0) {
      progress.unkeyed.pop_back();
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
    progress.unkeyed.pop_back();
    if (missing) {
      continue;
    }
    const Result<event::FrameView> view = event::FrameView::open(batch.events.front().frame);
    if (const std::uint64_t hash = view ? hash_of_key(*view) : 0; hash != 0) {
      slot->key = progress.keys.hold(hash);
    }
  }
  return Served::kIdle;
}

}  // namespace ackline::delivery

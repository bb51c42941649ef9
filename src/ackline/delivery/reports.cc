// What the dispatcher says of itself. Looking for a slot by its offset walks the slab: these are
// questions of people and scrapes, and the hot path pays nothing for them.
#include <algorithm>
#include <utility>

#include "ackline/base/plants.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

BlockerState state_of(const Slot& slot) {
  switch (slot.state()) {
    case SlotState::kLeased:
      return BlockerState::kLeased;
    case SlotState::kDead:
      return BlockerState::kDeadLettering;
    case SlotState::kWaiting:
    case SlotState::kReady:
    case SlotState::kFree:
      break;
  }
  return BlockerState::kWaitingRetry;
}

}  // namespace

// Below the cursor as the frontier has them. Above it, after a start or a replay, what lies below
// the highest settled or restored offset and is not known to be settled: nobody has read it again.
std::optional<frontier::Hole> Dispatcher::Impl::next_hole(const Progress& progress,
                                                          Offset from) const {
  const frontier::Frontier& frontier = progress.frontier;
  std::optional<frontier::Hole> hole = frontier.next_hole(from);
  Offset at = std::max({from, frontier.cursor(), frontier.committed()});
  if (hole) {
    if (hole->last.next() != frontier.cursor()) {
      return hole;
    }
    at = frontier.cursor();
  }
  while (at < progress.known_end && frontier.is_settled(at) && !hole) {
    ++at;
  }
  for (; at < progress.known_end && !frontier.is_settled(at); ++at) {
    if (!hole) {
      hole = frontier::Hole{at, at, 0};
    }
    hole->last = at;
    ++hole->count;
  }
  return hole;
}

std::optional<ProgressReport> Dispatcher::Impl::progress(ProgressKey key) const {
  const Progress* of = find(key);
  if (of == nullptr || of->is_lane()) {
    return std::nullopt;
  }
  const frontier::Frontier& frontier = of->frontier;
  ProgressReport report{.generation = of->generation,
                        .frontier = frontier.value(),
                        .cursor = frontier.cursor(),
                        .start = of->start,
                        .settled_ahead = frontier.settled_ahead(),
                        .in_flight = of->leased,
                        .waiting = of->waiting,
                        .blocked = of->keys.blocked(),
                        .holes = frontier.holes_count(),
                        .dead = of->dead.open_count(),
                        .gone = of->gone,
                        .clamped = of->clamped,
                        .oldest_pending = frontier.committed(),
                        .known_end = of->known_end};
  if (plant(Plant::kLagFromCursor)) {
    report.frontier = frontier.cursor().previous();
  }
  if (of->known_end > frontier.cursor()) {
    report.holes = 0;
    for (auto hole = next_hole(*of, Offset(0)); hole; hole = next_hole(*of, hole->last.next())) {
      ++report.holes;
    }
  }
  return report;
}

HolePage Dispatcher::Impl::holes(ProgressKey key, Offset from, std::uint32_t limit) const {
  HolePage page;
  const Progress* of = find(key);
  if (of == nullptr || of->is_lane()) {
    return page;
  }
  page.total = progress(key)->holes;
  auto hole = next_hole(*of, from);
  while (hole && page.holes.size() < limit) {
    page.holes.push_back(
        {.from = hole->first, .to = hole->last, .events = hole->count, .oldest = {}});
    hole = next_hole(*of, hole->last.next());
  }
  if (hole) {
    page.next = hole->first;
  }
  const auto hole_of = [&page](Offset offset) -> Hole* {
    const auto after = std::ranges::upper_bound(page.holes, offset, {}, &Hole::from);
    if (after == page.holes.begin() || std::prev(after)->to < offset) {
      return nullptr;
    }
    return &*std::prev(after);
  };
  of->slots.for_each([&](std::uint32_t /*index*/, const Slot& slot) {
    Hole* in = hole_of(slot.offset);
    if (in == nullptr) {
      return;
    }
    switch (state_of(slot)) {
      case BlockerState::kLeased:
        ++in->leased;
        break;
      case BlockerState::kDeadLettering:
        ++in->dead_lettering;
        break;
      default:
        ++in->waiting;
    }
    const MonoMs since = outer(of->slots.since(slot));
    in->oldest = in->oldest ? std::min(*in->oldest, since) : since;
  });
  of->keys.for_each_blocked([&](std::uint32_t /*entry*/, Offset offset) {
    if (Hole* in = hole_of(offset); in != nullptr) {
      ++in->blocked;
    }
  });
  return page;
}

BlockerReport Dispatcher::Impl::blocker(ProgressKey key) const {
  BlockerReport report;
  const Progress* of = find(key);
  if (of == nullptr || of->is_lane()) {
    return report;
  }
  const frontier::Frontier& frontier = of->frontier;
  const Offset offset = frontier.committed();
  report.offset = offset;
  report.settled_behind = frontier.settled_ahead();
  report.max_attempts = of->max_attempts();
  report.ahead_limited = frontier.full();
  report.has_client = std::ranges::any_of(of->group->clients, [of](const Client* client) {
    return client->takes(of->partition->spec.index) &&
           (client->connected || client->demand > 0 || client->held > 0);
  });
  std::uint32_t found = kNoSlot;
  of->slots.for_each([&](std::uint32_t index, const Slot& slot) {
    found = slot.offset == offset ? index : found;
  });
  if (found == kNoSlot) {
    report.caught_up = offset >= of->partition->spec.end;
    report.state = BlockerState::kNotOffered;
    if (frontier.is_pending(offset)) {
      report.state = BlockerState::kBlockedByKey;
    } else if (frontier.full()) {
      report.state = BlockerState::kAheadLimit;
    }
    return report;
  }
  const Slot& slot = of->slots[found];
  report.state = state_of(slot);
  report.client = slot.client;
  report.client_id = std::string(holder_name(slot.client));
  report.attempt = slot.attempt;
  report.since = outer(of->slots.since(slot));
  const std::int64_t left = std::max<std::int64_t>(of->slots.due(slot).value() - clock_.value(), 0);
  if (report.state == BlockerState::kLeased) {
    report.id = id_of(*of, found);
    report.lease_left_ms = left;
  } else {
    report.next_attempt_in_ms = left;
  }
  if (const auto error = of->errors.find(found); error != of->errors.end()) {
    report.last_error = error->second;
  }
  return report;
}

std::vector<DeadEntry> Dispatcher::Impl::dead_entries(ProgressKey key, Offset from,
                                                      std::uint32_t limit) const {
  std::vector<DeadEntry> entries;
  const Progress* of = find(key);
  if (of == nullptr) {
    return entries;
  }
  const auto& all = of->dead.all();
  for (auto at = all.lower_bound({from, Generation(0)}); at != all.end() && entries.size() < limit;
       ++at) {
    entries.push_back(of->dead.report(*at));
  }
  return entries;
}

void Dispatcher::Impl::for_each_dead(ProgressKey key,
                                     const std::function<void(Offset, EntryState)>& visit) const {
  if (const Progress* of = find(key); of != nullptr) {
    for (const auto& [at, entry] : of->dead.all()) {
      visit(entry.dlq, entry.state);
    }
  }
}

std::optional<DeadEntry> Dispatcher::Impl::dead_entry(ProgressKey key, Offset source) const {
  const Progress* of = find(key);
  if (of == nullptr) {
    return std::nullopt;
  }
  const auto [at, entry] = of->dead.find(source);
  return entry == nullptr ? std::nullopt : std::optional(of->dead.report(*at));
}

std::optional<DeadEntry> Dispatcher::Impl::dead_entry_at(ProgressKey key, Offset dlq) const {
  const Progress* of = find(key);
  const DeadTable::Map::value_type* item = of == nullptr ? nullptr : of->dead.at(dlq);
  return item == nullptr ? std::nullopt : std::optional(of->dead.report(*item));
}

LaneReport Dispatcher::Impl::lane(ProgressNumber number) const {
  LaneReport report;
  for (auto at = progress_.lower_bound({number, PartitionNumber(0)});
       at != progress_.end() && at->first.progress == number; ++at) {
    if (at->second->is_lane()) {
      const LaneState& part = *at->second->lane;
      report.offered += part.offered;
      report.resolved += part.resolved;
      report.dead_again += part.dead_again;
      report.gone += part.gone;
      report.left += part.left();
    }
  }
  return report;
}

std::vector<ClientReport> Dispatcher::Impl::clients() const {
  std::vector<ClientReport> all;
  for (const auto& [number, client] : clients_) {
    all.push_back({.client = number,
                   .client_id = client->spec.client_id,
                   .group = client->spec.group,
                   .connected = client->connected,
                   .in_flight = client->held,
                   .in_flight_bytes = client->held_bytes,
                   .window_events = client->window_events,
                   .window_bytes = client->window_bytes});
  }
  std::ranges::sort(all, {}, &ClientReport::client);
  return all;
}

std::vector<ProgressKey> Dispatcher::Impl::keys() const {
  std::vector<ProgressKey> all;
  for (const auto& [key, progress] : progress_) {
    if (!progress->is_lane()) {
      all.push_back(key);
    }
  }
  return all;
}

DeliveryReport Dispatcher::Impl::report_of(const Progress& progress, std::uint32_t index) const {
  const Slot& slot = progress.slots[index];
  return {.offset = slot.offset,
          .id = id_of(progress, index),
          .attempt = slot.attempt,
          .state = state_of(slot),
          .client = slot.client,
          .left_ms = std::max<std::int64_t>(progress.slots.due(slot).value() - clock_.value(), 0)};
}

void Dispatcher::Impl::for_each_delivery(
    ProgressKey key, const std::function<void(const DeliveryReport&)>& visit) const {
  if (const Progress* of = find(key); of != nullptr) {
    of->slots.for_each(
        [&](std::uint32_t index, const Slot& /*slot*/) { visit(report_of(*of, index)); });
  }
}

std::size_t Dispatcher::Impl::memory_bytes() const {
  std::size_t bytes = sizeof(*this) + nodes_.memory_bytes() + buffer_.capacity();
  for (const auto& [key, progress] : progress_) {
    bytes += sizeof(Progress) + progress->slots.memory_bytes() + progress->frontier.memory_bytes() -
             sizeof(frontier::Frontier) + progress->keys.memory_bytes() +
             progress->dead.memory_bytes();
    for (const auto& [slot, error] : progress->errors) {
      bytes += sizeof(std::pair<std::uint32_t, std::string>) + error.capacity();
    }
    if (progress->is_lane()) {
      bytes += progress->lane->items.capacity() * sizeof(LaneItem);
    }
  }
  bytes += clients_.size() * (sizeof(Client) + 128) + former_.size() * 96;
  return bytes;
}

}  // namespace ackline::delivery

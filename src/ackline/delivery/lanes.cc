// Lanes: chosen events delivered again beside the group's progress (invariant 18). A lane has its
// own number, slots, offers and attempts, is served to the group's clients, and moves no frontier.
//
// A redrive chooses dead letters, a replay any terminal events. What tells them apart is the item:
// with a dead letter it is read there and ends in that entry's state; without one the event itself
// is read, and failing makes a new dead letter. A replayed event that is a dead letter is an item
// of the first kind: its replay is its redrive.
#include <algorithm>
#include <utility>

#include "ackline/base/plants.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

constexpr std::int64_t kTokenMicro = 1'000'000;  // one offer
constexpr std::int64_t kTokenWaitMaxMs = 1'000'000;

}  // namespace

LaneItem* LaneState::find(Offset source) {
  const auto at = std::ranges::lower_bound(items, source, {}, &LaneItem::source);
  return at == items.end() || at->source != source ? nullptr : &*at;
}

Progress* Dispatcher::Impl::group_progress(const Progress& lane) const {
  return find({lane.group->spec.number, lane.key.partition});
}

Progress& Dispatcher::Impl::make_lane(ProgressNumber number, Group& group, Partition& partition,
                                      std::vector<LaneItem> items) {
  Progress& lane = make_progress({number, partition.spec.number}, group, partition, Offset(0));
  lane.lane = std::make_unique<LaneState>();
  lane.lane->number = number;
  lane.lane->items = std::move(items);
  lane.lane->tokens_at = clock_;
  lane.lane->tokens_micro = kTokenMicro;
  lane.touched = true;
  return lane;
}

std::uint64_t Dispatcher::Impl::purge_dead(ProgressKey key, std::span<const Offset> dlq_offsets) {
  Progress* progress = find(key);
  std::uint64_t purged = 0;
  if (progress == nullptr || progress->is_lane()) {
    return purged;
  }
  for (const Offset dlq : dlq_offsets) {
    const DeadTable::Map::value_type* item = progress->dead.at(dlq);
    if (item == nullptr ||
        (item->second.state != EntryState::kDead && item->second.state != EntryState::kResolved)) {
      continue;
    }
    record(*progress, state::LaneEntryRecord{.lane = ProgressNumber(0),
                                             .group = key.progress,
                                             .entry = {.offset = item->first.source,
                                                       .dlq_offset = dlq,
                                                       .state = state::EntryState::kPurged}});
    progress->dead.change(dlq, [](auto& changed) { changed.state = EntryState::kPurged; });
    ++purged;
  }
  return purged;
}

Dispatcher::Impl::Served Dispatcher::Impl::serve_lane(Progress& progress, std::uint32_t quantum,
                                                      std::uint32_t& used) {
  LaneState& lane = *progress.lane;
  log::ReadBatch batch;
  while (lane.next < lane.items.size()) {
    LaneItem& item = lane.items[lane.next];
    if (item.state != LaneItemState::kOpen) {
      ++lane.next;
      continue;
    }
    if (used >= quantum) {
      return Served::kMore;
    }
    if (progress.group->open.empty()) {
      return Served::kParked;
    }
    if (!lane_may_offer(progress)) {
      return Served::kIdle;
    }
    bool missing = false;
    if (read_one(progress, item.source, batch, missing) != ReadStatus::kReady) {
      return Served::kReading;
    }
    Client* client = nullptr;
    if (!missing) {
      const std::size_t size_bytes = batch.events.front().frame.size();
      client = pick(progress, static_cast<std::uint32_t>(size_bytes), false);
      if (client == nullptr) {
        return Served::kParked;
      }
    }
    ++used;
    ++lane.next;
    lane.tokens_micro -= kTokenMicro;
    item.state = LaneItemState::kInFlight;
    std::uint32_t index = kNoSlot;
    new_slot(progress, index, item.source);
    if (missing) {
      ++progress.waiting;
      fail_entry(progress, index, true);
    } else {
      lease(progress, index, *client, batch.events.front(), keep(batch));
    }
  }
  return Served::kIdle;
}

// The rate limit: a bucket of a tenth of a second.
bool Dispatcher::Impl::lane_may_offer(Progress& progress) {
  LaneState& lane = *progress.lane;
  if (lane.rate_milli == 0) {
    lane.tokens_micro = kTokenMicro;
    return true;
  }
  const auto rate = static_cast<std::int64_t>(lane.rate_milli);
  const std::int64_t passed =
      std::min<std::int64_t>(clock_.value() - lane.tokens_at.value(), kTokenWaitMaxMs);
  lane.tokens_micro =
      std::min(lane.tokens_micro + passed * rate, std::max(kTokenMicro, rate * 100));
  lane.tokens_at = clock_;
  if (lane.tokens_micro >= kTokenMicro) {
    return true;
  }
  const MonoMs at = clock_.plus((kTokenMicro - lane.tokens_micro + rate - 1) / rate);
  const TimerNode& node = nodes_[progress.node];
  if (!node.timer.armed() || at < node.due) {
    arm_node(progress.node, at);
  }
  return false;
}

void Dispatcher::Impl::journal_entry(const Progress& progress, Offset source,
                                     state::EntryState entry_state) {
  const LaneItem* item = progress.lane->find(source);
  const bool resolved = entry_state == state::EntryState::kResolved;
  buffer_.clear();
  state::SettleRecord::encode_one(buffer_, progress.key.progress,
                                  resolved ? state::Outcome::kAcked : state::Outcome::kExhausted,
                                  source);
  port_.journal(state::RecordType::kSettle, progress.key.partition, as_bytes(buffer_));
  record(progress, state::LaneEntryRecord{
                       .lane = progress.key.progress,
                       .group = progress.group->spec.number,
                       .entry = {.offset = source, .dlq_offset = item->dlq, .state = entry_state}});
}

void Dispatcher::Impl::resolve_entry(Progress& progress, std::uint32_t index) {
  const Offset source = progress.slots[index].offset;
  journal_entry(progress, source, state::EntryState::kResolved);
  free_slot(progress, index);
  entry_done(progress, source, true, {});
  if (Progress* of = group_progress(progress);
      of != nullptr && plant(Plant::kRedriveMovesFrontier)) {
    static_cast<void>(of->frontier.settle_range(of->frontier.committed(),
                                                std::max(of->frontier.committed(), source)));
  }
}

// The dead letter that a lane's event has, or had in this generation: one key is one dead letter,
// also when an event was redriven well and a replay of it failed afterwards.
std::optional<Offset> Dispatcher::Impl::entry_of(const Progress& lane, Offset source) const {
  const LaneItem* item = lane.lane->find(source);
  if (item != nullptr && item->has_entry()) {
    return item->dlq;
  }
  const Progress* of = group_progress(lane);
  if (of == nullptr) {
    return std::nullopt;
  }
  const auto [at, entry] = of->dead.find(source);
  const bool present = entry != nullptr && at->first.generation == of->generation &&
                       entry->state != EntryState::kPurged;
  return present ? std::optional(entry->dlq) : std::nullopt;
}

// `missing`: retention took the event before its turn; without a dead letter it is gone.
void Dispatcher::Impl::fail_entry(Progress& progress, std::uint32_t index, bool missing) {
  const Offset source = progress.slots[index].offset;
  if (const auto entry = entry_of(progress, source); entry && !missing) {
    progress.lane->find(source)->dlq = *entry;
  }
  const auto found = progress.errors.find(index);
  const std::string error = found == progress.errors.end() ? std::string{} : found->second;
  journal_entry(progress, source, state::EntryState::kDead);
  free_slot(progress, index);
  entry_done(progress, source, false, error);
}

void Dispatcher::Impl::entry_done(Progress& progress, Offset source, bool resolved,
                                  const std::string& error) {
  LaneState& lane = *progress.lane;
  LaneItem* item = lane.find(source);
  if (item == nullptr || !item->is_open()) {
    return;
  }
  item->state = resolved ? LaneItemState::kResolved : LaneItemState::kDeadAgain;
  (resolved ? lane.resolved : item->has_entry() ? lane.dead_again : lane.gone) += 1;
  if (Progress* of = group_progress(progress); of != nullptr) {
    of->dead.change(item->dlq, [resolved](auto& entry) {
      entry.state = resolved ? EntryState::kResolved : EntryState::kDead;
      ++entry.redrives;
    });
    of->dead.set_error(item->dlq, error);
  }
  tell_if_done(progress);
}

// What had no dead letter has one now.
void Dispatcher::Impl::entry_made(Progress& lane, Offset source, Offset dlq) {
  LaneItem* item = lane.lane->find(source);
  if (item == nullptr || !item->is_open()) {
    return;
  }
  item->dlq = dlq;
  item->state = LaneItemState::kDeadAgain;
  ++lane.lane->dead_again;
  if (Progress* of = group_progress(lane); of != nullptr) {
    of->dead.add(source, of->generation, {.dlq = dlq});
  }
  tell_if_done(lane);
}

void Dispatcher::Impl::tell_if_done(const Progress& lane) {
  if (lane.lane->left() == 0 && resumed_) {
    port_.lane_part_done(lane.key.progress, lane.key.partition);
  }
}

void Dispatcher::Impl::apply_lane_part(PartitionNumber partition,
                                       const state::LanePartRecord& record) {
  Progress* of = recovered(record.group, partition);
  if (of == nullptr) {
    return;
  }
  if (Progress* there = find({record.lane, partition}); there != nullptr) {
    const bool ends = std::ranges::all_of(record.entries, [](const state::LaneEntry& entry) {
      return entry.state == state::EntryState::kDead;
    });
    if (there->is_lane() && ends) {
      static_cast<void>(abandon_items(*there, Offset(0)));
      remove_progress(*there);
    }
    return;
  }
  std::vector<LaneItem> items;
  for (const state::LaneEntry& entry : record.entries) {
    items.push_back({.source = entry.offset, .dlq = entry.dlq_offset});
    of->dead.change(entry.dlq_offset, [](auto& dead) { dead.state = EntryState::kRedriving; });
  }
  std::ranges::sort(items, {}, &LaneItem::source);
  make_lane(record.lane, *of->group, *of->partition, std::move(items));
}

void Dispatcher::Impl::apply_lane_entry(PartitionNumber partition,
                                        const state::LaneEntryRecord& record) {
  const Offset source = record.entry.offset;
  if (record.lane == ProgressNumber(0)) {
    if (Progress* of = recovered(record.group, partition);
        of != nullptr && (record.entry.state == state::EntryState::kPurged ||
                          record.entry.state == state::EntryState::kDead)) {
      const bool purged = record.entry.state == state::EntryState::kPurged;
      of->dead.change(record.entry.dlq_offset, [purged](auto& entry) {
        entry.state = purged ? EntryState::kPurged : EntryState::kDead;
      });
    }
    return;
  }
  Progress* lane = find({record.lane, partition});
  if (lane == nullptr || !lane->is_lane()) {
    return;
  }
  std::string error;
  if (const auto slot = lane->recovery.find(source.value()); slot != lane->recovery.end()) {
    const std::uint32_t index = slot->second;
    if (const auto text = lane->errors.find(index); text != lane->errors.end()) {
      error = text->second;
    }
    drop_recovered(*lane, index);
  }
  const bool resolved = record.entry.state == state::EntryState::kResolved;
  LaneItem* item = lane->lane->find(source);
  const Offset dlq = record.entry.dlq_offset;
  if (!resolved && item != nullptr && !item->has_entry() && dlq >= Offset(0)) {
    const Progress* of = group_progress(*lane);
    if (of == nullptr || of->dead.at(dlq) == nullptr) {
      entry_made(*lane, source, dlq);
      return;
    }
    item->dlq = dlq;
  }
  entry_done(*lane, source, resolved, resolved ? std::string{} : error);
}

// An offer that was withdrawn before its first byte, or was written behind, has no slot; its entry
// says that it is in flight.
void Dispatcher::Impl::open_what_nobody_holds(Progress& lane) {
  std::vector<Offset> held;
  lane.slots.for_each(
      [&held](std::uint32_t /*index*/, const Slot& slot) { held.push_back(slot.offset); });
  std::ranges::sort(held);
  for (LaneItem& item : lane.lane->items) {
    if (item.state == LaneItemState::kInFlight && !std::ranges::binary_search(held, item.source)) {
      item.state = LaneItemState::kOpen;
    }
  }
  lane.lane->next = 0;
}

}  // namespace ackline::delivery

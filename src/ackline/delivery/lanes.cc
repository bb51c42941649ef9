// Lanes: redrives of dead letters beside the group's progress (invariant 18). A lane has its own
// number, slots, offers and attempts, is served to the group's clients, and moves no frontier.
#include <algorithm>
#include <map>
#include <utility>

#include "ackline/base/plants.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

constexpr std::int64_t kTokenMilli = 1'000;  // one offer

bool is_open(const LaneItem& item) {
  return item.state == LaneItemState::kOpen || item.state == LaneItemState::kInFlight;
}

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
  lane.lane->tokens_milli = kTokenMilli;
  lane.touched = true;
  return lane;
}

Result<LanePartReport> Dispatcher::Impl::start_lane(LanePart part) {
  if (Progress* there = find({part.lane, part.partition}); there != nullptr) {
    if (!there->is_lane()) {
      return fail(ErrorCode::kBadValue, "the number of the lane is a group's");
    }
    there->lane->rate_per_second = part.rate_per_second;
    wake(*there);
    return LanePartReport{.matched = there->lane->items.size(), .taken = there->lane->items.size()};
  }
  Progress* of = find({part.group, part.partition});
  if (of == nullptr) {
    return fail(ErrorCode::kGroupUnknown, "the group has no progress on this partition");
  }
  if (part.entries.empty()) {
    for (const auto& [key, entry] : of->dead.all()) {
      part.entries.push_back(entry.dlq);
    }
  }
  std::ranges::sort(part.entries);
  const auto doubles = std::ranges::unique(part.entries);
  part.entries.erase(doubles.begin(), doubles.end());
  LanePartReport report;
  // An event has one live slot: of its entries the newest that is dead is taken.
  std::map<Offset, Offset> taken;
  for (const Offset dlq : part.entries) {
    const DeadTable::Map::value_type* item = of->dead.at(dlq);
    if (item == nullptr || item->second.state == EntryState::kPurged) {
      continue;
    }
    ++report.matched;
    // Its event may be open again since (a replay), or under way in another lane.
    const Offset source = item->first.source;
    if (item->second.state == EntryState::kDead && of->frontier.is_settled(source) &&
        !of->dead.redriving(source)) {
      taken.insert_or_assign(source, dlq);
    }
  }
  std::vector<LaneItem> items;
  state::LanePartRecord made{.lane = part.lane, .group = part.group, .entries = {}};
  for (const auto& [source, dlq] : taken) {
    items.push_back({.source = source, .dlq = dlq});
    made.entries.push_back(
        {.offset = source, .dlq_offset = dlq, .state = state::EntryState::kRedriving});
  }
  report.taken = items.size();
  for (const LaneItem& item : items) {
    of->dead.change(item.dlq, [](auto& entry) { entry.state = EntryState::kRedriving; });
  }
  Progress& lane = make_lane(part.lane, *of->group, *of->partition, std::move(items));
  lane.lane->rate_per_second = part.rate_per_second;
  record(lane, made);
  if (lane.lane->left() == 0) {
    port_.lane_part_done(part.lane, part.partition);
  }
  wake(lane);
  return report;
}

// Its ids are stale from here on; what it had not done is dead again.
void Dispatcher::Impl::end_lane(ProgressNumber number) {
  std::vector<Progress*> parts;
  for (auto at = progress_.lower_bound({number, PartitionNumber(0)});
       at != progress_.end() && at->first.progress == number; ++at) {
    if (at->second->is_lane()) {
      parts.push_back(at->second.get());
    }
  }
  for (Progress* part : parts) {
    state::LanePartRecord ended{.lane = number, .group = part->group->spec.number, .entries = {}};
    for (const LaneItem& item : part->lane->items) {
      if (is_open(item)) {
        ended.entries.push_back(
            {.offset = item.source, .dlq_offset = item.dlq, .state = state::EntryState::kDead});
      }
    }
    record(*part, ended);
    static_cast<void>(abandon_items(*part, Offset(0)));
    remove_progress(*part);
  }
}

// What of it lies at or above `from` and is not done is dead again; what is done stays counted.
// False: there was nothing.
bool Dispatcher::Impl::abandon_items(Progress& lane, Offset from) {
  const auto ends = [from](const LaneItem& item) { return is_open(item) && item.source >= from; };
  Progress* of = group_progress(lane);
  for (const LaneItem& item : lane.lane->items) {
    if (ends(item) && of != nullptr) {
      of->dead.change(item.dlq, [](auto& entry) { entry.state = EntryState::kDead; });
    }
  }
  drop_slots_from(lane, from);
  lane.lane->next = 0;
  return std::erase_if(lane.lane->items, ends) > 0;
}

// Events at or above `from` are open again: lanes have them no more (invariant 18).
void Dispatcher::Impl::end_lanes_over(Progress& progress, Offset from) {
  for (Progress* other : progress.partition->progress) {
    if (other->is_lane() && other->group == progress.group && abandon_items(*other, from) &&
        other->lane->left() == 0 && resumed_) {
      port_.lane_part_done(other->key.progress, other->key.partition);
    }
  }
}

std::uint64_t Dispatcher::Impl::purge_dead(ProgressKey key, std::span<const Offset> dlq_offsets) {
  Progress* progress = find(key);
  std::uint64_t purged = 0;
  if (progress == nullptr || progress->is_lane()) {
    return purged;
  }
  for (const Offset dlq : dlq_offsets) {
    const DeadTable::Map::value_type* item = progress->dead.at(dlq);
    if (item == nullptr || item->second.state != EntryState::kDead) {
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
    Client* client = pick(*progress.group, *progress.partition, 0, false);
    if (client == nullptr) {
      return Served::kParked;
    }
    if (!lane_may_offer(progress)) {
      return Served::kIdle;
    }
    bool missing = false;
    if (read_one(progress, item.source, batch, missing) != ReadStatus::kReady) {
      return Served::kReading;
    }
    ++used;
    ++lane.next;
    lane.tokens_milli -= kTokenMilli;
    item.state = LaneItemState::kInFlight;
    std::uint32_t index = kNoSlot;
    new_slot(progress, index, item.source);
    if (missing) {
      ++progress.waiting;
      fail_entry(progress, index);
    } else {
      lease(progress, index, *client, batch.events.front(), keep(batch));
    }
  }
  return Served::kIdle;
}

// The rate limit: a bucket of a tenth of a second.
bool Dispatcher::Impl::lane_may_offer(Progress& progress) {
  LaneState& lane = *progress.lane;
  if (lane.rate_per_second == 0) {
    lane.tokens_milli = kTokenMilli;
    return true;
  }
  const auto rate = std::int64_t{lane.rate_per_second};
  const std::int64_t passed =
      std::min<std::int64_t>(clock_.value() - lane.tokens_at.value(), 1'000);
  lane.tokens_milli =
      std::min(lane.tokens_milli + passed * rate, std::max(kTokenMilli, rate * 100));
  lane.tokens_at = clock_;
  if (lane.tokens_milli >= kTokenMilli) {
    return true;
  }
  const MonoMs at = clock_.plus((kTokenMilli - lane.tokens_milli + rate - 1) / rate);
  TimerNode& node = nodes_[progress.node];
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

void Dispatcher::Impl::fail_entry(Progress& progress, std::uint32_t index) {
  const Offset source = progress.slots[index].offset;
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
  if (item == nullptr || !is_open(*item)) {
    return;
  }
  item->state = resolved ? LaneItemState::kResolved : LaneItemState::kDeadAgain;
  (resolved ? lane.resolved : lane.dead_again) += 1;
  if (Progress* of = group_progress(progress); of != nullptr) {
    of->dead.change(item->dlq, [resolved](auto& entry) {
      entry.state = resolved ? EntryState::kResolved : EntryState::kDead;
      entry.redrives += resolved ? 0U : 1U;
    });
    of->dead.set_error(item->dlq, error);
  }
  if (lane.left() == 0 && resumed_) {
    port_.lane_part_done(progress.key.progress, progress.key.partition);
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
        of != nullptr && record.entry.state == state::EntryState::kPurged) {
      of->dead.change(record.entry.dlq_offset,
                      [](auto& entry) { entry.state = EntryState::kPurged; });
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
  entry_done(*lane, source, resolved, resolved ? std::string{} : error);
}

}  // namespace ackline::delivery

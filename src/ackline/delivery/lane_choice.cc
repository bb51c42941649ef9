// A lane begins: which of the events that were asked for it takes (invariant 18).
#include <algorithm>
#include <map>
#include <utility>

#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

void without_doubles(std::vector<Offset>& offsets) {
  std::ranges::sort(offsets);
  const auto doubles = std::ranges::unique(offsets);
  offsets.erase(doubles.begin(), doubles.end());
}

// Lanes take terminal events only, and an event is under way in one of them at most. It may be open
// again since it was chosen (a replay or a reset).
bool may_be_taken(const Progress& of, Offset source) {
  return source >= of.partition->spec.log_start && of.frontier.is_settled(source) &&
         std::ranges::none_of(of.partition->progress, [&](const Progress* other) {
           const LaneItem* item =
               other->is_lane() && other->group == of.group ? other->lane->find(source) : nullptr;
           return item != nullptr && item->is_open();
         });
}

}  // namespace

Result<LanePartReport> Dispatcher::Impl::start_lane(LanePart part) {
  if (Progress* there = find({part.lane, part.partition}); there != nullptr) {
    if (!there->is_lane()) {
      return fail(ErrorCode::kBadValue, "the number of the lane is a group's");
    }
    there->lane->rate_milli = part.rate_milli;
    wake(*there);
    return LanePartReport{.matched = there->lane->items.size(), .taken = there->lane->items.size()};
  }
  Progress* of = find({part.group, part.partition});
  if (of == nullptr) {
    return fail(ErrorCode::kGroupUnknown, "the group has no progress on this partition");
  }
  LanePartReport report;
  std::vector<LaneItem> items = part.kind == state::LaneKind::kReplay
                                    ? choose_events(*of, std::move(part.entries), report)
                                    : choose_entries(*of, std::move(part.entries), report);
  state::LanePartRecord made{
      .lane = part.lane, .group = part.group, .kind = part.kind, .entries = {}};
  made.entries.reserve(items.size());
  for (const LaneItem& item : items) {
    made.entries.push_back(
        {.offset = item.source, .dlq_offset = item.dlq, .state = state::EntryState::kRedriving});
    of->dead.change(item.dlq, [](auto& entry) { entry.state = EntryState::kRedriving; });
  }
  report.taken = items.size();
  Progress& lane = make_lane(part.lane, *of->group, *of->partition, std::move(items));
  lane.lane->rate_milli = part.rate_milli;
  record(lane, made);
  if (lane.lane->left() == 0) {
    port_.lane_part_done(part.lane, part.partition);
  }
  wake(lane);
  return report;
}

std::vector<LaneItem> Dispatcher::Impl::choose_entries(const Progress& of,
                                                       std::vector<Offset> entries,
                                                       LanePartReport& report) {
  if (entries.empty()) {
    for (const auto& [key, entry] : of.dead.all()) {
      entries.push_back(entry.dlq);
    }
  }
  without_doubles(entries);
  // An event has one live slot: of its entries the newest that is dead is taken.
  std::map<Offset, Offset> taken;
  for (const Offset dlq : entries) {
    const DeadTable::Map::value_type* item = of.dead.at(dlq);
    if (item == nullptr || item->second.state == EntryState::kPurged) {
      continue;
    }
    ++report.matched;
    if (item->second.state == EntryState::kDead && may_be_taken(of, item->first.source)) {
      taken.insert_or_assign(item->first.source, dlq);
    }
  }
  std::vector<LaneItem> items;
  items.reserve(taken.size());
  for (const auto& [source, dlq] : taken) {
    items.push_back({.source = source, .dlq = dlq});
  }
  return items;
}

std::vector<LaneItem> Dispatcher::Impl::choose_events(const Progress& of,
                                                      std::vector<Offset> sources,
                                                      LanePartReport& report) {
  without_doubles(sources);
  std::vector<LaneItem> items;
  for (const Offset source : sources) {
    ++report.matched;
    if (!may_be_taken(of, source)) {
      continue;
    }
    const DeadTable::Entry* dead = of.dead.newest(source);
    const bool along = dead != nullptr && !dead->reopened && dead->state == EntryState::kDead;
    items.push_back({.source = source, .dlq = along ? dead->dlq : Offset(-1)});
  }
  return items;
}

std::vector<Offset> Dispatcher::Impl::replayable(ProgressKey key,
                                                 std::span<const Offset> sources) const {
  std::vector<Offset> may;
  if (const Progress* of = find(key); of != nullptr && !of->is_lane()) {
    for (const Offset source : sources) {
      if (may_be_taken(*of, source)) {
        may.push_back(source);
      }
    }
  }
  return may;
}

}  // namespace ackline::delivery

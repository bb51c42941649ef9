// How lanes end: done, by a request, by a replay over them, or at a start that finds that they had
// ended (invariants 18 and 31).
#include <algorithm>
#include <set>
#include <utility>

#include "ackline/delivery/impl.h"

namespace ackline::delivery {

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
      if (item.is_open()) {
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
  const auto ends = [from](const LaneItem& item) { return item.is_open() && item.source >= from; };
  Progress* of = group_progress(lane);
  for (const LaneItem& item : lane.lane->items) {
    if (ends(item) && of != nullptr) {
      of->dead.change(item.dlq, [](auto& entry) { entry.state = EntryState::kDead; });
    }
  }
  drop_slots_from(lane, from);
  lane.lane->next = 0;
  forget_short(lane);
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

std::vector<ProgressKey> Dispatcher::Impl::reduce_lane(ProgressNumber number) {
  std::vector<ProgressKey> reduced;
  for (auto at = progress_.lower_bound({number, PartitionNumber(0)});
       at != progress_.end() && at->first.progress == number; ++at) {
    Progress& part = *at->second;
    if (!part.is_lane() || part.lane->left() > 0) {
      continue;
    }
    if (!part.lane->items.empty()) {
      reduced.push_back(at->first);
    }
    part.lane->reduced = true;
    part.lane->items = std::vector<LaneItem>();  // its memory, too
    part.lane->next = 0;
  }
  return reduced;
}

// Meta is the truth of lanes, and a kill may come between the end of one there and its record here
// (invariant 31). Nor is a dead letter under way without one.
void Dispatcher::Impl::end_unknown_lanes(const std::function<bool(ProgressNumber)>& known) {
  std::set<ProgressNumber> unknown;
  for (const auto& [key, progress] : progress_) {
    if (progress->is_lane() && !known(key.progress)) {
      unknown.insert(key.progress);
    }
  }
  for (const ProgressNumber number : unknown) {
    end_lane(number);
  }
  for (const auto& [key, progress] : progress_) {
    if (!progress->is_lane()) {
      free_abandoned(*progress);
    }
  }
}

// Its dead letters that no lane has are dead again.
void Dispatcher::Impl::free_abandoned(Progress& progress) {
  std::set<Offset> under_way;
  for (const Progress* other : progress.partition->progress) {
    if (!other->is_lane() || other->group != progress.group) {
      continue;
    }
    for (const LaneItem& item : other->lane->items) {
      if (item.is_open() && item.has_entry()) {
        under_way.insert(item.dlq);
      }
    }
  }
  std::vector<std::pair<Offset, Offset>> abandoned;
  for (const auto& [key, entry] : progress.dead.all()) {
    if (entry.state == EntryState::kRedriving && !under_way.contains(entry.dlq)) {
      abandoned.emplace_back(key.source, entry.dlq);
    }
  }
  for (const auto& [source, dlq] : abandoned) {
    record(progress,
           state::LaneEntryRecord{
               .lane = ProgressNumber(0),
               .group = progress.key.progress,
               .entry = {.offset = source, .dlq_offset = dlq, .state = state::EntryState::kDead}});
    progress.dead.change(dlq, [](auto& entry) { entry.state = EntryState::kDead; });
  }
}

}  // namespace ackline::delivery

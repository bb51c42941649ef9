// What a start finds lost of a group's progress although it was durable once: less than was
// exported (an older journal or delivery store was put back), or more than the log has (events are
// gone).
//
// Both before the first lists are built, and both in the journal: the next start finds it done.
#include <algorithm>
#include <utility>

#include "ackline/base/logging.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

// The journal knows of it from here on.
void Dispatcher::Impl::note_progress(Progress& progress) {
  if (progress.touched) {
    return;
  }
  progress.touched = true;
  record(progress, state::ReopenRecord{.progress = progress.key.progress,
                                       .generation = progress.generation,
                                       .frontier = progress.frontier.value(),
                                       .kind = state::ReopenKind::kStart,
                                       .kept = {}});
}

void Dispatcher::Impl::note_exported(ProgressKey key, Generation generation, Offset frontier) {
  lost_.exported.insert_or_assign(key, std::pair(generation, frontier));
}

void Dispatcher::Impl::distrust(PartitionNumber number) {
  if (!resumed_) {
    lost_.untrusted.insert(number);
  }
}

void Dispatcher::Impl::look_for_lost() {
  for (const auto& [key, progress] : progress_) {
    if (!progress->is_lane() && !lost_.untrusted.contains(key.partition)) {
      raise_to_exported(*progress);
      cut_at_end(*progress);
    }
  }
}

// Exports are written after the sync of what they say: what lies below was settled (invariant 5).
void Dispatcher::Impl::raise_to_exported(Progress& progress) {
  const auto found = lost_.exported.find(progress.key);
  const PartitionSpec& partition = progress.partition->spec;
  if (found == lost_.exported.end() || found->second.second >= partition.end) {
    return;  // beyond the log it is not to be trusted: `cut_at_end`
  }
  const auto [generation, frontier] = found->second;
  const Offset before = progress.frontier.value();
  if (generation < progress.generation ||
      (generation == progress.generation && frontier <= before)) {
    return;
  }
  note_progress(progress);
  if (generation == progress.generation) {
    const state::SettleRecord settled{
        .progress = progress.key.progress, .ranges = {{before.next(), frontier}}, .dead = {}};
    apply_settle(progress.key.partition, settled);
    record(progress, settled);
  } else {
    const state::ReopenRecord reopened{.progress = progress.key.progress,
                                       .generation = generation,
                                       .frontier = frontier,
                                       .kind = state::ReopenKind::kReset,
                                       .kept = {}};
    apply_reopen(progress.key.partition, reopened);
    record(progress, reopened);
  }
  log_error("progress of a group was lost: it goes on from what was exported of it",
            {{"topic", partition.topic},
             {"partition", partition.index},
             {"group", progress.group->spec.name},
             {"found", before},
             {"exported", frontier}});
}

// What is settled or in flight there was of events that are gone: others get their offsets, and
// they are to be delivered. A new generation, so that neither the records before nor what was
// exported count for them at the next start.
void Dispatcher::Impl::cut_at_end(Progress& progress) {
  const PartitionSpec& partition = progress.partition->spec;
  const auto exported = lost_.exported.find(progress.key);
  if (progress.frontier.committed() > partition.end) {
    // Not trusted at all: `resume_progress` begins a generation, which is to be a new one.
    if (exported != lost_.exported.end()) {
      progress.generation = std::max(progress.generation, exported->second.first);
    }
    return;
  }
  Generation newest = progress.generation;
  bool beyond = progress.frontier.next_settled_range(partition.end).has_value();
  if (exported != lost_.exported.end() && exported->second.second >= partition.end) {
    beyond = beyond || exported->second.first >= newest;
    newest = std::max(newest, exported->second.first);
  }
  std::vector<Offset> kept;
  progress.slots.for_each([&](std::uint32_t /*index*/, const Slot& slot) {
    if (slot.offset < partition.end) {
      kept.push_back(slot.offset);
    } else {
      beyond = true;
    }
  });
  if (!beyond) {
    return;
  }
  std::ranges::sort(kept);
  note_progress(progress);
  const state::ReopenRecord cut{.progress = progress.key.progress,
                                .generation = newest.next(),
                                .frontier = partition.end.previous(),
                                .kind = state::ReopenKind::kReplay,
                                .kept = std::move(kept)};
  apply_reopen(progress.key.partition, cut);
  record(progress, cut);
  log_error("a group has progress beyond the log's end: it is cut there, the events are gone",
            {{"topic", partition.topic},
             {"partition", partition.index},
             {"group", progress.group->spec.name},
             {"end", partition.end}});
}

}  // namespace ackline::delivery

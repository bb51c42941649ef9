// What moves a group's progress from outside: retention, replay, reset.
#include <algorithm>
#include <utility>

#include "ackline/base/check.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

Result<void> check_range(const Partition& partition, Offset offset) {
  if (offset < partition.spec.log_start || offset > partition.spec.end) {
    return fail(ErrorCode::kBadValue,
                "offset " + std::to_string(offset.value()) + " is outside of " +
                    std::to_string(partition.spec.log_start.value()) + " to " +
                    std::to_string(partition.spec.end.value()),
                "Name an offset that the partition has, or the next one.");
  }
  return {};
}

}  // namespace

void Dispatcher::Impl::on_log_start(PartitionNumber number, Offset log_start) {
  const auto found = partitions_.find(number);
  if (found == partitions_.end()) {
    return;
  }
  Partition& partition = *found->second;
  partition.spec.log_start = std::max(partition.spec.log_start, log_start);
  for (Progress* progress : partition.progress) {
    if (!progress->is_lane() && resumed_) {
      drop_below(*progress, partition.spec.log_start);
    }
  }
  for (const auto& [source, of] : partitions_) {
    if (of->spec.dlq_number != number) {
      continue;
    }
    for (Progress* progress : of->progress) {
      drop_purged(*progress, partition.spec.log_start);
    }
  }
}

// What was purged and is gone from the log needs no memory either.
void Dispatcher::Impl::drop_purged(Progress& progress, Offset dlq_start) {
  progress.dead.drop_purged_below(
      dlq_start, [&](const DeadLetterKey& dead) { port_.forgot(progress.key, dead); });
}

// Retention took what the group had not passed (invariant 30): one record, whatever it was.
void Dispatcher::Impl::drop_below(Progress& progress, Offset log_start) {
  frontier::Frontier& frontier = progress.frontier;
  const Offset first = frontier.committed();
  if (first >= log_start) {
    return;
  }
  buffer_.clear();
  state::SettleRecord::encode_ranges(buffer_, progress.key.progress, state::Outcome::kGone,
                                     std::vector<OffsetRange>{{first, log_start.previous()}});
  port_.journal(state::RecordType::kSettle, progress.key.partition, as_bytes(buffer_));
  progress.slots.for_each([&](std::uint32_t index, Slot& slot) {
    if (slot.offset < log_start) {
      if (slot.state() == SlotState::kLeased) {
        port_.withdrawn(slot.client, id_of(progress, index));
      }
      free_slot(progress, index);
    }
  });
  progress.keys.forget_below(log_start);
  std::uint64_t events = 0;
  for (Offset at = frontier.cursor(); at < log_start; ++at) {
    events += frontier.is_offered(at) ? 0U : 1U;
  }
  events += frontier.log_start_moved(log_start);
  note_gone(progress, first, events);
  progress.known_end = std::max(progress.known_end, log_start);
  progress.ahead_limited = false;
  forget_short(progress);
  wake(progress);
}

void Dispatcher::Impl::note_gone(Progress& progress, Offset first, std::uint64_t events) {
  progress.gone += events;
  progress.clamped = progress.clamped || first <= progress.frontier.committed();
  if (resumed_ && events > 0) {
    count(progress, DeliveryEvent::kGone, events);
  }
}

std::optional<Offset> Dispatcher::Impl::held_from(PartitionNumber number) const {
  const auto found = partitions_.find(number);
  std::optional<Offset> lowest;
  if (found == partitions_.end()) {
    return lowest;
  }
  for (const Progress* progress : found->second->progress) {
    if (!progress->is_lane()) {
      const Offset at = progress->frontier.committed();
      lowest = lowest ? std::min(*lowest, at) : at;
    }
  }
  return lowest;
}

// Existing terminal events at or above `from`. At or below the frontier every offset counts.
std::uint64_t Dispatcher::Impl::settled_from(const Progress& progress, Offset from) {
  const frontier::Frontier& frontier = progress.frontier;
  std::uint64_t count = 0;
  if (from < frontier.committed()) {
    count = static_cast<std::uint64_t>(frontier.committed().value() - from.value()) +
            frontier.settled_ahead();
    return count;
  }
  const Offset end = std::max(frontier.cursor(), progress.known_end);
  for (Offset at = from; at < end; ++at) {
    count += frontier.is_settled(at) ? 1U : 0U;
  }
  return count;
}

// Where those are.
std::vector<OffsetRange> Dispatcher::Impl::ranges_from(const Progress& progress, Offset from) {
  const frontier::Frontier& frontier = progress.frontier;
  std::vector<OffsetRange> ranges;
  if (from < frontier.committed()) {
    ranges.push_back({from, frontier.value()});
  }
  for (auto range = frontier.next_settled_range(from); range;
       range = frontier.next_settled_range(range->last.next())) {
    if (ranges.size() == ReopenReport::kRangesMax) {
      ranges.back().last = range->last;
    } else {
      ranges.push_back(*range);
    }
  }
  return ranges;
}

Result<ReopenReport> Dispatcher::Impl::replay(ProgressKey key, Offset from, bool dry_run) {
  Progress* progress = find(key);
  if (progress == nullptr || progress->is_lane()) {
    return fail(ErrorCode::kGroupUnknown, "the group has no progress on this partition");
  }
  from = std::max(from, progress->partition->spec.log_start);
  if (const Result<void> fits = check_range(*progress->partition, from); !fits) {
    return fail(fits);
  }
  const frontier::Frontier& frontier = progress->frontier;
  const Offset after = std::min(frontier.value(), from.previous());
  ReopenReport report{.frontier_before = frontier.value(),
                      .frontier_after = after,
                      .reopened = settled_from(*progress, from),
                      .ranges = ranges_from(*progress, from),
                      .generation = progress->generation.next()};
  if (dry_run) {
    return report;
  }
  state::ReopenRecord reopen{.progress = key.progress,
                             .generation = report.generation,
                             .frontier = from.previous(),
                             .kind = state::ReopenKind::kReplay,
                             .kept = {}};
  progress->slots.for_each(
      [&](std::uint32_t /*index*/, const Slot& slot) { reopen.kept.push_back(slot.offset); });
  std::ranges::sort(reopen.kept);
  if (const Result<void> done = reopen_from(*progress, report.generation, from, reopen.kept);
      !done) {
    return fail(done);
  }
  record(*progress, reopen);
  wake(*progress);
  return report;
}

// What is settled below `from` stays so, also past the frontier; `kept` stays in flight.
Result<void> Dispatcher::Impl::reopen_from(Progress& progress, Generation generation, Offset from,
                                           std::span<const Offset> kept) {
  frontier::Frontier& frontier = progress.frontier;
  const Offset after = std::min(frontier.value(), from.previous());
  std::vector<OffsetRange> stay;
  for (auto range = frontier.next_settled_range(after.next()); range && range->first < from;
       range = frontier.next_settled_range(range->last.next())) {
    stay.push_back({range->first, std::min(range->last, from.previous())});
  }
  if (Result<void> done = frontier.reopen(after, kept); !done) {
    return done;
  }
  start_generation(progress, generation, from);
  for (const OffsetRange& range : stay) {
    ACKLINE_CHECK(frontier.restore_settled(range.first, range.last).has_value());
    progress.known_end = std::max(progress.known_end, range.last.next());
  }
  return {};
}

Result<ReopenReport> Dispatcher::Impl::reset(ProgressKey key, Offset to, bool dry_run) {
  Progress* progress = find(key);
  if (progress == nullptr || progress->is_lane()) {
    return fail(ErrorCode::kGroupUnknown, "the group has no progress on this partition");
  }
  if (const Result<void> fits = check_range(*progress->partition, to); !fits) {
    return fail(fits);
  }
  frontier::Frontier& frontier = progress->frontier;
  ReopenReport report{.frontier_before = frontier.value(),
                      .frontier_after = to.previous(),
                      .reopened = settled_from(*progress, to),
                      .dropped_in_flight = progress->slots.used(),
                      .generation = progress->generation.next()};
  if (to > frontier.committed()) {
    const auto span = static_cast<std::uint64_t>(to.value() - frontier.committed().value());
    report.skipped = span - std::min(span, settled_from(*progress, frontier.committed()) -
                                               settled_from(*progress, to));
  }
  if (dry_run) {
    return report;
  }
  record(*progress, state::ReopenRecord{.progress = key.progress,
                                        .generation = report.generation,
                                        .frontier = to.previous(),
                                        .kind = state::ReopenKind::kReset,
                                        .kept = {}});
  progress->offered_below = std::max(progress->offered_below, frontier.cursor());
  drop_all_slots(*progress);
  frontier.reset(to);
  start_generation(*progress, report.generation, to);
  progress->start = to;
  wake(*progress);
  return report;
}

// The frontier is moved already; what lies at or above `from` is open again.
void Dispatcher::Impl::start_generation(Progress& progress, Generation generation, Offset from) {
  progress.generation = generation;
  progress.start = std::min(progress.start, from);
  progress.offered_below = std::max(progress.offered_below, progress.known_end);
  progress.known_end = progress.frontier.committed();
  progress.slots.for_each([&](std::uint32_t /*index*/, const Slot& slot) {
    progress.known_end = std::max(progress.known_end, slot.offset.next());
  });
  progress.clamped = false;
  progress.ahead_limited = false;
  progress.keys.forget_blocked();  // they are read again
  progress.dead.reopen_from(from);
  progress.arrived_from.reset();
  progress.arrived = {};
  forget_short(progress);
  end_lanes_over(progress, from);
}

// Their ids are stale; their clients may forget them.
void Dispatcher::Impl::drop_all_slots(Progress& progress) {
  drop_slots_from(progress, Offset(0));
  progress.keys.forget_blocked();
}

void Dispatcher::Impl::drop_slots_from(Progress& progress, Offset from) {
  progress.slots.for_each([&](std::uint32_t index, Slot& slot) {
    if (slot.offset < from) {
      return;
    }
    if (!resumed_) {
      drop_recovered(progress, index);
      return;
    }
    if (slot.state() == SlotState::kLeased) {
      port_.withdrawn(slot.client, id_of(progress, index));
    }
    free_slot(progress, index);
  });
}

}  // namespace ackline::delivery

// Recovery: the records after a checkpoint, then the moment at which time goes on.
//
// Until `resume` slots have their state and their times only; lists, timers, counts and credit are
// built there. Frontier and cursor are derived: the reader starts again at the frontier and finds
// what is settled or in flight.
#include <algorithm>
#include <utility>

#include "ackline/base/logging.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

template <class Record, class Take>
Result<void> decoded(ByteView body, Take take) {
  Result<Record> record = Record::decode(body);
  if (!record) {
    return fail(record);
  }
  take(*record);
  return {};
}

}  // namespace

Result<void> Dispatcher::Impl::apply(state::RecordType type, PartitionNumber partition,
                                     ByteView body) {
  switch (type) {
    case state::RecordType::kOffer:
      return decoded<state::OfferRecord>(body, [&](const auto& r) { apply_offer(partition, r); });
    case state::RecordType::kEnd:
      return decoded<state::EndRecord>(body, [&](const auto& r) { apply_end(partition, r); });
    case state::RecordType::kExtend:
      return decoded<state::ExtendRecord>(body, [&](const auto& r) { apply_extend(partition, r); });
    case state::RecordType::kSettle:
      return decoded<state::SettleRecord>(body, [&](const auto& r) { apply_settle(partition, r); });
    case state::RecordType::kReopen:
      return decoded<state::ReopenRecord>(body, [&](const auto& r) { apply_reopen(partition, r); });
    case state::RecordType::kLanePart:
      return decoded<state::LanePartRecord>(body,
                                            [&](const auto& r) { apply_lane_part(partition, r); });
    case state::RecordType::kLaneEntry:
      return decoded<state::LaneEntryRecord>(
          body, [&](const auto& r) { apply_lane_entry(partition, r); });
    case state::RecordType::kBoot:
      return decoded<state::BootRecord>(body, [&](const auto& r) { apply_boot(r); });
    case state::RecordType::kAlive:
      return decoded<state::AliveRecord>(body, [&](const state::AliveRecord& r) {
        // Backwards, too: marks in the journal's order are what the clock was.
        const auto& boots = journals_[journal_].boots;
        if (const auto boot = boots.find(replay_epoch_); boot != boots.end()) {
          clock_ = boot->second.plus(r.elapsed.value());
        }
      });
    case state::RecordType::kLogStart:
      return decoded<state::LogStartRecord>(
          body, [&](const auto& record) { on_log_start(partition, record.offset); });
    case state::RecordType::kPublish:
      break;
  }
  return {};
}

void Dispatcher::Impl::begin_journal(std::uint32_t journal, const std::optional<Origin>& origin) {
  journals_[journal_].at = clock_;
  journal_ = journal;
  JournalTime& time = journals_[journal];
  if (origin) {
    time.epoch = std::max(time.epoch, origin->epoch);
    time.at = std::max(time.at, origin->at);
    time.boots.try_emplace(origin->epoch, origin->boot_at);
  }
  replay_epoch_ = time.epoch;
  clock_ = time.at;
}

// Shards kept time apart: what came from the journal of each is moved onto one clock, as far from
// its end as it was.
void Dispatcher::Impl::end_replay() {
  journals_[journal_].at = clock_;
  for (const auto& [number, time] : journals_) {
    clock_ = std::max(clock_, time.at);
  }
  for (const auto& [key, progress] : progress_) {
    if (const auto time = journals_.find(progress->partition->spec.journal);
        time != journals_.end()) {
      progress->slots.shift(clock_.value() - time->second.at.value());
    }
    progress->wheel = io::TimerWheel<SlotSlab>(clock_);
    if (progress->is_lane()) {
      progress->lane->tokens_at = clock_;
    }
  }
  for (const auto& [number, partition] : partitions_) {
    partition->spec.journal = 0;
  }
  journal_ = 0;
  journals_.clear();
  journals_[0] = {.epoch = replay_epoch_, .at = clock_, .boots = {}};
  boot_at_ = clock_;
  ticked_ = clock_;
}

// Another process began: it went on where the last mark of the one before was, unless a checkpoint
// knows better. What was leased has lived through a start, which counts if the end before it was
// not clean.
void Dispatcher::Impl::apply_boot(const state::BootRecord& record) {
  clock_ = journals_[journal_].boots.try_emplace(record.epoch, clock_).first->second;
  replay_epoch_ = record.epoch;
  if (std::ranges::find(clean_starts_, record.epoch) != clean_starts_.end()) {
    return;
  }
  for (const auto& [key, progress] : progress_) {
    if (progress->partition->spec.journal == journal_) {
      progress->slots.for_each([](std::uint32_t /*index*/, Slot& slot) {
        if (slot.state() == SlotState::kLeased && slot.restarts < UINT8_MAX) {
          ++slot.restarts;
        }
      });
    }
  }
}

Progress* Dispatcher::Impl::recovered(ProgressNumber number, PartitionNumber partition) {
  Progress* progress = find({number, partition});
  if (progress == nullptr) {
    Group* group = find_group(number);
    const auto on = partitions_.find(partition);
    if (group == nullptr || on == partitions_.end()) {
      return nullptr;
    }
    progress = &make_progress({number, partition}, *group, *on->second, Offset(0));
  }
  progress->touched = true;
  return progress;
}

bool Dispatcher::Impl::adopt(Progress& progress, std::uint32_t index, Offset offset,
                             std::uint64_t key_hash) {
  constexpr std::uint32_t kSlotMax = 1U << 28U;
  if (index > kSlotMax || offset < Offset(0)) {
    return false;  // no dispatcher wrote this
  }
  const auto known = progress.recovery.find(offset.value());
  if (known != progress.recovery.end() && known->second == index) {
    return true;
  }
  if (known != progress.recovery.end()) {
    drop_recovered(progress, known->second);
  }
  if (progress.slots.find(index) != nullptr) {
    drop_recovered(progress, index);
  }
  if (!progress.is_lane()) {
    const Result<bool> pending = progress.frontier.restore_in_flight(offset);
    if (!pending || !*pending) {
      return false;
    }
  }
  progress.slots.claim(index);
  Slot& slot = progress.slots[index];
  slot.offset = offset;
  slot.set_state(SlotState::kWaiting);
  slot.key = key_hash == 0 ? 0 : progress.keys.hold(key_hash);
  progress.recovery.insert_or_assign(offset.value(), index);
  progress.known_end = std::max(progress.known_end, offset.next());
  return true;
}

void Dispatcher::Impl::drop_recovered(Progress& progress, std::uint32_t index) {
  Slot& slot = progress.slots[index];
  progress.recovery.erase(slot.offset.value());
  release_key(progress, slot);
  progress.errors.erase(index);
  progress.slots.release(index);
}

void Dispatcher::Impl::apply_offer(PartitionNumber partition, const state::OfferRecord& record) {
  Progress* progress =
      record.lane ? find({record.progress, partition}) : recovered(record.progress, partition);
  if (progress == nullptr || !adopt(*progress, record.slot, record.offset, record.key_hash)) {
    return;
  }
  Slot& slot = progress->slots[record.slot];
  slot.epoch = replay_epoch_;
  slot.offer = record.offer;
  slot.set_attempt(record.attempt);
  slot.restarts = static_cast<std::uint8_t>(std::min<std::uint32_t>(record.restarts, UINT8_MAX));
  slot.client = record.client;
  slot.reoffer = 1;
  slot.set_state(SlotState::kLeased);
  progress->slots.follow(clock_);
  progress->slots.set_since(slot, clock_);
  progress->slots.set_due(slot, clock_.plus(static_cast<std::int64_t>(record.lease_ms)));
  if (progress->is_lane()) {
    ++progress->lane->offered;
    if (LaneItem* item = progress->lane->find(record.offset); item != nullptr) {
      item->state = LaneItemState::kInFlight;
    }
  }
}

void Dispatcher::Impl::apply_end(PartitionNumber partition, const state::EndRecord& record) {
  Progress* progress = find({record.progress, partition});
  Slot* slot = progress == nullptr ? nullptr : progress->slots.find(record.slot);
  if (slot == nullptr || slot->offset != record.offset || slot->offer != record.offer) {
    return;
  }
  if (record.cause == state::EndCause::kWithdrawn) {
    slot->set_attempt(slot->attempt == 0 ? 0U : slot->attempt - 1U);
  } else if (record.cause != state::EndCause::kNack) {
    slot->set_losses(slot->losses + 1U);
  }
  set_error(*progress, record.slot, record.error);
  slot->set_state(SlotState::kWaiting);
  progress->slots.set_since(*slot, clock_);
  progress->slots.set_due(*slot, clock_.plus(static_cast<std::int64_t>(record.retry_in_ms)));
}

void Dispatcher::Impl::apply_extend(PartitionNumber partition, const state::ExtendRecord& record) {
  Progress* progress = find({record.progress, partition});
  Slot* slot = progress == nullptr ? nullptr : progress->slots.find(record.slot);
  if (slot != nullptr && slot->offset == record.offset && slot->offer == record.offer) {
    progress->slots.set_due(*slot, clock_.plus(static_cast<std::int64_t>(record.lease_ms)));
  }
}

void Dispatcher::Impl::apply_settle(PartitionNumber partition, const state::SettleRecord& record) {
  Progress* progress = recovered(record.progress, partition);
  if (progress == nullptr || progress->is_lane()) {
    return;
  }
  for (const OffsetRange& range : record.ranges) {
    if (record.outcome == state::Outcome::kGone) {
      std::uint64_t events = 0;
      for (Offset at = range.first; at <= range.last; ++at) {
        events += progress->frontier.is_settled(at) ? 0U : 1U;
      }
      note_gone(*progress, range.first, events);
    }
    std::vector<std::uint32_t> over;
    if (static_cast<std::uint64_t>(range.count()) <= progress->recovery.size()) {
      for (Offset at = range.first; at <= range.last; ++at) {
        if (const auto slot = progress->recovery.find(at.value());
            slot != progress->recovery.end()) {
          over.push_back(slot->second);
        }
      }
    } else {
      for (const auto& [offset, index] : progress->recovery) {
        if (range.contains(Offset(offset))) {
          over.push_back(index);
        }
      }
    }
    for (const std::uint32_t index : over) {
      drop_recovered(*progress, index);
    }
    if (const Result<void> done = progress->frontier.restore_settled(range.first, range.last);
        !done) {
      log_error("settled offsets are too far past the frontier and come again",
                {{"group", progress->group->spec.name}, {"first", range.first}});
    }
    progress->known_end = std::max(progress->known_end, range.last.next());
  }
  if (record.dead) {
    progress->dead.add(record.ranges.front().first, progress->generation,
                       {.dlq = record.dead->dlq_offset});
  }
}

void Dispatcher::Impl::apply_reopen(PartitionNumber partition, const state::ReopenRecord& record) {
  Progress* known = find({record.progress, partition});
  const bool fresh = known == nullptr || !known->touched;
  Progress* progress = recovered(record.progress, partition);
  if (progress == nullptr || progress->is_lane()) {
    return;
  }
  if (record.kind == state::ReopenKind::kStart) {
    if (fresh) {
      progress->generation = record.generation;
      progress->start = record.frontier.next();
      progress->known_end = progress->start;
      progress->offered_below = progress->start;
      progress->frontier.reset(progress->start);
    }
    return;
  }
  if (record.generation <= progress->generation) {
    return;
  }
  const Offset from = record.frontier.next();
  if (record.kind == state::ReopenKind::kReset) {
    drop_all_slots(*progress);
    progress->frontier.reset(from);
    start_generation(*progress, record.generation, from);
    progress->start = from;
  } else {
    std::vector<Offset> kept;
    std::vector<std::uint32_t> dropped;
    progress->slots.for_each([&](std::uint32_t index, const Slot& slot) {
      if (std::ranges::binary_search(record.kept, slot.offset)) {
        kept.push_back(slot.offset);
      } else {
        dropped.push_back(index);
      }
    });
    for (const std::uint32_t index : dropped) {
      drop_recovered(*progress, index);
    }
    std::ranges::sort(kept);
    if (const Result<void> done = reopen_from(*progress, record.generation, from, kept); !done) {
      log_error("a replay cannot be read back", {{"group", progress->group->spec.name}});
    }
  }
}

void Dispatcher::Impl::resume(MonoMs now, WallMs wall, bool clean) {
  end_replay();
  skew_ = now.value() - clock_.value();
  alive_at_ = clock_;
  wall_ = wall;
  wall_skew_ = wall.value() - clock_.value();
  look_for_lost();
  resumed_ = true;
  // By key: what is journaled here is the same at every start.
  for (const auto& [key, progress] : progress_) {
    resume_progress(*progress, clean);
  }
  for (const auto& [number, client] : clients_) {
    refresh_open(*client);
  }
  lost_ = {};
}

void Dispatcher::Impl::resume_progress(Progress& progress, bool clean) {
  note_progress(progress);
  progress.recovery = {};
  progress.slots.rebuild_free_list();
  progress.slots.follow(clock_);
  progress.leased = 0;
  progress.waiting = 0;
  std::vector<std::uint32_t> worn_out;
  progress.slots.for_each([&](std::uint32_t index, Slot& slot) {
    if (slot.state() != SlotState::kLeased) {
      ++progress.waiting;
      arm(progress, index, progress.slots.due(slot));
      return;
    }
    ++progress.leased;
    if (!clean && slot.restarts < UINT8_MAX) {
      ++slot.restarts;
    }
    if (slot.restarts >= options_.restarts_max) {
      worn_out.push_back(index);
    } else {
      arm(progress, index, progress.slots.due(slot));
    }
  });
  adopt_leases(progress, nullptr);
  for (const std::uint32_t index : worn_out) {
    leave_state(progress, index);
    ++progress.waiting;
    set_error(progress, index, "its offers lived through too many unclean starts");
    ask_dead_letter(progress, index, DeadReason::kMaxRestarts);
  }
  if (progress.is_lane()) {
    open_what_nobody_holds(progress);
    list_unread(progress);
    if (progress.lane->left() == 0) {
      port_.lane_part_done(progress.key.progress, progress.key.partition);
    }
    wake(progress);
    return;
  }
  const PartitionSpec& partition = progress.partition->spec;
  if (progress.frontier.committed() > partition.end &&
      !lost_.untrusted.contains(partition.number)) {
    // Invariant 5: not to be trusted.
    log_error("a group's progress lies beyond the log's end: it starts at the log's start",
              {{"topic", partition.topic},
               {"partition", partition.index},
               {"group", progress.group->spec.name},
               {"frontier", progress.frontier.value()},
               {"end", partition.end}});
    static_cast<void>(reset(progress.key, partition.log_start, false));
  }
  drop_below(progress, partition.log_start);
  if (const auto dlq = partitions_.find(partition.dlq_number); dlq != partitions_.end()) {
    drop_purged(progress, dlq->second->spec.log_start);  // rows may be older than the log start
  }
  list_unread(progress);
  wake(progress);
}

}  // namespace ackline::delivery

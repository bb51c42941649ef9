// Offering: groups with work and open clients take turns, the partitions of a group take turns, and
// on one partition what is offered again goes before what is new.
#include <algorithm>
#include <utility>

#include "ackline/base/check.h"
#include "ackline/delivery/event_key.h"
#include "ackline/delivery/impl.h"
#include "ackline/event/expiry.h"
#include "ackline/event/filter.h"
#include "ackline/event/frame.h"

namespace ackline::delivery {

namespace {

// Events of one partition before the next has its turn: fewer where many wait for theirs, so that
// what is in flight of all of them stays in the processor's cache.
constexpr std::uint32_t kQuantum = 64;
constexpr std::uint32_t kQuantumLeast = 32;
constexpr std::uint32_t kRoundEvents = 2048;
constexpr std::uint32_t kSiftEvents = 64;  // least to read where not every event is offered

bool expired(const log::StoredEvent& event, WallMs now) {
  const Result<event::FrameView> view = event::FrameView::open_stored(event.frame);
  return view && event::is_expired(*view, event.append_time, now);
}

void add_to(std::vector<OffsetRange>& ranges, Offset offset) {
  if (!ranges.empty() && ranges.back().last.next() == offset) {
    ranges.back().last = offset;
  } else {
    ranges.push_back({offset, offset});
  }
}

}  // namespace

bool Dispatcher::Impl::pump(WallMs wall, std::uint32_t budget) {
  if (!resumed_ || paused_) {
    return false;
  }
  wall_ = wall;
  wall_skew_ = wall.value() - clock_.value();
  serve_resends();
  while (budget > 0 && !work_.empty()) {
    Group& group = *work_.front();
    work_.pop_front();
    group.queued = false;
    if (group.open.empty() || group.run.empty()) {
      continue;
    }
    Progress& progress = *group.run.front();
    group.run.pop_front();
    progress.place = Place::kIdle;
    std::uint32_t used = 0;
    const auto waiting = static_cast<std::uint32_t>(group.run.size() + 1);
    const std::uint32_t quantum = std::clamp(kRoundEvents / waiting, kQuantumLeast, kQuantum);
    const ShortBytes short_before = std::exchange(progress.short_bytes, ShortBytes{});
    const Served served = serve(progress, std::min(budget, quantum), used);
    if (offered_ > 0) {
      count(progress, DeliveryEvent::kOffered, std::exchange(offered_, 0));
    }
    budget -= std::min(budget, std::max(used, 1U));
    if (served == Served::kMore) {
      wake(progress);
    } else if (served == Served::kParked && progress.place == Place::kIdle) {
      progress.place = Place::kParked;
      progress.went_hungry = used == 0;
      if (!progress.in_parked) {
        progress.in_parked = true;
        group.parked.push_back(&progress);
      }
    }
    open_short(progress, short_before, served == Served::kReading && used == 0);
    schedule(group);
  }
  return !work_.empty();
}

void Dispatcher::Impl::wake(Progress& progress) {
  if (progress.place != Place::kRunning) {
    progress.place = Place::kRunning;
    std::deque<Progress*>& run = progress.group->run;
    if (progress.has_unread) {
      run.push_front(&progress);  // it has leases whose bytes no credit knows of yet
    } else {
      run.push_back(&progress);
    }
  }
  schedule(*progress.group);
}

// Something changed for the clients of the group: those that found none may look again. Who got
// nothing goes before those that wait for their turn: a large event needs room that small ones of
// other partitions would take.
void Dispatcher::Impl::unpark(Group& group) {
  for (Progress* progress : group.parked) {
    progress->in_parked = false;
    if (progress->place != Place::kParked) {
      continue;
    }
    progress->place = Place::kRunning;
    if (progress->went_hungry) {
      group.run.push_front(progress);
    } else {
      group.run.push_back(progress);
    }
  }
  group.parked.clear();
  schedule(group);
}

void Dispatcher::Impl::schedule(Group& group) {
  if (!group.queued && !group.run.empty() && !group.open.empty()) {
    group.queued = true;
    work_.push_back(&group);
  }
}

Dispatcher::Impl::Served Dispatcher::Impl::serve(Progress& progress, std::uint32_t quantum,
                                                 std::uint32_t& used) {
  Served served = progress.has_unread ? serve_unread(progress, quantum, used) : Served::kIdle;
  if (served == Served::kIdle) {
    served = serve_again(progress, progress.ready, false, quantum, used);
  }
  if (served != Served::kIdle) {
    return served;
  }
  const Served suspects = serve_again(progress, progress.ready_suspects, true, quantum, used);
  if (suspects == Served::kMore || suspects == Served::kReading) {
    return suspects;
  }
  if (progress.is_lane()) {
    served = serve_lane(progress, quantum, used);
  } else {
    served = serve_keys(progress, quantum, used);
    if (served == Served::kIdle) {
      served = serve_cursor(progress, quantum, used);
    }
  }
  return served == Served::kIdle ? suspects : served;
}

// What was offered before.
Dispatcher::Impl::Served Dispatcher::Impl::serve_again(Progress& progress, SlotList& list,
                                                       bool suspects, std::uint32_t quantum,
                                                       std::uint32_t& used) {
  log::ReadBatch batch;
  while (!list.empty()) {
    if (used >= quantum) {
      return Served::kMore;
    }
    const std::uint32_t index = list.head;
    const Slot& slot = progress.slots[index];
    const bool sized = slot.size_bytes != 0;  // else it is from before a start
    Client* client = sized ? pick(progress, slot.size_bytes, suspects) : nullptr;
    if (sized ? client == nullptr : progress.group->open.empty()) {
      return Served::kParked;
    }
    bool missing = false;
    const ReadStatus status = read_one(progress, slot.offset, batch, missing);
    if (status != ReadStatus::kReady) {
      return Served::kReading;
    }
    if (!sized && !missing) {
      learn_size(progress, index, batch.events.front());
      client = pick(progress, slot.size_bytes, suspects);
      if (client == nullptr) {
        return Served::kParked;
      }
    }
    ++used;
    leave_state(progress, index);
    if (missing) {
      ++progress.waiting;
      if (progress.is_lane()) {
        fail_entry(progress, index, true);
      } else {
        note_gone(progress, progress.slots[index].offset, 1);
        finish(progress, index, state::Outcome::kGone);
      }
    } else if (!progress.is_lane() && expired(batch.events.front(), wall_)) {
      ++progress.waiting;
      expire_event(progress, index);
    } else {
      lease(progress, index, *client, batch.events.front(), keep(batch));
    }
  }
  return Served::kIdle;
}

// Events whose key is free again.
Dispatcher::Impl::Served Dispatcher::Impl::serve_keys(Progress& progress, std::uint32_t quantum,
                                                      std::uint32_t& used) {
  log::ReadBatch batch;
  while (const std::uint32_t entry = progress.keys.ready()) {
    if (used >= quantum) {
      return Served::kMore;
    }
    if (progress.group->open.empty()) {
      return Served::kParked;
    }
    const Offset offset = progress.keys.first(entry);
    bool missing = false;
    if (read_one(progress, offset, batch, missing) != ReadStatus::kReady) {
      return Served::kReading;
    }
    ++used;
    const bool over = !missing && expired(batch.events.front(), wall_);
    std::uint32_t index = kNoSlot;
    if (missing || over) {
      progress.keys.take(entry, false);
      Slot& slot = new_slot(progress, index, offset);
      slot.epoch = options_.epoch;
      slot.offer = progress.next_offer++;
      ++progress.waiting;
      if (missing) {
        note_gone(progress, offset, 1);
        finish(progress, index, state::Outcome::kGone);
      } else {
        expire_event(progress, index);
      }
      continue;
    }
    const log::StoredEvent& event = batch.events.front();
    Client* client = pick(progress, static_cast<std::uint32_t>(event.frame.size()), false);
    if (client == nullptr) {
      return Served::kParked;
    }
    progress.keys.take(entry, true);
    new_slot(progress, index, offset).key = entry;
    lease(progress, index, *client, event, keep(batch));
  }
  return Served::kIdle;
}

Dispatcher::Impl::Served Dispatcher::Impl::serve_cursor(Progress& progress, std::uint32_t quantum,
                                                        std::uint32_t& used) {
  const GroupPolicy& policy = progress.group->spec.policy;
  const bool sifts = policy.filter != nullptr || policy.ordering == Ordering::kKey;
  log::ReadBatch batch;
  Served served = Served::kIdle;
  while (served == Served::kIdle) {
    const Offset from = progress.frontier.cursor();
    const bool one_by_one = policy.ordering == Ordering::kPartition;
    if (from >= progress.partition->spec.end || (one_by_one && progress.slots.used() > 0)) {
      break;
    }
    if (used >= quantum) {
      served = Served::kMore;
      break;
    }
    std::uint32_t events = credit_events(*progress.group, options_.read_events);
    if (events == 0) {
      served = Served::kParked;
      break;
    }
    events = std::min({sifts ? std::max(events, kSiftEvents) : events, quantum - used,
                       one_by_one && !sifts ? 1U : options_.read_events});
    if (read(progress, {progress.key.partition, from}, events, batch) != ReadStatus::kReady) {
      served = Served::kReading;
      break;
    }
    const Offset next = batch.next;
    const std::shared_ptr<const void> buffer = keep(batch);
    Taken taken = Taken::kDone;
    for (const log::StoredEvent& event : batch.events) {
      if (event.offset < progress.frontier.cursor()) {
        continue;
      }
      if (one_by_one && progress.slots.used() > 0) {
        taken = Taken::kFull;
        break;
      }
      taken = take_new(progress, event, buffer);
      if (taken != Taken::kDone) {
        break;
      }
      ++used;
    }
    if (taken == Taken::kNoClient) {
      served = Served::kParked;
    } else if (taken == Taken::kFull) {
      break;  // a settle wakes it
    } else {
      progress.frontier.skip_to(next);
      if (next <= from) {
        break;  // nothing there: the next append wakes it
      }
    }
  }
  flush_skipped(progress);
  return served;
}

Dispatcher::Impl::Taken Dispatcher::Impl::take_new(Progress& progress,
                                                   const log::StoredEvent& event,
                                                   const std::shared_ptr<const void>& buffer) {
  frontier::Frontier& frontier = progress.frontier;
  const Offset offset = event.offset;
  if (frontier.is_settled(offset) || frontier.is_pending(offset)) {
    ACKLINE_CHECK(frontier.offer(offset).has_value());
    return Taken::kDone;  // known from before a restart or a replay
  }
  if (frontier.full()) {
    progress.ahead_limited = true;
    return Taken::kFull;
  }
  const GroupPolicy& policy = progress.group->spec.policy;
  // A frame that does not open is offered as it is: the log has vouched for its bytes.
  const Result<event::FrameView> view = event::FrameView::open_stored(event.frame);
  std::uint64_t key_hash = 0;
  if (view) {
    if (policy.filter != nullptr) {
      const event::FilterResult match = policy.filter->evaluate(*view);
      if (match == event::FilterResult::kNoMatch) {
        ACKLINE_CHECK(frontier.offer(offset).has_value());
        static_cast<void>(frontier.settle(offset));
        add_to(filtered_, offset);
        return Taken::kDone;
      }
      if (match == event::FilterResult::kError) {
        count(progress, DeliveryEvent::kFilterError);
      }
    }
    if (event::is_expired(*view, event.append_time, wall_)) {
      expire_new(progress, offset);
      return Taken::kDone;
    }
    key_hash = policy.ordering == Ordering::kKey ? hash_of_key(*view) : 0;
  }
  const std::uint32_t busy = key_hash == 0 ? 0 : progress.keys.find(key_hash);
  if (busy != 0) {
    ACKLINE_CHECK(frontier.offer(offset).has_value());
    progress.keys.block(busy, offset);
    return Taken::kDone;
  }
  Client* client = pick(progress, static_cast<std::uint32_t>(event.frame.size()), false);
  if (client == nullptr) {
    return Taken::kNoClient;
  }
  ACKLINE_CHECK(frontier.offer(offset).has_value());
  std::uint32_t index = kNoSlot;
  Slot& slot = new_slot(progress, index, offset);
  slot.key = key_hash == 0 ? 0 : progress.keys.hold(key_hash);
  lease(progress, index, *client, event, buffer);
  return Taken::kDone;
}

void Dispatcher::Impl::expire_new(Progress& progress, Offset offset) {
  ACKLINE_CHECK(progress.frontier.offer(offset).has_value());
  if (!progress.group->spec.policy.dead_letter_expired) {
    static_cast<void>(progress.frontier.settle(offset));
    add_to(expired_, offset);
    return;
  }
  std::uint32_t index = kNoSlot;
  Slot& slot = new_slot(progress, index, offset);
  slot.epoch = options_.epoch;
  slot.offer = progress.next_offer++;
  ++progress.waiting;
  expire_event(progress, index);
}

// In no list, no timer and no count.
Slot& Dispatcher::Impl::new_slot(Progress& progress, std::uint32_t& index, Offset offset) {
  index = progress.slots.allocate();
  Slot& slot = progress.slots[index];
  slot.offset = offset;
  slot.set_state(SlotState::kWaiting);
  progress.slots.set_since(slot, clock_);
  return slot;
}

// What a read skipped becomes one record for each outcome.
void Dispatcher::Impl::flush_skipped(Progress& progress) {
  const auto flush = [&](std::vector<OffsetRange>& ranges, state::Outcome outcome,
                         DeliveryEvent what) {
    if (ranges.empty()) {
      return;
    }
    std::uint64_t events = 0;
    for (const OffsetRange& range : ranges) {
      events += static_cast<std::uint64_t>(range.count());
    }
    buffer_.clear();
    state::SettleRecord::encode_ranges(buffer_, progress.key.progress, outcome, ranges);
    port_.journal(state::RecordType::kSettle, progress.key.partition, as_bytes(buffer_));
    count(progress, what, events);
    progress.known_end = std::max(progress.known_end, ranges.back().last.next());
    ranges.clear();
  };
  flush(filtered_, state::Outcome::kFiltered, DeliveryEvent::kFiltered);
  flush(expired_, state::Outcome::kExpired, DeliveryEvent::kExpiredEvent);
}

}  // namespace ackline::delivery

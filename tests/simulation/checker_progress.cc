// What the checker makes of progress, replays, dead letters and the end: invariants 1 to 9, 16, 18,
// 30.
#include <fmt/format.h>

#include <algorithm>

#include "tests/simulation/checker.h"

namespace ackline::sim {
namespace {

constexpr Ms kRoundMs = 5000;  // a question that waits for a stalled disk

}  // namespace

// --- replay and reset

void Checker::reopening(const std::string& topic, const std::string& name, bool reset,
                        const std::map<std::uint32_t, std::int64_t>& to) {
  Group* group = group_of(topic, name);
  if (group == nullptr) return;
  for (const auto& [partition, offset] : to) {
    Part& part = group->parts[partition];
    ++part.reopens;
    part.pending_to = offset;
    part.pending_reset = reset;
  }
}

void Checker::reopened(const std::string& topic, const std::string& name, std::uint32_t partition,
                       Ms invoked, Reopen outcome, std::uint32_t generation) {
  Group* group = group_of(topic, name);
  if (group == nullptr) return;
  Part& part = group->parts[partition];
  if (part.reopens == 0) return;
  --part.reopens;
  if (outcome == Reopen::kRefused) return;
  part.reopened_at = now_;
  if (outcome == Reopen::kPerhaps) return apply_perhaps(*group, part);
  ++checks_;
  if (generation <= part.generation && !part.unsure) {
    fail("a reopen raises the generation (5)",
         fmt::format("{}/{} partition {}: {} after {}", topic, name, partition, generation,
                     part.generation));
  }
  part.generation = generation;
  part.frontier = -1;
  part.unsure = false;
  part.maybe_start = part.pending_reset ? 0 : std::min(part.maybe_start, part.pending_to);
  if (part.pending_reset) {
    part.ordered_from = 0;
    apply_reset(part, invoked);
  } else {
    const Log& log = topics_[group->incarnation].logs[partition];
    if (!log.events.empty()) part.ordered_from = log.events.rbegin()->first + 1;
    apply_replay(*group, part, invoked);
  }
}

void Checker::apply_replay(const Group& group, Part& part, Ms invoked) {
  part.start = std::min(part.start, part.pending_to);
  for (auto& [offset, state] : part.states) {
    if (offset < part.pending_to) continue;
    // Lanes over it end; what may have been done is offered anew.
    const bool done = state.acked || state.ack_possible || maybe_dead(group, state);
    for (Offer& offer : state.offers) {
      offer.over = offer.over || !offer.lane.empty() || done;
    }
    const bool before = state.acked && state.acked_at < invoked;
    state.reopened = before || (state.dead && state.dead_at < invoked);
    if (state.acked || state.dead) state.seen = false;
    state.ack_possible = state.ack_possible && !before;
    state.acked = state.acked_done = state.dead = state.skipped = false;
    state.floor = 1;
  }
}

void Checker::apply_reset(Part& part, Ms invoked) {
  part.start = part.pending_to;
  for (auto& [offset, state] : part.states) {
    for (Offer& offer : state.offers) {
      offer.over = true;
      // One that came after it was asked may be of the new generation.
      offer.dropped = offer.dropped ||
                      (offer.at < invoked && (offer.lane.empty() || offset >= part.pending_to));
    }
    const bool passed = offset < part.pending_to;
    const bool after = !state.offers.empty() && state.offers.back().at >= invoked;
    state.ack_possible = after && (state.ack_possible || state.acked);
    state.reject_asked = after && (state.reject_asked || state.dead);
    state.acked = state.acked_done = state.dead = false;
    state.skipped = passed;
    state.seen = after;
    state.floor = 1;
    if (after) continue;
    state.floor = 1;
    state.attempts = 0;
  }
}

// It was asked for and may have been done: nothing that it would undo is certain any more.
void Checker::apply_perhaps(const Group& group, Part& part) {
  part.unsure = true;
  part.ordered_from = INT64_MAX;
  part.start_sure = false;
  if (part.pending_reset) {
    part.maybe_start = std::max({part.maybe_start, part.pending_to, part.start});
  } else if (part.pending_to < part.start) {
    part.maybe_start = std::max(part.maybe_start, part.start);  // it may begin where it began
  }
  part.start = std::min(part.start, part.pending_to);
  for (auto& [offset, state] : part.states) {
    state.reopened = false;
    state.skipped = state.skipped && offset < part.pending_to;
    if (part.pending_reset || state.acked || state.ack_possible || maybe_dead(group, state)) {
      for (Offer& offer : state.offers) offer.over = true;
    }
    state.ack_possible = state.ack_possible || state.acked;
    state.reject_asked = state.reject_asked || state.dead;
    if (state.acked || state.dead) state.seen = false;
    state.acked = state.acked_done = state.dead = false;
    state.floor = 1;
  }
}

// --- progress

void Checker::progress(const ProgressSeen& seen) {
  Group* group = group_of(seen.topic, seen.group);
  if (group == nullptr || seen.invoked <= group->born || !group->start_known || group->ending) {
    return;
  }
  ++checks_;
  Part& part = group->parts[seen.partition];
  Log& log = topics_[group->incarnation].logs[seen.partition];
  if (part.reopens > 0 || part.reopened_at >= seen.invoked) return;
  const auto where = [&] {
    return fmt::format(
        "{}/{} partition {}: frontier {} lag {} pending {} ahead {} hw {} start {} "
        "generation {} (asked at {})",
        seen.topic, seen.group, seen.partition, seen.frontier, seen.lag, seen.pending,
        seen.settled_ahead, seen.high_watermark, seen.log_start, seen.generation, seen.invoked);
  };
  if (part.unsure) {
    part.unsure = false;
    part.generation = seen.generation;
    part.frontier = seen.frontier;
    part.frontier_at = now_;
  }
  if (seen.generation != part.generation) {
    return fail("only a reopen moves the generation (5)",
                fmt::format("{}; it was {}", where(), part.generation));
  }
  if (seen.frontier < part.frontier && part.frontier_at < seen.invoked) {
    return fail("the frontier never falls (1)",
                fmt::format("{}; it was {} at {}", where(), part.frontier, part.frontier_at));
  }
  if (seen.frontier > part.frontier || part.frontier_at < 0) {
    part.frontier = seen.frontier;
    part.frontier_at = now_;
  }
  if (modes_.hold && seen.log_start > std::max(seen.frontier + 1, part.start)) {
    fail("retention holds for groups (30)", where());
  }
  log.start = std::max(log.start, seen.log_start);
  check_frontier(*group, part, log, seen);
  check_counts(*group, part, log, seen);
}

// Contiguous: nothing that cannot be terminal lies below; everything that was answered counts.
void Checker::check_frontier(Group& group, Part& part, Log& log, const ProgressSeen& seen) {
  const auto story = [&](std::int64_t offset) {
    const auto state = part.states.find(offset);
    return fmt::format("{}/{} partition {}: frontier {} (asked at {}), offset {}, event {}: {}",
                       seen.topic, seen.group, seen.partition, seen.frontier, seen.invoked, offset,
                       log.events.contains(offset) ? log.events.at(offset) : 0,
                       state == part.states.end() ? "never offered" : tell(state->second));
  };
  auto known = part.states.lower_bound(part.start);
  for (auto at = log.events.lower_bound(part.start); at != log.events.end(); ++at) {
    if (at->first > seen.frontier) break;
    while (known != part.states.end() && known->first < at->first) ++known;
    const bool offered = known != part.states.end() && known->first == at->first;
    if (!maybe_terminal(group, part, log, at->first, at->second,
                        offered ? &known->second : nullptr)) {
      return fail("the frontier never passes a hole (1)", story(at->first));
    }
  }
  for (std::int64_t offset = std::max(part.start, seen.log_start);; ++offset) {
    const auto state = part.states.find(offset);
    if (state == part.states.end() || !state->second.acked ||
        state->second.acked_at >= seen.invoked) {
      return;
    }
    if (seen.frontier < offset) {
      return fail("the frontier includes what was answered (13)", story(offset));
    }
  }
}

// Invariants 6 and 8, and the arithmetic of `lag` and `pending`.
void Checker::check_counts(Group& group, Part& part, Log& log, const ProgressSeen& seen) {
  const auto story = [&](const std::string& what) {
    return fmt::format(
        "{}/{} partition {}: {}; frontier {} lag {} pending {} ahead {} hw {} log "
        "start {} (asked at {})",
        seen.topic, seen.group, seen.partition, what, seen.frontier, seen.lag, seen.pending,
        seen.settled_ahead, seen.high_watermark, seen.log_start, seen.invoked);
  };
  const std::int64_t from = std::max(seen.frontier, seen.log_start - 1);
  const std::int64_t lag = std::max<std::int64_t>(0, seen.high_watermark - from);
  if (static_cast<std::uint64_t>(lag) != seen.lag) {
    return fail("lag is the distance to the end", story("other by arithmetic"));
  }
  if (seen.pending + seen.settled_ahead != seen.lag && seen.settled_ahead <= seen.lag) {
    return fail("pending is what of the lag is not done", story("other by arithmetic"));
  }
  for (auto at = log.events.rbegin(); at != log.events.rend(); ++at) {
    const Event& event = events_.at(at->second);
    if (!modes_.sync_commit) break;  // readers and the high watermark wait for the sync
    if (event.fate != Fate::kAccepted || event.answered >= seen.invoked) continue;
    if (at->first > seen.high_watermark) {
      return fail("what was accepted is in the log (10)",
                  story(fmt::format("event {} at {}", at->second, at->first)));
    }
    break;
  }
  std::uint64_t certain = 0;
  std::uint64_t possible = 0;
  std::string open;
  for (std::int64_t offset = from + 1; offset <= seen.high_watermark; ++offset) {
    const bool may = maybe_terminal(group, part, log, offset);
    possible += may ? 1U : 0U;
    if (!may) open += fmt::format(" {}", offset);
    const auto state = part.states.find(offset);
    certain +=
        state != part.states.end() && state->second.acked && state->second.acked_at < seen.invoked
            ? 1U
            : 0U;
  }
  if (seen.settled_ahead < certain) {
    fail("settling past a hole is kept (3)", story(fmt::format("{} are done", certain)));
  } else if (seen.settled_ahead > possible) {
    fail("what is not done is not counted (6)",
         story(fmt::format("at most {} can be done, not:{}", possible, open)));
  }
}

// --- dead letters

void Checker::dead_letters(const std::vector<DeadSeen>& page) {
  for (const DeadSeen& seen : page) {
    ++checks_;
    const auto story = [&] {
      return fmt::format("{} key {} reason {} attempts {} state {} event {}", seen.entry, seen.key,
                         seen.reason, seen.attempts, seen.state, seen.event);
    };
    // Of a group that has just ended and may be there again under its name.
    const auto gone = recently_gone_.find(seen.topic + "/" + seen.group);
    if (gone != recently_gone_.end() && gone->second + kRoundMs >= now_) continue;
    const auto [at, fresh] = entry_of_key_.try_emplace(seen.key, seen.entry);
    if (at->second != seen.entry) {
      return fail("a dead letter is written once (16)", story() + "; also " + at->second);
    }
    const auto [back, unused] = key_of_entry_.try_emplace(seen.entry, seen.key);
    if (back->second != seen.key) {
      return fail("an entry is one dead letter (16)", story() + "; also " + back->second);
    }
    Group* group = group_of(seen.topic, seen.group);
    if (group == nullptr || group->ending) continue;
    const auto event = events_.find(seen.event);
    if (event == events_.end()) return fail("no phantom dead letter", story());
    Topic& topic = topics_[group->incarnation];
    if (!bind(topic, seen.partition, seen.offset, event->second, "dead letter")) return;
    if (seen.attempts > group->facts.max_attempts) fail("attempts are bounded (14)", story());
    Part& part = group->parts[seen.partition];
    State& state = part.states[seen.offset];
    const std::size_t slash = seen.key.rfind('/');
    const bool present =
        !in_flux(part) && seen.key.substr(slash + 1) == std::to_string(part.generation);
    if (!present) continue;
    // In a lane over it what was done may fail once more.
    const bool replayed = std::ranges::any_of(part.replayed, [&](const auto& one) {
      return seen.offset >= one.first && seen.offset < one.second;
    });
    if (replayed && (state.acked || state.ack_possible)) continue;
    if (state.acked) fail("an ack is final (13)", story() + "; " + tell(state));
    const bool expiry = seen.reason == "expired" && expired(event->second);
    if (fresh && !maybe_dead(*group, state) && !state.ack_possible && !expiry && !replayed) {
      fail("a dead letter has a cause (14)", story() + "; " + tell(state));
    }
    state.dead = true;
    state.dead_at = -1000;  // browse waits for the sync
  }
}

void Checker::replaying(
    const std::string& topic, const std::string& name,
    const std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>>& range) {
  Group* group = group_of(topic, name);
  if (group == nullptr) return;
  for (const auto& [partition, one] : range) group->parts[partition].replayed.push_back(one);
}

void Checker::lane_made(const std::string& lane,
                        const std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>>& range,
                        const std::string& type) {
  lanes_[lane] = {range, type};
  for (const LaneOffer& one : early_[lane]) check_lane(lane, one.partition, one.offset, one.type);
  early_.erase(lane);
}

void Checker::ending_lane(const std::string& lane) {
  ended_lanes_.insert(lane);
  for (auto& [name, index] : current_group_) {
    for (auto& [partition, part] : groups_[index].parts) {
      for (auto& [offset, state] : part.states) {
        for (Offer& offer : state.offers) offer.over = offer.over || offer.lane == lane;
      }
    }
  }
}

void Checker::purging(const std::string& topic) {
  purged_.insert(topic);
}

// --- the end

void Checker::finish(const std::string& name, const std::vector<LogSeen>& records,
                     const std::map<std::uint32_t, std::int64_t>& log_start,
                     const std::vector<DeadSeen>& dead) {
  const auto found = current_topic_.find(name);
  if (found == current_topic_.end()) return;
  Topic& topic = topics_[found->second];
  std::set<std::uint64_t> present;
  for (const LogSeen& seen : records) {
    ++checks_;
    const auto event = events_.find(seen.event);
    if (event == events_.end() || event->second.facts.payload != seen.payload) {
      return fail("no phantom", fmt::format("the log of {} has event {} at {}:{}", name, seen.event,
                                            seen.partition, seen.offset));
    }
    if (!bind(topic, seen.partition, seen.offset, event->second, "log")) return;
    present.insert(seen.event);
  }
  for (const auto& [partition, start] : log_start) {
    topic.logs[partition].start = std::max(topic.logs[partition].start, start);
  }
  for (const auto& [number, event] : events_) {
    if (event.incarnation != found->second || event.fate != Fate::kAccepted) continue;
    ++checks_;
    if (present.contains(number) || event.place->second < topic.logs[event.place->first].start) {
      continue;
    }
    return fail("an accepted event is kept (9)",
                fmt::format("event {} of {} at {}:{} is not in the log", number, name,
                            event.place->first, event.place->second));
  }
  dead_letters(dead);
  std::set<std::string> entries;
  std::set<std::pair<std::string, std::pair<std::uint32_t, std::int64_t>>> buried;
  for (const DeadSeen& seen : dead) {
    entries.insert(seen.entry);
    buried.insert({seen.group, {seen.partition, seen.offset}});
  }
  // Key: group/topic@incarnation/partition/offset/generation.
  const auto buried_again = [&](const std::string& key) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at != std::string::npos;) {
      const std::size_t slash = key.find('/', at);
      parts.push_back(key.substr(at, slash - at));
      at = slash == std::string::npos ? slash : slash + 1;
    }
    return parts.size() == 5 && (group_of(name, parts[0]) == nullptr ||
                                 buried.contains({parts[0],
                                                  {static_cast<std::uint32_t>(std::stoul(parts[2])),
                                                   std::stoll(parts[3])}}));
  };
  if (!purged_.contains(name)) {
    for (const auto& [entry, key] : key_of_entry_) {
      // One of a later generation stands for those before it.
      if (entry.starts_with(name + "_DLQ:") && !entries.contains(entry) && !buried_again(key)) {
        return fail("a dead letter stays (16)", entry + " " + key);
      }
    }
  }
  for (auto& [names, index] : current_group_) {
    if (names.first != name) continue;
    Group& group = groups_[index];
    if (!group.start_known || group.ending) continue;
    for (auto& [partition, log] : topic.logs) {
      Part& part = group.parts[partition];
      for (const auto& [offset, number] : log.events) {
        if (offset < part.start || offset < part.maybe_start || offset < log.start) continue;
        const Event& event = events_.at(number);
        if (!matches(group, event) || expired(event)) continue;
        ++checks_;
        State& state = part.states[offset];
        if (state.acked || state.ack_possible || state.skipped) continue;
        if (buried.contains({group.facts.name, {partition, offset}})) continue;
        if (purged_.contains(name) && maybe_dead(group, state)) continue;
        return fail("an accepted event reaches every group (9)",
                    fmt::format("event {} at {}/{}:{} for {}: {}", number, name, partition, offset,
                                group.facts.name, tell(state)));
      }
    }
  }
}

}  // namespace ackline::sim

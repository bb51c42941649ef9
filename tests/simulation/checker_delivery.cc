// What the checker makes of deliveries and of the answers to settles: invariants 9 to 14 and 19.
#include <fmt/format.h>

#include <algorithm>

#include "tests/simulation/checker.h"

namespace ackline::sim {
namespace {

constexpr Ms kLookMs = 250;
constexpr Ms kRoundMs = 5000;  // retention and the question after it

}  // namespace

std::string Checker::tell(const DeliverySeen& seen) const {
  return fmt::format("event {} at {}/{}:{} to {}/{}, attempt {}{}{}, id {}", seen.event, seen.topic,
                     seen.partition, seen.offset, seen.group, seen.client, seen.attempt,
                     seen.resent ? ", resent" : "", seen.lane.empty() ? "" : ", lane " + seen.lane,
                     seen.id);
}

std::string Checker::tell(const State& state) const {
  std::string out =
      fmt::format("acked={}@{} ackPossible={} dead={} skipped={} floor={};", state.acked,
                  state.acked_at, state.ack_possible, state.dead, state.skipped, state.floor);
  for (const Offer& offer : state.offers) {
    out += fmt::format(" [{} {} at {} attempt {} until {}{}{}{}]", offer.id, offer.client, offer.at,
                       offer.attempt, offer.lease_end, offer.over ? " over" : "",
                       offer.lost ? " lost" : "", offer.lane.empty() ? "" : " lane");
  }
  return out;
}

bool Checker::matches(const Group& group, const Event& event) const {
  return group.facts.filter_type.empty() || group.facts.filter_type == event.facts.type;
}

bool Checker::expired(const Event& event) const {
  const auto passed = [&](const std::optional<Ms>& at) { return at && wall_ + slack_ms_ >= *at; };
  return passed(event.facts.expires_wall) || passed(event.facts.gone_wall);
}

bool Checker::maybe_dead(const Group& group, const State& state) const {
  const std::uint64_t since = group.disruptions - std::min(group.disruptions, state.disrupted);
  return state.dead || state.reject_asked || state.attempts + since >= group.facts.max_attempts ||
         since >= 2ULL * modes_.restarts_max ||  // each death counts as two
         (!state.offers.empty() && state.offers.back().starts >= modes_.restarts_max);
}

bool Checker::maybe_terminal(const Group& group, const Part& part, const Log& log,
                             std::int64_t offset) const {
  const auto bound = log.events.find(offset);
  if (bound == log.events.end()) return true;  // nobody knows what it is
  const auto found = part.states.find(offset);
  return maybe_terminal(group, part, log, offset, bound->second,
                        found == part.states.end() ? nullptr : &found->second);
}

bool Checker::maybe_terminal(const Group& group, const Part& part, const Log& log,
                             std::int64_t offset, std::uint64_t number, const State* state) const {
  if (offset < part.start || offset < log.start || offset < part.maybe_start) return true;
  if (state != nullptr &&
      (state->acked || state->ack_possible || state->skipped || maybe_dead(group, *state))) {
    return true;
  }
  const Event& event = events_.at(number);
  if (!matches(group, event) || expired(event)) return true;
  return state == nullptr && maybe_dead(group, State{});
}

bool Checker::in_flux(const Part& part) const {
  return part.unsure || part.reopens > 0 || part.reopened_at + slack_ms_ >= now_;
}

bool Checker::superseded(const Offer& offer, const Offer& later) const {
  return &later > &offer && !later.lost && !(later.crossed && offer.at + slack_ms_ >= later.at);
}

void Checker::delivered(const DeliverySeen& seen) {
  ++deliveries_;
  ++checks_;
  Group* group = group_of(seen.topic, seen.group);
  const auto recent = [&](const std::string& what) {
    const auto gone = recently_gone_.find(what);
    return gone != recently_gone_.end() && gone->second + slack_ms_ >= now_ &&
           seen.asked_at <= gone->second;
  };
  if (recent(seen.topic) || recent(seen.topic + "/" + seen.group)) return;
  if (group == nullptr) return fail("no phantom group", tell(seen));
  const auto known = events_.find(seen.event);
  if (known == events_.end()) return fail("no phantom", tell(seen));
  Event& event = known->second;
  if (event.facts.payload != seen.payload) return fail("an event arrives as sent", tell(seen));
  Topic& topic = topics_[group->incarnation];
  if (!bind(topic, seen.partition, seen.offset, event, "delivery")) return;
  Log& log = topic.logs[seen.partition];
  Part& part = group->parts[seen.partition];
  State& state = part.states[seen.offset];
  if (!matches(*group, event)) return fail("a filter holds (21)", tell(seen));
  const bool lane = !seen.lane.empty();
  const bool flux = in_flux(part);
  if (!flux && !lane && group->start_known && seen.offset < part.start) {
    return fail("a start holds (4)", tell(seen));
  }
  for (Offer& offer : state.offers) {
    if (offer.id != seen.id) continue;
    if (!seen.resent && !offer.resent)
      return fail("an id is given once (12)", tell(seen) + tell(state));
    if (offer.client != seen.client || offer.attempt != seen.attempt) {
      fail("a resend is the same offer", tell(seen) + tell(state));
    }
    // A resend may have waited for a sync while the ack came: no promise is broken.
    return;
  }
  if (!seen.resent && seen.lease_ms <= 0) fail("an offer has time left (11)", tell(seen));
  if (!lane && !flux) {
    if (state.acked) return fail("an ack is final (13)", tell(seen) + tell(state));
    if (state.dead) return fail("a dead letter is terminal (17)", tell(seen) + tell(state));
    if (state.skipped) return fail("a reset goes past (18)", tell(seen) + tell(state));
  }
  if (lane && !flux && !maybe_terminal(*group, part, log, seen.offset)) {
    fail("a lane takes terminal events only (18)", tell(seen) + tell(state));
  }
  if (lane) check_lane(seen.lane, seen.partition, seen.offset, event.facts.type);
  // One that a later offer overtook on its way: its id is stale, it does no harm.
  // A lane counts attempts of its own.
  if (!flux && !state.offers.empty()) {
    const Offer& newest = state.offers.back();
    const bool older = lane ? newest.lane == seen.lane : seen.attempt < state.floor;
    if (older && seen.attempt < newest.attempt && newest.at + slack_ms_ >= now_) return;
  }
  // In flux attempts do not tell which was made first: a reset begins them anew.
  const bool crossed =
      flux && !lane && !state.offers.empty() && state.offers.back().at + slack_ms_ >= now_;
  if (!flux) {
    check_exclusive(*group, state, seen);
    if (!lane) check_attempt(*group, state, seen);
    const bool ordered = group->start_known && (seen.offset >= part.ordered_from || state.reopened);
    if (!lane && !state.seen && !seen.resent && ordered) {
      check_order(*group, part, log, event, seen);
    }
  }
  for (Offer& offer : state.offers) offer.over = true;
  Offer offer;
  offer.id = seen.id;
  offer.client = seen.client;
  offer.attempt = seen.attempt;
  offer.at = now_;
  offer.lease_end = now_ + seen.lease_ms;
  offer.lane = seen.lane;
  offer.resent = seen.resent;
  // Nobody knows how many starts it lived through before it was seen.
  offer.starts = seen.resent ? modes_.restarts_max - 1 : 0;
  // A pause is seen by looking up late: what it hides from an offer on its way is no longer than
  // the time between two looks.
  if (now_ <= paused_until_ + slack_ms_) offer.lease_end -= kLookMs;
  offer.crossed = crossed;
  offer.over = crossed || clients_[seen.client].leaving || ended_lanes_.contains(seen.lane);
  offer.disruptions = group->disruptions;
  state.offers.push_back(offer);
  offers_[seen.id] = {static_cast<std::size_t>(group - groups_.data()), seen.partition,
                      seen.offset};
  if (lane) return;
  state.attempts = crossed ? std::max(state.attempts, seen.attempt) : seen.attempt;
  state.floor = crossed ? std::min(state.floor, seen.attempt + 1) : seen.attempt + 1;
  state.disrupted = group->disruptions;
  // A new offer: whatever ended it before was undone.
  if (!crossed) state.ack_possible = state.reject_asked = false;
  state.acked = state.acked_done = state.dead = state.skipped = false;
  state.seen = true;
}

// Invariant 11.
void Checker::check_exclusive(const Group& group, State& state, const DeliverySeen& seen) {
  static_cast<void>(group);
  for (const Offer& offer : state.offers) {
    if (offer.over || offer.extending) continue;
    // A lane takes what is terminal, for whatever reason that was possible: its lease was over.
    if (!seen.lane.empty() && offer.lane.empty()) continue;
    Ms until = offer.lease_end;
    const auto client = clients_.find(offer.client);
    if (client != clients_.end() && client->second.loss_at &&
        offer.at <= client->second.closed_at + slack_ms_) {
      until = std::min(until, *client->second.loss_at);
    }
    if (until > now_ + slack_ms_) {
      fail("a lease is exclusive (11)", fmt::format("{} while {} holds it until {}; {}", tell(seen),
                                                    offer.client, until, tell(state)));
    }
  }
}

// Invariant 18: a replay with a filter or an end takes what was asked for.
void Checker::check_lane(const std::string& lane, std::uint32_t partition, std::int64_t offset,
                         const std::string& type) {
  const auto known = lanes_.find(lane);
  if (known == lanes_.end()) {  // a redrive, or a lane whose answer is not there yet
    early_[lane].push_back({partition, offset, type});
    return;
  }
  ++checks_;
  const auto range = known->second.range.find(partition);
  const bool inside = range != known->second.range.end() && offset >= range->second.first &&
                      offset < range->second.second;
  if (!inside || (!known->second.type.empty() && known->second.type != type)) {
    fail("a replay takes what was asked for (18)",
         fmt::format("lane {}: partition {} offset {} of type {}", lane, partition, offset, type));
  }
}

// Invariant 14: every offer is an attempt, no attempt is made twice, none is invented.
void Checker::check_attempt(const Group& group, const State& state, const DeliverySeen& seen) {
  const std::uint64_t unseen = group.disruptions - std::min(group.disruptions, state.disrupted);
  if (seen.attempt < 1 || seen.attempt > group.facts.max_attempts) {
    fail("attempts are bounded (14)", tell(seen) + tell(state));
  } else if (seen.attempt < state.floor) {
    fail("an attempt counts (14)", tell(seen) + tell(state));
  } else if (seen.attempt > state.attempts + 1 + unseen) {
    fail("attempts are not invented (14)", tell(seen) + tell(state));
  }
}

// Invariant 19: nothing of a key is first offered while an earlier one of it is not terminal.
void Checker::check_order(Group& group, Part& part, Log& log, const Event& event,
                          const DeliverySeen& seen) {
  const auto look = [&](std::int64_t earlier) {
    if (maybe_terminal(group, part, log, earlier)) return true;
    // Taken while nobody held it, between the look for the group's start and the group.
    const Event& before = events_.at(log.events.at(earlier));
    if (group.facts.fleeting && group.born + kRoundMs >= now_ && before.answered <= group.born) {
      return true;
    }
    const auto state = part.states.find(earlier);
    fail("order is kept (19)",
         fmt::format("{} while offset {} (event {}) is not done: {}", tell(seen), earlier,
                     log.events.at(earlier),
                     state == part.states.end() ? "never offered" : tell(state->second)));
    return false;
  };
  if (group.facts.ordering == Ordering::kKey && !event.facts.key.empty()) {
    for (const std::int64_t earlier : log.keys[event.facts.key]) {
      if (earlier >= seen.offset || !look(earlier)) break;
    }
  } else if (group.facts.ordering == Ordering::kPartition) {
    auto known = part.states.lower_bound(part.start);
    for (auto at = log.events.lower_bound(part.start); at != log.events.end(); ++at) {
      if (at->first >= seen.offset) break;
      while (known != part.states.end() && known->first < at->first) ++known;
      const bool offered = known != part.states.end() && known->first == at->first;
      const State* state = offered ? &known->second : nullptr;
      if (maybe_terminal(group, part, log, at->first, at->second, state)) continue;
      static_cast<void>(look(at->first));
      break;
    }
  }
}

// --- settles

Checker::Offer* Checker::find_offer(const std::string& id, Group** group, State** state,
                                    Part** part) {
  const auto found = offers_.find(id);
  if (found == offers_.end()) return nullptr;
  const OfferRef& ref = found->second;
  *group = &groups_[ref.group];
  *part = &(*group)->parts.at(ref.partition);
  *state = &(*part)->states.at(ref.offset);
  for (Offer& offer : (*state)->offers) {
    if (offer.id == id) return &offer;
  }
  return nullptr;
}

void Checker::settling(Verb verb, const std::string& client, const std::string& id) {
  Group* group = nullptr;
  State* state = nullptr;
  Part* part = nullptr;
  Offer* offer = find_offer(id, &group, &state, &part);
  if (offer == nullptr || offer->client != client) return;
  if (verb == Verb::kNack || verb == Verb::kReject) offer->over = true;
  if (verb == Verb::kExtend) offer->extending = true;
  if (!offer->lane.empty()) {
    // The next lane may take it from then on, also where the answer is lost with the process.
    if (verb == Verb::kAck) offer->over = true;
    return;
  }
  for (const Offer& later : state->offers) {
    if (later.lane.empty() && superseded(*offer, later)) return;  // it does nothing
  }
  if (verb == Verb::kAck) state->ack_possible = true;
  if (verb == Verb::kReject) state->reject_asked = true;
}

void Checker::settled(const SettleSeen& seen) {
  ++checks_;
  const bool done = seen.error.empty() && !seen.already;
  const auto story = [&] {
    return fmt::format("verb {} by {} of {}, answered {}", static_cast<int>(seen.verb), seen.client,
                       seen.id,
                       seen.error.empty() ? (seen.already ? "already" : "done") : seen.error);
  };
  if (seen.invalid) {
    if (seen.error.empty()) fail("an id that was never given out is unknown (12)", story());
    return;
  }
  Group* group = nullptr;
  State* state = nullptr;
  Part* part = nullptr;
  Offer* offer = find_offer(seen.id, &group, &state, &part);
  if (offer == nullptr || group_of(group->facts.topic, group->facts.name) != group) return;
  const bool flux = in_flux(*part);
  if (seen.verb == Verb::kExtend) offer->extending = false;
  // What could not be written may be in force all the same.
  if (seen.error == "full" || seen.error == "unavailable" || seen.error == "poisoned") {
    offer->over = true;
  }
  if (done) {
    if (offer->client != seen.client) return fail("a lease is its holder's (12)", story());
    if (offer->dropped && !flux) return fail("a reset makes ids stale (18)", story());
    for (const Offer& later : state->offers) {
      // A nack, or an extension of a client that left at once or that was over when the answer
      // could be given, may be followed by the next offer before its answer comes.
      const bool passed = later.at + slack_ms_ >= seen.invoked + seen.lease_ms;
      const bool ends = seen.verb == Verb::kNack ||
                        (seen.verb == Verb::kExtend && (clients_[seen.client].leaving || passed));
      const bool before = ends && later.at >= seen.invoked;
      if (superseded(*offer, later) && !flux && !before) {
        return fail("a superseded id is stale (12)", story() + "; " + tell(*state));
      }
    }
  }
  if (!offer->lane.empty()) {
    if (done && seen.verb == Verb::kExtend) {
      offer->lease_end = seen.invoked + seen.lease_ms;
      offer->extended_at = now_;
    } else {
      offer->over = offer->over || done;
    }
    return;
  }
  if (!seen.error.empty()) {
    const bool forgotten =
        seen.error == "stale" || seen.error == "not_owner" || seen.error == "delivery_unknown";
    if (seen.error == "stale" && state->acked && state->acked_at + slack_ms_ < seen.invoked &&
        !flux && !group->ending && !topics_[group->incarnation].deleting) {
      fail("what is terminal stays so (13)", story() + "; " + tell(*state));
    } else if (forgotten && offer == &state->offers.back() && !offer->over && !flux &&
               offer->client == seen.client && !group->ending &&
               !topics_[group->incarnation].deleting &&
               !(clients_[seen.client].loss_at &&
                 offer->at <= clients_[seen.client].closed_at + slack_ms_) &&
               offer->disruptions == group->disruptions && offer->lease_end > now_ + slack_ms_) {
      fail("a live lease is its holder's (12)", story() + "; " + tell(*state));
    } else if (seen.error == "settled" && seen.verb == Verb::kAck && !flux) {
      state->dead = true;
      state->dead_at = now_;
    }
    return;
  }
  const auto terminal = [&](bool& flag, Ms& at, bool& possible) {
    possible = true;
    if (flux) return;
    if (!flag) at = now_;
    flag = true;
  };
  switch (seen.verb) {
    case Verb::kAck:
      if (done && !flux && (state->acked_done || state->dead)) {
        fail("a second ack is `already` (13)", story() + "; " + tell(*state));
      }
      offer->over = true;
      state->acked_done = state->acked_done || (done && !flux);
      terminal(state->acked, state->acked_at, state->ack_possible);
      return;
    case Verb::kReject:
      if (done && !flux && state->acked) {
        fail("an ack is final (13)", story() + "; " + tell(*state));
      }
      offer->over = true;
      terminal(state->dead, state->dead_at, state->reject_asked);
      return;
    case Verb::kNack:
      offer->over = true;
      return;
    case Verb::kExtend:
      if (done && !offer->over) offer->lease_end = seen.invoked + seen.lease_ms;
      if (done) offer->extended_at = now_;
      return;
  }
}

}  // namespace ackline::sim

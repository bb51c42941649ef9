#include "tests/simulation/checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace ackline::sim {
namespace {

const std::string kAnswered = "publish answered";

}  // namespace

void Checker::fail(const std::string& rule, const std::string& story) {
  if (!broken_) broken_ = fmt::format("[t={}] {}: {}", now_, rule, story);
}

// --- topics and events

Checker::Topic& Checker::topic_of(const std::string& name) {
  const auto found = current_topic_.find(name);
  if (found != current_topic_.end()) return topics_[found->second];
  current_topic_[name] = topics_.size();
  topics_.push_back({});
  topics_.back().name = name;
  return topics_.back();
}

void Checker::topic_made(const std::string& topic) {
  static_cast<void>(topic_of(topic));
}

void Checker::topic_deleting(const std::string& topic) {
  topic_of(topic).deleting = true;
}

void Checker::topic_deleted(const std::string& topic) {
  topic_of(topic).gone_at = now_;
  current_topic_.erase(topic);
  recently_gone_[topic] = now_;
  drop_groups_of(topic);
  std::erase_if(entry_of_key_,
                [&](const auto& one) { return one.second.starts_with(topic + "_DLQ:"); });
  std::erase_if(key_of_entry_,
                [&](const auto& one) { return one.first.starts_with(topic + "_DLQ:"); });
  purged_.erase(topic);
}

void Checker::publishing(const EventFacts& event) {
  Topic& topic = topic_of(event.topic);
  Event& made = events_[event.number];
  made.facts = event;
  made.incarnation = static_cast<std::size_t>(&topic - topics_.data());
}

void Checker::published(std::uint64_t number, const std::string& error, bool certain_refusal,
                        std::uint32_t partition, std::int64_t offset) {
  Event& event = events_.at(number);
  event.answered = now_;
  if (!error.empty()) {
    event.fate = certain_refusal ? Fate::kRefused : Fate::kUnknown;
    if (event.place && certain_refusal) {
      fail("a refused publish must not be kept", fmt::format("event {}: {}", number, error));
    }
    return;
  }
  ++accepted_;
  event.fate = Fate::kAccepted;
  Topic& topic = topics_[event.incarnation];
  if (!bind(topic, partition, offset, event, kAnswered)) return;
  Log& log = topic.logs[partition];
  log.accepted_end = std::max(log.accepted_end, offset + 1);
}

// Invariants 9 and 10: one event, one place; a place that was told or seen never holds another.
bool Checker::bind(Topic& topic, std::uint32_t partition, std::int64_t offset, Event& event,
                   const std::string& how) {
  ++checks_;
  Log& log = topic.logs[partition];
  const auto [at, fresh] = log.events.try_emplace(offset, event.facts.number);
  if (at->second != event.facts.number) {
    fail("an offset is given once (10)",
         fmt::format("{}: {}/{} offset {} holds event {} and held event {}", how, topic.name,
                     partition, offset, event.facts.number, at->second));
    return false;
  }
  const auto place = std::pair(partition, offset);
  if (event.place && *event.place != place) {
    fail("an event is kept once",
         fmt::format("{}: event {} at {}/{} and at {}/{}", how, event.facts.number,
                     event.place->first, event.place->second, partition, offset));
    return false;
  }
  if (event.fate == Fate::kRefused) {
    fail("a refused publish must not be kept",
         fmt::format("{}: event {}", how, event.facts.number));
    return false;
  }
  if (&topics_[event.incarnation] != &topic) {
    fail("no phantom", fmt::format("{}: event {} of an earlier incarnation of {}", how,
                                   event.facts.number, topic.name));
    return false;
  }
  event.place = place;
  event.seen = event.seen || how != kAnswered;
  if (fresh && !event.facts.key.empty()) log.keys[event.facts.key].insert(offset);
  return true;
}

// --- groups and clients

Checker::Group* Checker::group_of(const std::string& topic, const std::string& group) {
  const auto found = current_group_.find({topic, group});
  return found == current_group_.end() ? nullptr : &groups_[found->second];
}

bool Checker::group_exists(const std::string& topic, const std::string& group) const {
  return current_group_.contains({topic, group});
}

void Checker::drop_group(const std::string& topic, const std::string& group) {
  current_group_.erase({topic, group});
  recently_gone_[topic + "/" + group] = now_;
  // Its dead letters go along, and the names may be used again.
  std::erase_if(entry_of_key_,
                [&](const auto& one) { return one.first.starts_with(group + "/" + topic + "@"); });
  std::erase_if(key_of_entry_,
                [&](const auto& one) { return one.second.starts_with(group + "/" + topic + "@"); });
}

void Checker::drop_groups_of(const std::string& topic) {
  for (auto at = current_group_.begin(); at != current_group_.end();) {
    at = at->first.first == topic ? current_group_.erase(at) : std::next(at);
  }
}

void Checker::subscribing(const GroupFacts& facts) {
  if (group_of(facts.topic, facts.name) != nullptr) return;
  current_group_[{facts.topic, facts.name}] = groups_.size();
  groups_.push_back({});
  Group& group = groups_.back();
  group.facts = facts;
  group.born = now_;
  Topic& topic = topic_of(facts.topic);
  group.incarnation = static_cast<std::size_t>(&topic - topics_.data());
}

void Checker::subscribed(const GroupFacts& facts, const std::string& client, Ms invoked,
                         bool created, const std::map<std::uint32_t, std::int64_t>& start) {
  clients_[client].leaving = false;
  Group* group = group_of(facts.topic, facts.name);
  if (group == nullptr && created && current_topic_.contains(facts.topic)) {
    subscribing(facts);  // what was before was deleted meanwhile
    group = group_of(facts.topic, facts.name);
  }
  if (group == nullptr) return;  // the topic was deleted meanwhile
  ++checks_;
  if (created && group->start_known && group->born < invoked && !group->ending) {
    fail("a group lives until it is removed (31)",
         fmt::format("{}/{} was made anew", facts.topic, facts.name));
  }
  if (created && group->ending) {
    // What was before ended with its last client.
    drop_group(facts.topic, facts.name);
    subscribing(facts);
    group = group_of(facts.topic, facts.name);
  }
  for (const auto& [partition, offset] : start) {
    Part& part = group->parts[partition];
    if (!group->start_known) {
      part.start = offset;
      part.frontier = offset - 1;
    } else if (part.generation == 1 && part.reopened_at < 0 && part.start_sure &&
               part.start != offset) {
      fail("a start is resolved once (4)",
           fmt::format("{}/{} partition {}: {} and now {}", facts.topic, facts.name, partition,
                       part.start, offset));
    }
  }
  group->start_known = true;
  group->ending = group->deleting;  // one that joins what is about to go
}

void Checker::unsubscribing(const std::string& client, const std::string& topic,
                            const std::string& name) {
  clients_[client].leaving = true;
  if (Group* group = group_of(topic, name); group != nullptr) {
    ++group->disruptions;
    group->ending = group->ending || group->facts.broadcast;
    for (auto& [index, part] : group->parts) {
      for (auto& [offset, state] : part.states) {
        for (Offer& offer : state.offers) offer.over = offer.over || offer.client == client;
      }
    }
  }
}

void Checker::unsubscribed(const std::string& client, const std::string& topic,
                           const std::string& name) {
  clients_[client].loss_at.reset();
  Group* group = group_of(topic, name);
  if (group == nullptr) return;
  ++group->disruptions;
  for (auto& [index, part] : group->parts) {
    for (auto& [offset, state] : part.states) {
      for (Offer& offer : state.offers) offer.over = offer.over || offer.client == client;
    }
  }
  if (group->facts.broadcast) drop_group(topic, name);
}

void Checker::unordered(const std::string& topic, const std::string& name) {
  if (Group* group = group_of(topic, name)) group->facts.ordering = Ordering::kNone;
}

void Checker::deleting_group(const std::string& topic, const std::string& name) {
  Group* group = group_of(topic, name);
  if (group == nullptr) return;
  ++group->disruptions;
  group->ending = group->deleting = true;
  for (auto& [index, part] : group->parts) {
    for (auto& [offset, state] : part.states) {
      for (Offer& offer : state.offers) offer.over = true;
    }
  }
}

void Checker::deleted_group(const std::string& topic, const std::string& name, bool done) {
  Group* group = group_of(topic, name);
  if (group == nullptr) return;
  // Unless it is there again already.
  if (done && group->deleting) return drop_group(topic, name);
  group->deleting = false;
}

void Checker::disrupted(const std::string& client) {
  static_cast<void>(client);
  for (const auto& [name, index] : current_group_) ++groups_[index].disruptions;
}

void Checker::draining(bool on) {
  if (on == draining_since_.has_value()) return;
  if (on) {
    draining_since_ = now_;
    return;
  }
  // Whose grace was over when it began is lost.
  for (auto& [name, client] : clients_) {
    if (client.loss_at && *client.loss_at > *draining_since_ + slack_ms_) {
      client.loss_at = std::max(*client.loss_at, now_ + grace_ms_);
    }
  }
  draining_since_.reset();
}

void Checker::stream_closed(const std::string& client, bool opened) {
  disrupted(client);
  Client& one = clients_[client];
  one.loss_at = opened || !one.loss_at ? now_ + grace_ms_ : *one.loss_at;
  one.closed_at = now_;
}

void Checker::stream_opened(const std::string& client) {
  Client& one = clients_[client];
  one.streams = true;
  if (one.loss_at && *one.loss_at > now_ + slack_ms_) {
    one.loss_at.reset();
    return;
  }
  // Too late: what it held then is lost to it.
  if (!one.loss_at) return;
  for (auto& [name, index] : current_group_) {
    for (auto& [partition, part] : groups_[index].parts) {
      for (auto& [offset, state] : part.states) {
        for (Offer& offer : state.offers) {
          offer.over =
              offer.over || (offer.client == client && offer.at <= one.closed_at + slack_ms_);
        }
      }
    }
  }
  one.loss_at.reset();
}

void Checker::stream_gone(const std::string& client) {
  disrupted(client);
  Client& one = clients_[client];
  if (one.loss_at) one.closed_at = now_;
}

// --- deaths

void Checker::died(bool power_cut, Ms durable_before, Ms offers_before) {
  const Ms lost_from = durable_before - slack_ms_;
  const Ms offers_from = offers_before - slack_ms_;
  draining_since_.reset();
  for (auto& [number, event] : events_) {
    if (event.fate == Fate::kPending) event.fate = Fate::kUnknown;
    const bool lost = power_cut && !modes_.sync_commit && event.fate == Fate::kAccepted &&
                      event.answered >= lost_from && !event.seen;
    if (!lost) continue;
    // Its offset may be given again: nobody saw it (invariant 10).
    event.fate = Fate::kUnknown;
    Log& log = topics_[event.incarnation].logs[event.place->first];
    log.events.erase(event.place->second);
    log.keys[event.facts.key].erase(event.place->second);
    event.place.reset();
  }
  for (auto& [name, index] : current_group_) {
    Group& group = groups_[index];
    group.deleting = false;
    group.disruptions += 2;  // also what was offered and lost at the very moment
    for (auto& [partition, part] : group.parts) {
      if (part.reopens > 0) {
        apply_perhaps(group, part);
        part.reopens = 0;
      }
      for (auto& [offset, state] : part.states) {
        for (Offer& offer : state.offers) {
          const Client& client = clients_[offer.client];
          const bool lost = client.loss_at && *client.loss_at <= now_ + slack_ms_ &&
                            offer.at <= client.closed_at + slack_ms_;
          const bool worn_out = ++offer.starts >= modes_.restarts_max;
          offer.over = offer.over || offer.extending || lost || worn_out;
        }
      }
      for (auto& [offset, state] : part.states) {
        for (Offer& offer : state.offers) {
          const bool first = offer.attempt == 1 && offer.lane.empty() && offer.at >= offers_from;
          if (!first && !(power_cut && offer.at >= lost_from)) continue;
          offer.lost = offer.over = true;
          if (offer.lane.empty()) state.floor = std::min(state.floor, offer.attempt);
        }
      }
      if (!power_cut) continue;
      for (auto& [offset, state] : part.states) {
        for (Offer& offer : state.offers) {
          offer.over = offer.over || offer.extended_at >= lost_from;
        }
        if (state.acked && state.acked_at >= lost_from && !modes_.ack_sync) {
          state.acked = state.acked_done = false;
          state.ack_possible = true;
        }
        if (state.dead && state.dead_at >= lost_from) {
          state.dead = false;
          state.reject_asked = true;
        }
      }
    }
  }
}

// Time stands still while the process is down (invariant 15); graces count from readiness (14).
void Checker::came_back(Ms down_ms) {
  for (auto& [name, index] : current_group_) {
    for (auto& [partition, part] : groups_[index].parts) {
      for (auto& [offset, state] : part.states) {
        for (Offer& offer : state.offers) offer.lease_end += down_ms;
      }
    }
  }
  for (auto& [name, client] : clients_) {
    if (!client.streams) continue;
    client.loss_at = now_ + grace_ms_;
    client.closed_at = now_;
  }
}

}  // namespace ackline::sim

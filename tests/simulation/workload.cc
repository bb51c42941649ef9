// Publishers and clients: what they do, seeded, and how the checker is told.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "ackline/base/check.h"
#include "ackline/event/cloud_event.h"
#include "ackline/event/frame.h"
#include "tests/simulation/client_channel.h"

namespace ackline::sim {
namespace {

constexpr std::string_view kTypes[] = {"t.a", "t.b"};

// Errors that say that nothing was done.
bool certain(const Error& error) {
  switch (error.code) {
    case ErrorCode::kFull:
    case ErrorCode::kTopicUnknown:
    case ErrorCode::kBadValue:
    case ErrorCode::kDraining:
    case ErrorCode::kUnavailable:
      return true;
    default:
      return false;
  }
}

delivery::Verb api_verb(Verb verb) {
  switch (verb) {
    case Verb::kAck:
      return delivery::Verb::kAck;
    case Verb::kNack:
      return delivery::Verb::kNack;
    case Verb::kReject:
      return delivery::Verb::kReject;
    case Verb::kExtend:
      break;
  }
  return delivery::Verb::kExtend;
}

}  // namespace

delivery::Ordering Simulation::api_ordering(Ordering ordering) {
  return ordering == Ordering::kKey         ? delivery::Ordering::kKey
         : ordering == Ordering::kPartition ? delivery::Ordering::kPartition
                                            : delivery::Ordering::kNone;
}

void Simulation::start_work() {
  every(40, 320, [this] {
    if (!healing_) publish_some();
  });
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    every(20, 300, [this, i] { client_turn(i); });
  }
}

void Simulation::publish_some() {
  TopicPlan& topic = topics_[random_.below(topics_.size())];
  if (!world_->alive() || topic.state != TopicPlan::State::kReady) return;
  api::PublishRequest request;
  request.topic = topic.name;
  if (random_.chance(1, 4)) {
    request.partition = static_cast<std::uint32_t>(random_.below(topic.partitions));
  }
  auto numbers = std::make_shared<std::vector<std::uint64_t>>();
  std::string keys;
  const std::int64_t count = random_.chance(1, 12) ? random_.between(6, 20) : random_.between(1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    EventFacts facts;
    facts.number = next_event_++;
    facts.topic = topic.name;
    if (!hold_ && topic.retention.age_ms) {
      facts.gone_wall = world_->time().clock().wall().value() + *topic.retention.age_ms;
    }
    facts.type = kTypes[random_.below(2)];
    if (random_.chance(3, 4)) facts.key = fmt::format("k{}", random_.below(6));
    keys += " " + facts.key;
    facts.payload = fmt::format("{}:", facts.number);
    facts.payload.append(random_.below(random_.chance(1, 20) ? 3000 : 120),
                         static_cast<char>('a' + facts.number % 26));
    event::CloudEvent event;
    event.set("id", fmt::format("e{}", facts.number));
    event.set("source", "/sim");
    event.set("type", facts.type);
    if (!facts.key.empty()) event.set("partitionkey", facts.key);
    if (random_.chance(1, 25)) {
      const std::int64_t ttl = random_.between(50, 6000);
      event.set_timestamp("time", world_->time().clock().wall());
      event.set_integer("emttl", static_cast<std::int32_t>(ttl));
      facts.expires_wall = world_->time().clock().wall().value() + ttl;
    }
    event.set_data(event::DataKind::kText, facts.payload);
    api::PublishEvent out;
    event::append_frame(event, out.frame);
    if (!facts.key.empty()) out.partition_key = facts.key;
    request.events.push_back(std::move(out));
    checker_->publishing(facts);
    numbers->push_back(facts.number);
  }
  ++topic.publishes;
  note(fmt::format("publish {} x{} from event {}{}", topic.name, numbers->size(), numbers->front(),
                   keys));
  const std::uint32_t edge = any_edge();
  TopicPlan* at = &topic;
  call(edge, [this, edge, at, numbers, request]() mutable {
    traffic(edge).publish(request, [this, at, numbers](Result<api::PublishResults> results) {
      if (dying()) return;
      sync_time();
      --at->publishes;
      for (std::size_t i = 0; i < numbers->size(); ++i) {
        const Error* error = nullptr;
        if (!results) {
          error = &results.error();
        } else if (!(*results)[i]) {
          error = &(*results)[i].error();
        }
        if (error != nullptr) {
          note(fmt::format("publish of {} refused: {}", (*numbers)[i], error->word()));
          checker_->published((*numbers)[i], std::string(error->word()), certain(*error), 0, 0);
        } else {
          const api::Published& where = *(*results)[i];
          note(fmt::format("published {} at {}:{}", (*numbers)[i], where.partition,
                           where.offset.value()));
          checker_->published((*numbers)[i], {}, false, where.partition, where.offset.value());
        }
      }
    });
  });
}

// --- clients

void Simulation::client_turn(std::size_t index) {
  Client& client = *clients_[index];
  if (!world_->alive() || client.busy) return;
  const Ms now = world_->time().now();
  if (!healing_ && now < client.rest_until) return;
  if (client.ending) return unsubscribe(client);
  if (!client.subscribed) {
    if (groups_[client.group].unsure) return;
    if (topics_[client.topic].state == TopicPlan::State::kReady) subscribe(client);
    return;
  }
  if (!healing_ && random_.chance(1, 120)) {
    client.rest_until = now + random_.between(100, 6000);
    unsubscribe(client);
    return;
  }
  if (client.attached) {
    if (!healing_ && random_.chance(1, 40)) {
      detach(client);
      client.rest_until = now + random_.between(0, random_.chance(1, 3) ? 8000 : 1500);
      if (random_.chance(1, 4)) client.streams = !client.streams;
    }
    return;
  }
  attach(client);
}

void Simulation::subscribe(Client& client) {
  const GroupPlan& group = groups_[client.group];
  api::SubscribeRequest request;
  request.client_id = client.id;
  request.topic = group.facts.topic;
  if (!group.facts.broadcast) request.group = group.facts.name;
  request.mode =
      group.facts.broadcast ? delivery::Mode::kBroadcasting : delivery::Mode::kClustering;
  request.start = group.earliest ? api::Position(api::Earliest{}) : api::Position(api::Latest{});
  if (group.start_offset) {
    api::AtOffsets at;
    at.all = Offset(*group.start_offset);
    request.start = at;
  } else if (group.start_back_ms) {
    request.start = api::AtTime{world_->time().clock().wall().plus(-*group.start_back_ms)};
  }
  request.dead_letter_expired = group.dead_letter_expired;
  request.partitions = client.partitions;
  if (group.ordering) request.ordering = api_ordering(*group.ordering);
  request.max_attempts = group.facts.max_attempts;
  if (!group.backoff_ms.empty()) request.backoff_ms = group.backoff_ms;
  if (!group.facts.filter_type.empty()) {
    request.filter_json = group.filter_json;
  }
  request.max_in_flight = group.max_in_flight;
  request.max_in_flight_bytes = group.max_in_flight_bytes;
  request.ack_timeout_ms = group.ack_timeout_ms;
  request.max_lease_ms = group.max_lease_ms;
  client.busy = true;
  ++topics_[client.topic].changes;
  const Ms invoked = world_->time().now();
  checker_->subscribing(group.facts);
  const std::uint32_t edge = any_edge();
  Client* at = &client;
  call(edge, [this, at, edge, invoked, request]() mutable {
    traffic(edge).subscribe(request, [this, at, invoked](Result<api::Subscribed> answer) {
      if (dying()) return;
      sync_time();
      at->busy = false;
      --topics_[at->topic].changes;
      if (!answer) {
        note(fmt::format("{} subscribe: {}", at->id, answer.error().word()));
        return;
      }
      if (!answer->conflicts.empty()) {
        checker_->fail("a policy stays as it was set",
                       at->id + " " + answer->conflicts.front().key);
        return;
      }
      std::map<std::uint32_t, std::int64_t> start;
      std::string told;
      for (const auto& [partition, offset] : answer->start) {
        start[partition] = offset.value();
        told += fmt::format(" {}:{}", partition, offset.value());
      }
      note(fmt::format("{} subscribed{}{}", at->id, answer->created ? ", group created from" : "",
                       answer->created ? told : ""));
      checker_->subscribed(groups_[at->group].facts, at->id, invoked, answer->created, start);
      at->subscribed = true;
    });
  });
}

void Simulation::unsubscribe(Client& client) {
  const GroupFacts& group = groups_[client.group].facts;
  client.busy = true;
  ++topics_[client.topic].changes;
  checker_->unsubscribing(client.id, group.topic, group.name);
  const std::uint32_t edge = any_edge();
  Client* at = &client;
  client.subscribed = false;
  client.ending = groups_[client.group].facts.broadcast;
  note(client.id + " unsubscribes");
  call(edge, [this, at, edge, topic = group.topic]() {
    traffic(edge).unsubscribe(at->id, topic, {}, [this, at](Result<api::Unsubscribed> answer) {
      if (dying()) return;
      sync_time();
      at->busy = false;
      --topics_[at->topic].changes;
      note(fmt::format("{} unsubscribed: {}", at->id,
                       answer ? "ok" : std::string(answer.error().word())));
      const GroupFacts& facts = groups_[at->group].facts;
      const bool gone = answer || answer.error().code == ErrorCode::kClientUnknown ||
                        answer.error().code == ErrorCode::kTopicUnknown;
      if (!gone) return;
      at->ending = false;
      checker_->unsubscribed(at->id, facts.topic, facts.name);
    });
  });
}

// A poll or a stream, whichever this client uses.
void Simulation::attach(Client& client) {
  client.attached = true;
  client.opened = false;
  client.attached_at = world_->time().now();
  client.edge = any_edge();
  const std::uint64_t turn = ++client.turn;
  Client* at = &client;
  if (client.streams) {
    if (client.channel) old_channels_.push_back(std::move(client.channel));
    client.channel = std::make_unique<Channel>();
    client.channel->on_deliver = [this, at, turn](std::span<const channel::Delivery> got) {
      received(*at, turn, got);
    };
    client.channel->on_end = [this, at, turn](channel::EndReason reason) {
      note(fmt::format("{} stream ended: {}", at->id, channel::end_word(reason)));
      ended(*at, turn,
            reason != channel::EndReason::kDraining && reason != channel::EndReason::kReplaced);
    };
    call(client.edge, [this, at, turn, edge = client.edge, channel = client.channel.get()] {
      auto attachment =
          traffic(edge).stream(at->id, {}, *channel, [this, at, turn](Result<void> opened) {
            if (dying()) return;
            sync_time();
            note(fmt::format("{} stream: {}", at->id,
                             opened ? "open" : std::string(opened.error().word())));
            if (!opened) {
              ended(*at, turn, opened.error().code == ErrorCode::kClientUnknown);
            } else if (at->turn == turn) {
              at->opened = true;
              checker_->stream_opened(at->id);
            }
          });
      if (at->turn == turn) at->attachment = std::move(attachment);
    });
    return;
  }
  note(client.id + " polls");
  const auto max = static_cast<std::uint32_t>(random_.between(1, 12));
  const std::int64_t timeout_ms = random_.between(0, 2500);
  call(client.edge, [this, at, turn, edge = client.edge, max, timeout_ms] {
    auto attachment = traffic(edge).poll(
        at->id, {}, max, timeout_ms, [this, at, turn](Result<std::vector<channel::Delivery>> got) {
          if (dying()) return;
          sync_time();
          if (!got) note(fmt::format("{} poll: {}", at->id, got.error().word()));
          if (got) received(*at, turn, *got);
          ended(*at, turn, !got && got.error().code == ErrorCode::kClientUnknown);
        });
    if (at->turn == turn) at->attachment = std::move(attachment);
  });
}

// The client goes away on its own.
void Simulation::detach(Client& client) {
  const bool stream = client.channel != nullptr;
  note(fmt::format("{} detaches its {}", client.id, stream ? "stream" : "poll"));
  if (stream) {
    checker_->stream_closed(client.id, client.opened);
    old_channels_.push_back(std::move(client.channel));
  } else {
    checker_->disrupted(client.id);
  }
  ++client.turn;
  client.attached = false;
  auto gone = std::make_shared<std::unique_ptr<api::Attachment>>(std::move(client.attachment));
  Client* at = &client;
  call(client.edge, [this, at, gone, stream] {
    gone->reset();
    // Until here it still was there.
    if (stream) {
      checker_->stream_gone(at->id);
    } else {
      checker_->disrupted(at->id);
    }
  });
}

// The server's side ended it. `gone`: so is the subscription.
void Simulation::ended(Client& client, std::uint64_t turn, bool gone) {
  if (client.turn != turn) return;
  ++client.turn;
  client.attached = false;
  if (client.channel) {
    // One that was refused was none.
    if (client.opened) checker_->stream_closed(client.id, true);
    old_channels_.push_back(std::move(client.channel));
  }
  if (gone) client.subscribed = false;
  auto old = std::make_shared<std::unique_ptr<api::Attachment>>(std::move(client.attachment));
  call(client.edge, [old] { old->reset(); });
}

void Simulation::received(Client& client, std::uint64_t turn,
                          std::span<const channel::Delivery> got) {
  if (dying()) return;
  sync_time();
  for (const channel::Delivery& one : got) {
    auto frame = event::FrameView::open(one.frame);
    if (!frame) {
      checker_->fail(
          "an event arrives as sent",
          fmt::format("{} of {}/{}:{} to {}: {}", one.delivery_id, one.topic, one.partition.value(),
                      one.offset.value(), client.id, frame.error().detail));
      return;
    }
    DeliverySeen seen;
    seen.id = one.delivery_id;
    seen.client = client.id;
    seen.asked_at = client.attached_at;
    seen.topic = one.topic;
    seen.group = one.group;
    seen.partition = one.partition.value();
    seen.offset = one.offset.value();
    seen.attempt = one.attempt;
    seen.max_attempts = one.max_attempts;
    seen.lease_ms = one.lease_ms;
    seen.resent = one.resent;
    seen.lane = one.lane_id;
    if (!client.partitions.empty() &&
        std::ranges::find(client.partitions, seen.partition) == client.partitions.end()) {
      checker_->fail("a client gets the partitions that it named",
                     fmt::format("{} of {}", seen.partition, client.id));
    }
    seen.event = std::strtoull(std::string(frame->get("id").substr(1)).c_str(), nullptr, 10);
    seen.payload = frame->data();
    note(fmt::format("{} got event {} {}:{} attempt {} lease {} {}{}{}", client.id, seen.event,
                     seen.partition, seen.offset, seen.attempt, seen.lease_ms, seen.id,
                     seen.resent ? " resent" : "", seen.lane.empty() ? "" : " lane " + seen.lane));
    checker_->delivered(seen);
    if (!seen.lane.empty()) ++result_.redriven;
    if (checker_->broken()) return;
    if (client.turn != turn && !healing_) continue;  // nobody is there to work on it
    decide(client, seen);
  }
}

// What the client does with it.
void Simulation::decide(Client& client, const DeliverySeen& seen) {
  client.ids.push_back(seen.id);
  old_ids_.push_back(seen.id);
  if (healing_) {
    settle_later(client, random_.between(0, 50), Verb::kAck, seen.id, std::nullopt);
    return;
  }
  const std::uint32_t poison = groups_[client.group].poison_modulo;
  std::uint64_t fate = random_.below(100);
  if (poison != 0 && seen.event % poison == 0) fate = random_.chance(1, 2) ? 68 : 90;
  const Ms soon = random_.between(0, random_.chance(1, 6) ? 900 : 120);
  if (fate < 62) {
    settle_later(client, soon, Verb::kAck, seen.id, std::nullopt);
  } else if (fate < 68) {
    settle_later(client, seen.lease_ms + random_.between(-3, 1500), Verb::kAck, seen.id,
                 std::nullopt);
  } else if (fate < 77) {
    settle_later(client, soon, Verb::kNack, seen.id,
                 random_.chance(1, 2) ? std::optional(random_.between(0, 2500)) : std::nullopt);
  } else if (fate < 80) {
    settle_later(client, soon, Verb::kReject, seen.id, std::nullopt);
  } else if (fate < 84) {
    settle_later(client, seen.lease_ms / 2, Verb::kExtend, seen.id,
                 random_.between(100, 2 * groups_[client.group].ack_timeout_ms));
    settle_later(client, seen.lease_ms + random_.between(0, 800), Verb::kAck, seen.id,
                 std::nullopt);
  } else if (fate < 92) {
    // Holds it and says nothing.
  } else if (fate < 95) {
    settle_later(client, soon, Verb::kAck, seen.id, std::nullopt);
    settle_later(client, soon + random_.between(0, 2000), Verb::kAck, seen.id, std::nullopt);
  } else if (fate < 97) {
    // Another client tries first.
    Client& other = *clients_[random_.below(clients_.size())];
    settle_later(other, soon / 2, random_.chance(1, 2) ? Verb::kAck : Verb::kNack, seen.id,
                 std::nullopt);
    settle_later(client, soon, Verb::kAck, seen.id, std::nullopt);
  } else {
    std::string garbage = seen.id;
    garbage[random_.below(garbage.size())] = 'w';
    settle_later(client, soon, Verb::kAck, garbage, std::nullopt, true);
    settle_later(client, soon, Verb::kAck, seen.id, std::nullopt);
  }
  // Old ids, of this life or an earlier one.
  if (random_.chance(1, 12)) {
    const std::size_t back = std::min<std::size_t>(client.ids.size(), 40);
    settle_later(client, soon, random_.chance(3, 4) ? Verb::kAck : Verb::kNack,
                 client.ids[client.ids.size() - 1 - random_.below(back)], std::nullopt);
  }
}

void Simulation::settle_later(Client& client, Ms after, Verb verb, const std::string& id,
                              std::optional<std::int64_t> ms, bool invalid) {
  world_->time().outside(world_->time().now() + std::max<Ms>(0, after),
                         [this, name = client.id, verb, id, ms, invalid] {
                           if (!world_->alive()) return;
                           sync_time();
                           settle(name, verb, id, ms, invalid);
                         });
}

void Simulation::settle(const std::string& client, Verb verb, const std::string& id,
                        std::optional<std::int64_t> ms, bool invalid) {
  api::SettleCall call_of;
  call_of.verb = api_verb(verb);
  call_of.client_id = client;
  call_of.delivery_ids = {id};
  if (verb == Verb::kNack) call_of.delay_ms = ms;
  if (verb == Verb::kExtend) call_of.extend_ms = ms;
  if (verb == Verb::kReject) call_of.reason = "no good";
  SettleSeen seen;
  seen.verb = verb;
  seen.client = client;
  seen.id = id;
  seen.invoked = world_->time().now();
  seen.invalid = invalid;
  checker_->settling(verb, client, id);
  const std::uint32_t edge = any_edge();
  call(edge, [this, edge, call_of, seen]() mutable {
    traffic(edge).settle(call_of, [this, seen](Result<api::SettleResults> results) mutable {
      if (dying()) return;
      sync_time();
      const Error* error = nullptr;
      if (!results) {
        error = &results.error();
      } else if (!results->front()) {
        error = &results->front().error();
      }
      if (error != nullptr) {
        seen.error = error->word();
      } else {
        seen.already = results->front()->status == delivery::SettleStatus::kAlready;
        seen.lease_ms = results->front()->lease_ms;
      }
      note(fmt::format("{} {} {}: {}", seen.client,
                       seen.verb == Verb::kAck      ? "ack"
                       : seen.verb == Verb::kNack   ? "nack"
                       : seen.verb == Verb::kReject ? "reject"
                                                    : "extend",
                       seen.id,
                       error != nullptr ? seen.error : (seen.already ? "already" : "done")));
      checker_->settled(seen);
    });
  });
}

}  // namespace ackline::sim

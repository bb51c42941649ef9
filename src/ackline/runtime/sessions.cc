#include "ackline/runtime/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ackline/event/names.h"

namespace ackline::runtime {

namespace {

constexpr std::int64_t kLastRoundMs = 1'000;  // a poll's last, at a shard whose disk stands still

}  // namespace

Sessions::Sessions(Options options, Executor& executor, const Catalog& catalog,
                   const delivery::DeliveryIdCodec& ids, OwnerLink owners)
    : options_(options),
      executor_(executor),
      catalog_(catalog),
      ids_(ids),
      owners_(std::move(owners)) {}

void Sessions::start() {
  for (const SubscriptionPtr& one : catalog_.subscriptions({})) add(one);
}

void Sessions::adopt(const Delta& delta) {
  for (const Change& change : delta) {
    if (const auto* one = std::get_if<SubscriptionPtr>(&change)) {
      add(*one);
    } else if (const auto* gone = std::get_if<RemoveSubscription>(&change)) {
      // The catalog is the shard's and has forgotten it already: our own owners map knows the
      // number.
      const auto found = sessions_.find(gone->client_id);
      if (found == sessions_.end()) continue;
      const bool topic_gone = catalog_.topic(gone->topic) == nullptr;
      for (auto& [number, owners] : found->second.owners) {
        if (catalog_.subscription(number) != nullptr) continue;
        Subscription was;
        was.client_id = gone->client_id;
        was.number = number;
        remove(std::make_shared<const Subscription>(was),
               topic_gone ? channel::EndReason::kTopicDeleted : channel::EndReason::kUnsubscribed);
        break;
      }
    }
  }
}

void Sessions::add(const SubscriptionPtr& subscription) {
  if (shard_of_client(subscription->client_id, options_.shards) != options_.home) return;
  const TopicPtr topic = catalog_.topic(subscription->topic);
  if (!topic) return;
  Session& session = sessions_[subscription->client_id];
  if (session.client_id.empty()) {
    session.client_id = subscription->client_id;
    session.last_seen = executor_.clock().wall();
  }
  std::set<ShardIndex> owners;
  for (std::uint32_t i = 0; i < topic->partitions.size(); ++i) {
    const auto& named = subscription->partitions;
    if (!named.empty() && std::ranges::find(named, PartitionIndex(i)) == named.end()) continue;
    owners.insert(shard_of_partition(topic->name, PartitionIndex(i), options_.shards));
  }
  auto& serving = session.owners[subscription->number];
  const auto before = std::exchange(serving, {owners.begin(), owners.end()});
  clients_[subscription->number] = subscription->client_id;
  lend(session, subscription);
  if (session.stream != 0) {
    // Told to those that are new only: who hears it sends again all that the client holds.
    for (const ShardIndex owner : serving) {
      if (std::ranges::find(before, owner) != before.end()) continue;
      owners_.connected(owner, subscription->number);
      owners_.set_demand(owner, subscription->number, delivery::Dispatcher::kUnlimited);
    }
    for (const ShardIndex owner : before) {
      if (owners.contains(owner)) continue;
      owners_.set_demand(owner, subscription->number, 0);
      owners_.disconnected(owner, subscription->number);
    }
  } else if (session.poll) {
    demand(session, session.poll->max);
  }
}

void Sessions::remove(const SubscriptionPtr& subscription, channel::EndReason reason) {
  const auto found = sessions_.find(subscription->client_id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  session.owners.erase(subscription->number);
  clients_.erase(subscription->number);
  if (!session.owners.empty()) return;
  end_channels(subscription->client_id, reason);
  sessions_.erase(subscription->client_id);
}

// The client's credit is lent in equal blocks to the shards that own partitions of the
// subscription.
void Sessions::lend(Session& session, const SubscriptionPtr& subscription) {
  const auto& owners = session.owners[subscription->number];
  if (owners.empty()) return;
  const std::uint32_t events =
      subscription->max_in_flight != 0 ? subscription->max_in_flight : options_.max_in_flight;
  const std::uint64_t bytes = subscription->max_in_flight_bytes != 0
                                  ? subscription->max_in_flight_bytes
                                  : options_.max_in_flight_bytes;
  const auto count = static_cast<std::uint32_t>(owners.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    // At least one each: a shard that was lent nothing would never serve its partitions.
    const std::uint32_t share =
        std::max<std::uint32_t>(1, events / count + (i < events % count ? 1 : 0));
    owners_.set_window(owners[i], subscription->number, share,
                       std::max<std::uint64_t>(1, bytes / count));
  }
}

void Sessions::demand(Session& session, std::uint32_t events) {
  std::uint32_t sources = 0;
  for (const auto& [number, owners] : session.owners) {
    sources += static_cast<std::uint32_t>(owners.size());
  }
  if (sources == 0) return;
  // Each source is asked for its part; with more sources than events each is asked for one and the
  // surplus withdrawn.
  const std::uint32_t each = events == 0 ? 0 : std::max<std::uint32_t>(1, events / sources);
  std::uint32_t extra = events > each * sources ? events - each * sources : 0;
  for (const auto& [number, owners] : session.owners) {
    for (const ShardIndex owner : owners) {
      const std::uint32_t more = extra > 0 ? 1 : 0;
      extra -= more;
      owners_.set_demand(owner, number, each + more);
    }
  }
}

std::uint64_t Sessions::poll(const std::string& client_id, std::string remote, std::uint32_t max,
                             std::int64_t timeout_ms, PollDone done) {
  const auto found = sessions_.find(client_id);
  if (found == sessions_.end()) {
    done(fail(ErrorCode::kClientUnknown, fmt::format("{} has no subscription", client_id),
              "Subscribe first: POST /events/subscribe."));
    return 0;
  }
  Session& session = found->second;
  if (draining_) {
    done(fail(ErrorCode::kDraining, "the server is draining", "Connect to another instance."));
    return 0;
  }
  if (session.stream != 0) {
    done(fail(ErrorCode::kStreamOpen, fmt::format("{} has a stream open", client_id),
              "Close the stream, or read from it."));
    return 0;
  }
  session.last_seen = executor_.clock().wall();
  session.remote = std::move(remote);
  // A second poll of one client takes the place of the first, which gets what it has.
  if (session.poll) finish_poll(session, {});
  session.poll = std::make_unique<Poll>();
  Poll& poll = *session.poll;
  poll.number = next_number_++;
  poll.max = max;
  poll.done = std::move(done);
  const std::uint64_t number = poll.number;
  poll.timer = executor_.schedule(executor_.clock().mono().plus(timeout_ms),
                                  [this, client_id, number] { last_round(client_id, number); });
  demand(session, max);
  return number;
}

Sessions::Session* Sessions::with_poll(const std::string& client_id, std::uint64_t number) {
  const auto found = sessions_.find(client_id);
  const bool has = found != sessions_.end() && found->second.poll != nullptr &&
                   found->second.poll->number == number;
  return has ? &found->second : nullptr;
}

// Its time is over. What the owners are offering it at this moment (a retry that waits for its
// sync, an event of another shard) is still waited for: else polls of no time would never get it.
void Sessions::last_round(const std::string& client_id, std::uint64_t number) {
  Session* session = with_poll(client_id, number);
  if (session == nullptr) return;
  session->poll->timer =
      executor_.schedule(executor_.clock().mono().plus(kLastRoundMs), [this, client_id, number] {
        Session* late = with_poll(client_id, number);
        if (late == nullptr) return;
        late->poll->timer = 0;
        finish_poll(*late, {});
      });
  std::set<ShardIndex> all;
  for (const auto& [one, owners] : session->owners) all.insert(owners.begin(), owners.end());
  session->poll->asked = all.size();
  for (const ShardIndex owner : all) {
    owners_.when_offered(owner, [this, client_id, number] {
      Session* still = with_poll(client_id, number);
      if (still != nullptr && --still->poll->asked == 0) finish_poll(*still, {});
    });
  }
}

void Sessions::cancel_poll(const std::string& client_id, std::uint64_t poll) {
  // Answered, not dropped: what `done` holds belongs to the thread of its connection.
  if (Session* session = with_poll(client_id, poll)) finish_poll(*session, {});
}

void Sessions::finish_poll(Session& session, Result<void> outcome) {
  Poll poll = std::move(*session.poll);
  session.poll.reset();
  if (poll.timer != 0) executor_.cancel(poll.timer);
  demand(session, 0);
  session.last_seen = executor_.clock().wall();
  if (outcome) {
    poll.done(std::move(poll.got));
  } else {
    poll.done(std::unexpected(outcome.error()));
  }
}

Result<std::uint64_t> Sessions::open_stream(const std::string& client_id, StreamEnd end) {
  const auto found = sessions_.find(client_id);
  if (found == sessions_.end()) {
    return fail(ErrorCode::kClientUnknown, fmt::format("{} has no subscription", client_id),
                "Subscribe first: POST /events/subscribe.");
  }
  if (draining_) {
    return fail(ErrorCode::kDraining, "the server is draining", "Connect to another instance.");
  }
  Session& session = found->second;
  if (session.poll) finish_poll(session, {});
  if (session.stream != 0) session.end.end(channel::EndReason::kReplaced);
  session.stream = next_number_++;
  session.end = std::move(end);
  session.remote = session.end.remote;
  session.last_seen = executor_.clock().wall();
  for (const auto& [number, owners] : session.owners) {
    for (const ShardIndex owner : owners) {
      owners_.connected(owner, number);
      owners_.set_demand(owner, number, delivery::Dispatcher::kUnlimited);
    }
  }
  return session.stream;
}

void Sessions::close_stream(const std::string& client_id, std::uint64_t stream) {
  const auto found = sessions_.find(client_id);
  if (found == sessions_.end() || found->second.stream != stream) return;
  Session& session = found->second;
  session.stream = 0;
  session.end = {};
  session.last_seen = executor_.clock().wall();
  for (const auto& [number, owners] : session.owners) {
    for (const ShardIndex owner : owners) {
      owners_.set_demand(owner, number, 0);
      owners_.disconnected(owner, number);
    }
  }
}

void Sessions::seen(const std::string& client_id, std::string remote) {
  const auto found = sessions_.find(client_id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  session.last_seen = executor_.clock().wall();
  // An open channel is where the client is.
  if (session.stream == 0 && session.poll == nullptr) session.remote = std::move(remote);
}

void Sessions::end_channels(const std::string& client_id, channel::EndReason reason) {
  const auto found = sessions_.find(client_id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  if (session.poll) {
    if (reason == channel::EndReason::kDraining) {
      finish_poll(session, {});
    } else {
      finish_poll(session, fail(ErrorCode::kClientUnknown, "the subscription has ended",
                                "Subscribe again: POST /events/subscribe."));
    }
  }
  if (session.stream == 0) return;
  const StreamEnd end = std::move(session.end);
  close_stream(client_id, session.stream);
  end.end(reason);
}

void Sessions::end_all(channel::EndReason reason) {
  std::vector<std::string> all;
  all.reserve(sessions_.size());
  for (const auto& [client_id, session] : sessions_) all.push_back(client_id);
  for (const std::string& client_id : all) end_channels(client_id, reason);
}

ShardIndex Sessions::owner_of(const delivery::Offer& offer) const {
  const GroupPtr group = catalog_.group(offer.group);
  return shard_of_partition(group ? group->topic : std::string(), offer.partition_index,
                            options_.shards);
}

channel::Delivery Sessions::as_delivery(const delivery::Offer& offer) const {
  channel::Delivery out;
  const GroupPtr group = catalog_.group(offer.group);
  ids_.encode(offer.id, out.delivery_id);
  if (group) {
    out.topic = group->topic;
    out.group = group->name;
    out.names = group;
  }
  out.partition = offer.partition_index;
  out.offset = offer.offset;
  out.attempt = offer.attempt;
  out.max_attempts = offer.max_attempts;
  out.lease_ms = offer.lease_ms;
  out.resent = offer.resent;
  if (offer.lane) {
    out.lane_id = fmt::format("r-{}", offer.lane->value());
    const LanePtr lane = catalog_.lane(*offer.lane);
    out.replay = lane && lane->kind == state::LaneKind::kReplay;
    if (offer.lane_entry >= Offset(0)) {
      out.lane_entry = fmt::format("{}:{}:{}", event::dlq_topic(out.topic),
                                   offer.partition_index.value(), offer.lane_entry.value());
    }
  }
  out.frame = offer.event.frame;
  out.hold = offer.hold;
  return out;
}

// Offers come grouped by whatever the dispatcher served; they are handed on client by client, in
// order.
void Sessions::on_offers(const std::vector<delivery::Offer>& offers) {
  std::map<std::string, std::vector<channel::Delivery>> streams;
  std::set<std::string> polled;
  for (const delivery::Offer& offer : offers) {
    const auto client = clients_.find(offer.client);
    const auto found = client == clients_.end() ? sessions_.end() : sessions_.find(client->second);
    if (found == sessions_.end()) continue;      // unsubscribed: the owner ends the lease itself
    if (!catalog_.group(offer.group)) continue;  // deleted while the offer was on its way
    Session& session = found->second;
    if (session.stream != 0) {
      streams[session.client_id].push_back(as_delivery(offer));
    } else if (!offer.streamed && session.poll && session.poll->got.size() < session.poll->max) {
      session.poll->got.push_back(as_delivery(offer));
      polled.insert(session.client_id);
    } else if (!offer.resent) {
      owners_.withdraw(owner_of(offer), offer.id);
    }
  }
  for (auto& [client_id, deliveries] : streams) {
    const auto found = sessions_.find(client_id);
    if (found != sessions_.end() && found->second.stream != 0) {
      found->second.end.deliver(std::move(deliveries));
    }
  }
  for (const std::string& client_id : polled) {
    const auto found = sessions_.find(client_id);
    if (found != sessions_.end() && found->second.poll) finish_poll(found->second, {});
  }
}

std::vector<SessionView> Sessions::views() const {
  std::vector<SessionView> views;
  for (const auto& [client_id, session] : sessions_) {
    SessionView view;
    view.client_id = client_id;
    view.connected = session.stream != 0 || session.poll != nullptr;
    view.channel = session.stream != 0 ? "sse" : session.poll != nullptr ? "poll" : "none";
    view.remote = session.remote;
    view.last_seen = view.connected ? executor_.clock().wall() : session.last_seen;
    views.push_back(std::move(view));
  }
  return views;
}

std::optional<WallMs> Sessions::last_seen(const std::string& client_id) const {
  const auto found = sessions_.find(client_id);
  if (found == sessions_.end()) return std::nullopt;
  const Session& session = found->second;
  return session.stream != 0 || session.poll != nullptr ? executor_.clock().wall()
                                                        : session.last_seen;
}

}  // namespace ackline::runtime

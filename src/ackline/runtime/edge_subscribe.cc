// Subscribe and unsubscribe: facts from the shards first, then one change of the control plane.
#include <fmt/format.h>

#include "ackline/event/names.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/plans.h"
#include "ackline/runtime/removals.h"

namespace ackline::runtime {
namespace {

// What one shard says of a group before its policy is changed.
struct GroupFacts {
  bool others_live = false;
  std::uint64_t in_flight = 0;
};

api::Position default_start(const api::SubscribeRequest& request) {
  if (request.mode.value_or(delivery::Mode::kClustering) == delivery::Mode::kClustering) {
    return api::Earliest{};
  }
  return api::Latest{};
}

}  // namespace

void Edge::subscribe(api::SubscribeRequest request, api::Done<api::Subscribed> done) {
  Result<void> fine = event::check_client_id(request.client_id);
  if (fine && request.group) fine = event::check_group_name(*request.group);
  if (fine && node_.draining()) {
    fine = fail(ErrorCode::kDraining, "the server is draining", "Subscribe at another instance.");
  }
  if (!fine) {
    answer_later<api::Subscribed>(std::move(done), fail(fine));
    return;
  }
  std::string name = request.topic;
  ensure_topic(std::move(name), [this, request = std::move(request),
                                 done = std::move(done)](Result<TopicPtr> topic) mutable {
    if (!topic) {
      done(fail(topic));
      return;
    }
    subscribe_with(*topic, std::move(request), std::move(done));
  });
}

void Edge::subscribe_with(const TopicPtr& topic, api::SubscribeRequest request,
                          api::Done<api::Subscribed> done) {
  auto name = group_of(request, catalog());
  if (!name) {
    answer_later<api::Subscribed>(std::move(done), fail(name));
    return;
  }
  const GroupPtr present = catalog().group(topic->name, *name);
  if (!present) {
    api::Position start = request.start.value_or(default_start(request));
    resolve(topic, std::move(start), {}, Resolve::kStart,
            [this, topic, request = std::move(request),
             done = std::move(done)](Result<std::map<std::uint32_t, Offset>> offsets) mutable {
              if (!offsets) {
                done(fail(offsets));
                return;
              }
              SubscribeFacts facts;
              facts.start = std::move(*offsets);
              // A position that names some partitions leaves the others at their beginning.
              for (std::uint32_t i = 0; i < topic->partitions.size(); ++i) {
                facts.start.try_emplace(i, Offset{0});
              }
              finish_subscribe(std::move(request), std::move(facts), std::move(done));
            });
    return;
  }
  // Where a group has started stays; what is wrong is said all the same.
  if (request.start) {
    if (auto fine = check_position(*topic, *request.start); !fine) {
      answer_later<api::Subscribed>(std::move(done), fail(fine));
      return;
    }
  }
  const auto members = catalog().subscriptions_of_group(topic->name, *name);
  const std::int64_t idle_ms = node_.options().client_idle_ms;
  // Before `request` moves on: which argument of a call is made first is not said.
  const std::string client = request.client_id;
  gather<GroupFacts>(
      node_, executor(),
      [topic, present, members, idle_ms, client](ShardUnit& unit,
                                                 std::move_only_function<void(GroupFacts)> answer) {
        GroupFacts facts;
        for (const PartitionNumber number : topic->partitions) {
          if (const auto report = unit.shard->dispatcher().progress({present->number, number})) {
            facts.in_flight += report->in_flight;
          }
        }
        const std::int64_t now = unit.executor.clock().wall().value();
        for (const SubscriptionPtr& one : members) {
          if (one->client_id == client) continue;
          // One that has subscribed again just now may not be marked as seen yet.
          WallMs seen = one->last_seen_at;
          if (const auto at = unit.sessions->last_seen(one->client_id)) seen = std::max(seen, *at);
          if (now - seen.value() < idle_ms) facts.others_live = true;
        }
        answer(facts);
      },
      [this, present, request = std::move(request),
       done = std::move(done)](const std::vector<GroupFacts>& parts) mutable {
        SubscribeFacts facts;
        facts.group = present;
        for (const GroupFacts& part : parts) {
          facts.others_live = facts.others_live || part.others_live;
          facts.in_flight += part.in_flight;
        }
        finish_subscribe(std::move(request), std::move(facts), std::move(done));
      });
}

void Edge::finish_subscribe(api::SubscribeRequest request, SubscribeFacts facts,
                            api::Done<api::Subscribed> done) {
  auto out = std::make_shared<SubscribeOutcome>();
  auto planner =
      plan_subscribe(node_.options(), request, std::move(facts), executor().clock().wall(), out);
  change<SubscribeOutcome>(out, std::move(planner),
                           [this, request = std::move(request),
                            done = std::move(done)](Result<SubscribeOutcome> outcome) mutable {
                             if (!outcome) {
                               done(fail(outcome));
                             } else if (outcome->look_again) {
                               // The group came, went or changed between the look and the change.
                               subscribe(std::move(request), std::move(done));
                             } else {
                               mark_seen(request.client_id, std::move(request.caller.remote));
                               done(std::move(outcome->answer));
                             }
                           });
}

void Edge::unsubscribe(std::string client_id, std::optional<std::string> topic,
                       api::Caller /*caller*/, api::Done<api::Unsubscribed> done) {
  Result<void> fine = event::check_client_id(client_id);
  if (fine && topic) fine = event::check_any_topic_name(*topic);
  if (!fine) {
    answer_later<api::Unsubscribed>(std::move(done), fail(fine));
    return;
  }
  auto out = std::make_shared<api::Unsubscribed>();
  change<api::Unsubscribed>(
      out,
      [out, client_id = std::move(client_id), topic = std::move(topic),
       now = executor().clock().wall()](const Catalog& catalog, Numbers&) -> Result<Plan> {
        Plan plan;
        for (const SubscriptionPtr& one : catalog.subscriptions_of_client(client_id)) {
          if (topic && one->topic != *topic) continue;
          plan_unsubscribe(catalog, *one, now, plan);
          out->topics.push_back(one->topic);
        }
        out->removed = !out->topics.empty();
        return plan;
      },
      std::move(done));
}

}  // namespace ackline::runtime

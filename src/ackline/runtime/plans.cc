#include "ackline/runtime/plans.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/json_text.h"
#include "ackline/event/filter.h"
#include "ackline/event/names.h"
#include "ackline/runtime/catalog_records.h"

namespace ackline::runtime {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string backoff_json(const std::vector<std::int64_t>& backoff_ms) {
  return fmt::format("[{}]", fmt::join(backoff_ms, ","));
}

Result<void> below(std::uint64_t count, std::uint64_t limit, std::string_view what,
                   std::string_view key) {
  if (count < limit) return {};
  return fail(ErrorCode::kRateLimited,
              fmt::format("there are {} {} already; the limit is {}", count, what, limit),
              fmt::format("Delete some, or raise {}.", key));
}

// What of the policy the request would change.
std::vector<api::Conflict> differences(const Group& group, const api::SubscribeRequest& want) {
  std::vector<api::Conflict> found;
  const delivery::GroupPolicy& have = group.policy;
  if (want.mode && *want.mode != have.mode) {
    found.push_back({"mode", quoted(mode_name(have.mode)), quoted(mode_name(*want.mode))});
  }
  if (want.ordering && *want.ordering != have.ordering) {
    found.push_back(
        {"ordering", quoted(ordering_name(have.ordering)), quoted(ordering_name(*want.ordering))});
  }
  if (want.max_attempts && *want.max_attempts != have.max_attempts) {
    found.push_back(
        {"maxAttempts", std::to_string(have.max_attempts), std::to_string(*want.max_attempts)});
  }
  if (want.backoff_ms && *want.backoff_ms != have.backoff_ms) {
    found.push_back({"backoffMs", backoff_json(have.backoff_ms), backoff_json(*want.backoff_ms)});
  }
  if (want.filter_json && *want.filter_json != group.filter_json) {
    const auto shown = [](const std::string& text) { return text.empty() ? "null" : text; };
    found.push_back({"filter", shown(group.filter_json), shown(*want.filter_json)});
  }
  if (want.dead_letter_expired && *want.dead_letter_expired != have.dead_letter_expired) {
    found.push_back({"deadLetterExpired", have.dead_letter_expired ? "true" : "false",
                     *want.dead_letter_expired ? "true" : "false"});
  }
  return found;
}

api::GroupPatch as_patch(const api::SubscribeRequest& request) {
  api::GroupPatch patch;
  patch.mode = request.mode;
  patch.ordering = request.ordering;
  patch.max_attempts = request.max_attempts;
  patch.backoff_ms = request.backoff_ms;
  patch.filter_json = request.filter_json;
  patch.dead_letter_expired = request.dead_letter_expired;
  return patch;
}

Result<Group> new_group(const NodeOptions& options, const api::SubscribeRequest& request,
                        const Topic& topic, std::string name, const SubscribeFacts& facts,
                        WallMs now, Numbers& numbers) {
  Group group;
  group.policy = options.default_policy;
  auto made = patched(group, as_patch(request));
  if (!made) return made;
  made->number = ProgressNumber(numbers.progress++);
  made->topic = topic.name;
  made->name = std::move(name);
  made->principal = request.caller.principal;
  made->incarnation = topic.incarnation;
  made->created_at = now;
  for (std::uint32_t i = 0; i < topic.partitions.size(); ++i) {
    const auto start = facts.start.find(i);
    made->start.push_back(start == facts.start.end() ? Offset{0} : start->second);
  }
  return made;
}

Subscription subscription_of(const NodeOptions& options, const api::SubscribeRequest& request,
                             const Group& group, const SubscriptionPtr& before, WallMs now,
                             Numbers& numbers) {
  Subscription one = before ? *before : Subscription{};
  if (!before) {
    one.topic = request.topic;
    one.client_id = request.client_id;
    one.group = group.name;
    one.incarnation = group.incarnation;
    one.number = ClientNumber(numbers.client++);
    one.principal = request.caller.principal;
    one.created_at = now;
    one.max_in_flight = options.max_in_flight;
    one.max_in_flight_bytes = options.max_in_flight_bytes;
    one.ack_timeout_ms = static_cast<std::uint64_t>(options.ack_timeout_ms);
    one.max_lease_ms = static_cast<std::uint64_t>(options.max_lease_ms);
  }
  one.mode = mode_name(group.policy.mode);
  one.instance = options.instance_id;
  one.last_seen_at = now;
  one.partitions.clear();
  for (const std::uint32_t index : request.partitions) one.partitions.emplace_back(index);
  std::ranges::sort(one.partitions);
  if (request.max_in_flight) one.max_in_flight = *request.max_in_flight;
  if (request.max_in_flight_bytes) one.max_in_flight_bytes = *request.max_in_flight_bytes;
  if (request.ack_timeout_ms)
    one.ack_timeout_ms = static_cast<std::uint64_t>(*request.ack_timeout_ms);
  if (request.max_lease_ms) one.max_lease_ms = static_cast<std::uint64_t>(*request.max_lease_ms);
  return one;
}

void fill_answer(const NodeOptions& options, const Group& group, const Subscription& one,
                 bool created, api::Subscribed& answer) {
  answer.subscription_id = subscription_id(one);
  answer.client_id = one.client_id;
  answer.topic = one.topic;
  answer.group = group.name;
  answer.mode = group.policy.mode;
  answer.created = created;
  answer.instance_url = options.instance_url;
  for (std::uint32_t i = 0; i < group.start.size(); ++i) answer.start[i] = group.start[i];
}

// Facts of a group that was not there, or had another policy, say nothing of this one: who lives
// in it, and what is in flight.
bool looked_at(const SubscribeFacts& facts, const GroupPtr& present) {
  if (!present || !facts.group) return !present && !facts.group;
  return encode(*facts.group) == encode(*present);
}

// Checks against what is there; fills the plan with the group's part. Null group: conflicts were
// found, or the facts are of another one.
Result<GroupPtr> plan_group(const NodeOptions& options, const api::SubscribeRequest& request,
                            const SubscribeFacts& facts, const Catalog& catalog, const Topic& topic,
                            const std::string& name, WallMs now, Numbers& numbers,
                            SubscribeOutcome& out, Plan& plan) {
  const GroupPtr present = catalog.group(topic.name, name);
  if (!looked_at(facts, present)) {
    out.look_again = true;
    return GroupPtr();
  }
  if (!present) {
    if (auto room = below(catalog.group_count(), options.groups_max, "groups", "limits.groups");
        !room) {
      return fail(room);
    }
    auto made = new_group(options, request, topic, name, facts, now, numbers);
    if (!made) return fail(made);
    auto group = std::make_shared<const Group>(std::move(*made));
    plan.writes.push_back({group_key(topic.name, name), encode(*group), {}});
    plan.delta.emplace_back(GroupPtr(group));
    return GroupPtr(group);
  }
  if (present->policy.mode != delivery::Mode::kClustering && name != request.client_id) {
    return fail(ErrorCode::kBadValue,
                fmt::format("group {} of {} belongs to the {} client of that name", name,
                            topic.name, mode_name(present->policy.mode)),
                "Choose another group.", "group");
  }
  auto conflicts = differences(*present, request);
  std::erase_if(conflicts, [&](const api::Conflict& one) {
    const bool strict = one.key == "mode" || one.key == "ordering";
    return !facts.others_live && (!strict || facts.in_flight == 0);
  });
  if (!conflicts.empty()) {
    out.answer.topic = topic.name;
    out.answer.group = name;
    out.answer.conflicts = std::move(conflicts);
    return GroupPtr();
  }
  auto changed = patched(*present, as_patch(request));
  if (!changed) return fail(changed);
  changed->empty_since = WallMs{0};
  auto group = std::make_shared<const Group>(std::move(*changed));
  if (encode(*group) != encode(*present)) {
    plan.writes.push_back({group_key(topic.name, name), encode(*group), {}});
    plan.delta.emplace_back(GroupPtr(group));
  }
  return GroupPtr(group);
}

}  // namespace

std::string mode_name(delivery::Mode mode) {
  switch (mode) {
    case delivery::Mode::kClustering:
      return "CLUSTERING";
    case delivery::Mode::kBroadcasting:
      return "BROADCASTING";
    case delivery::Mode::kMulticast:
      return "MULTICAST";
  }
  return "CLUSTERING";
}

std::string ordering_name(delivery::Ordering ordering) {
  switch (ordering) {
    case delivery::Ordering::kNone:
      return "none";
    case delivery::Ordering::kKey:
      return "key";
    case delivery::Ordering::kPartition:
      return "partition";
  }
  return "none";
}

std::string subscription_id(const Subscription& subscription) {
  return fmt::format("s-{:x}", subscription.number.value());
}

Control::Planner plan_topic(const NodeOptions& options, api::TopicCreate request,
                            bool keep_existing, WallMs now, std::shared_ptr<TopicPtr> out) {
  return [&options, request = std::move(request), keep_existing, now, out = std::move(out)](
             const Catalog& catalog, Numbers& numbers) -> Result<Plan> {
    if (auto fine = event::check_topic_name(request.name); !fine) return fail(fine);
    if (TopicPtr present = catalog.topic(request.name)) {
      if (!keep_existing) {
        return fail(ErrorCode::kAlreadyExists, fmt::format("topic {} exists", request.name),
                    "Use it, or choose another name.", "name");
      }
      *out = std::move(present);
      return Plan{};
    }
    if (auto room = below(catalog.topic_count(), options.topics_max, "topics", "limits.topics");
        !room) {
      return fail(room);
    }
    const std::uint32_t count = request.partitions.value_or(options.default_partitions);
    if (count < 1 || count > options.partitions_max) {
      return fail(
          ErrorCode::kBadValue,
          fmt::format("partitions is {}; allowed are 1 to {}", count, options.partitions_max),
          "Leave it out for the default.", "partitions");
    }
    auto kind = event::parse_partitioner(request.partitioner.value_or(options.default_partitioner));
    if (!kind) return fail(kind);
    if (auto usable = event::Partitioner::make(*kind); !usable) return fail(usable);
    auto topic = std::make_shared<Topic>();
    topic->name = request.name;
    topic->incarnation = Incarnation(numbers.incarnation++);
    topic->partitioner = *kind;
    topic->created_at = now;
    topic->retention = request.retention;
    if (!topic->retention.age_ms) topic->retention.age_ms = options.default_retention.age_ms;
    if (!topic->retention.bytes) topic->retention.bytes = options.default_retention.bytes;
    for (std::uint32_t i = 0; i < count; ++i) {
      topic->partitions.emplace_back(numbers.partition++);
      topic->dead_letters.emplace_back(numbers.partition++);
    }
    Plan plan;
    plan.writes.push_back({topic_key(topic->name), encode(*topic), {}});
    plan.delta.emplace_back(TopicPtr(topic));
    *out = std::move(topic);
    return plan;
  };
}

Result<std::string> group_of(const api::SubscribeRequest& request, const Catalog& catalog) {
  const delivery::Mode mode = request.mode.value_or(delivery::Mode::kClustering);
  if (mode == delivery::Mode::kClustering) return request.group.value_or("default");
  if (request.group && *request.group != request.client_id) {
    return fail(ErrorCode::kBadValue,
                fmt::format("in mode {} the group is the clientId, not {}", mode_name(mode),
                            *request.group),
                "Leave group out.", "group");
  }
  const GroupPtr present = catalog.group(request.topic, request.client_id);
  if (present && present->policy.mode == delivery::Mode::kClustering) {
    return fail(
        ErrorCode::kGroupConflict,
        fmt::format("topic {} has a CLUSTERING group named {}", request.topic, request.client_id),
        "Choose another clientId for a broadcast client.", "clientId");
  }
  return request.client_id;
}

Result<Group> patched(const Group& base, const api::GroupPatch& patch) {
  Group group = base;
  if (patch.mode) group.policy.mode = *patch.mode;
  if (patch.ordering) group.policy.ordering = *patch.ordering;
  if (patch.max_attempts) group.policy.max_attempts = *patch.max_attempts;
  if (patch.backoff_ms) group.policy.backoff_ms = *patch.backoff_ms;
  if (patch.dead_letter_expired) group.policy.dead_letter_expired = *patch.dead_letter_expired;
  if (patch.filter_json && *patch.filter_json != base.filter_json) {
    group.filter_json = *patch.filter_json;
    group.policy.filter.reset();
    if (!group.filter_json.empty()) {
      auto filter = event::Filter::parse(group.filter_json);
      if (!filter) return fail(filter);
      group.policy.filter = std::make_shared<const event::Filter>(std::move(*filter));
    }
  }
  return group;
}

Control::Planner plan_subscribe(const NodeOptions& options, api::SubscribeRequest request,
                                SubscribeFacts facts, WallMs now,
                                std::shared_ptr<SubscribeOutcome> out) {
  return [&options, request = std::move(request), facts = std::move(facts), now,
          out = std::move(out)](const Catalog& catalog, Numbers& numbers) -> Result<Plan> {
    const TopicPtr topic = catalog.topic(request.topic);
    if (!topic) {
      return fail(ErrorCode::kTopicUnknown, fmt::format("there is no topic {}", request.topic),
                  "Create it.", "topic");
    }
    for (const std::uint32_t index : request.partitions) {
      if (index < topic->partitions.size()) continue;
      return fail(ErrorCode::kBadValue,
                  fmt::format("partition {} is out of range: {} has {}", index, topic->name,
                              topic->partitions.size()),
                  "Name partitions that the topic has.", "partitions");
    }
    auto name = group_of(request, catalog);
    if (!name) return fail(name);
    const SubscriptionPtr before = catalog.subscription(request.topic, request.client_id);
    if (before && before->group != *name) {
      return fail(ErrorCode::kAlreadySubscribed,
                  fmt::format("{} is subscribed to {} in group {}", request.client_id,
                              request.topic, before->group),
                  "Unsubscribe first, or use that group.", "group");
    }
    if (!before) {
      if (auto room = below(catalog.subscription_count(), options.clients_max, "subscriptions",
                            "limits.clients");
          !room) {
        return fail(room);
      }
    }
    Plan plan;
    auto group =
        plan_group(options, request, facts, catalog, *topic, *name, now, numbers, *out, plan);
    if (!group) return fail(group);
    if (!*group) return Plan{};
    const bool created = catalog.group(topic->name, *name) == nullptr;
    auto one = std::make_shared<const Subscription>(
        subscription_of(options, request, **group, before, now, numbers));
    plan.put_subscriptions.push_back(one);
    plan.delta.emplace_back(SubscriptionPtr(one));
    fill_answer(options, **group, *one, created, out->answer);
    return plan;
  };
}

}  // namespace ackline::runtime

// Groups, subscriptions and clients.
#include <fmt/format.h>

#include <set>

#include "ackline/event/names.h"
#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/plans.h"
#include "ackline/runtime/progress_math.h"
#include "ackline/runtime/removals.h"

namespace ackline::runtime {
namespace {

struct GroupPart {
  std::map<ProgressNumber, api::GroupItem> sums;  // counts of this shard's partitions
};

void add_progress(ShardUnit& unit, const delivery::ProgressKey& key, GroupPart& part) {
  const auto report = unit.shard->dispatcher().progress(key);
  const auto place = unit.shard->catalog().place(key.partition);
  const log::PartitionLog* log = unit.shard->partition(key.partition);
  if (!report || !place || log == nullptr) return;
  api::PartitionLag lag;
  lag.report = *report;
  lag.log_start = log->log_start();
  lag.high_watermark = log->high_watermark();
  fill_lag(lag);
  api::GroupItem& sum = part.sums[key.progress];
  if (log->damage()) {
    sum.known = false;
    sum.generations[place->index.value()] = std::nullopt;
    return;
  }
  sum.generations[place->index.value()] = report->generation;
  sum.lag += lag.lag;
  sum.pending += lag.pending;
  sum.in_flight += report->in_flight;
  sum.waiting += report->waiting;
  sum.dead_letters += report->dead;
  sum.gone += report->gone;
}

api::GroupItem item_of(const Group& group, std::uint64_t clients, const GroupPart& all) {
  api::GroupItem item;
  const auto sums = all.sums.find(group.number);
  if (sums != all.sums.end()) item = sums->second;
  item.topic = group.topic;
  item.group = group.name;
  item.mode = group.policy.mode;
  item.ordering = group.policy.ordering;
  item.max_attempts = group.policy.max_attempts;
  item.backoff_ms = group.policy.backoff_ms;
  item.filter_json = group.filter_json;
  item.dead_letter_expired = group.policy.dead_letter_expired;
  item.clients = clients;
  return item;
}

void merge(const GroupPart& from, GroupPart& into) {
  for (const auto& [number, part] : from.sums) {
    api::GroupItem& sum = into.sums[number];
    sum.generations.insert(part.generations.begin(), part.generations.end());
    sum.known = sum.known && part.known;
    sum.lag += part.lag;
    sum.pending += part.pending;
    sum.in_flight += part.in_flight;
    sum.waiting += part.waiting;
    sum.dead_letters += part.dead_letters;
    sum.gone += part.gone;
  }
}

void with_sums(Node& node, Executor& home, ReportDone<GroupPart> done) {
  gather_reports<GroupPart>(
      node, home,
      [](ShardUnit& unit, ReportDone<GroupPart> answer) {
        unit.shard->report<GroupPart>(
            [&unit] {
              GroupPart part;
              for (const auto& key : unit.shard->dispatcher().keys()) add_progress(unit, key, part);
              return part;
            },
            std::move(answer));
      },
      [done = std::move(done)](const Result<std::vector<GroupPart>>& parts) mutable {
        if (!parts) {
          done(fail(parts));
          return;
        }
        GroupPart all;
        for (const GroupPart& part : *parts) merge(part, all);
        done(std::move(all));
      });
}

using ViewsDone = std::move_only_function<void(std::map<std::string, SessionView>)>;

void with_sessions(Node& node, Executor& home, ViewsDone done) {
  gather<std::vector<SessionView>>(
      node, home,
      [](ShardUnit& unit, std::move_only_function<void(std::vector<SessionView>)> answer) {
        answer(unit.sessions->views());
      },
      [done = std::move(done)](std::vector<std::vector<SessionView>> parts) mutable {
        std::map<std::string, SessionView> all;
        for (auto& part : parts) {
          for (SessionView& view : part) all[view.client_id] = std::move(view);
        }
        done(std::move(all));
      });
}

}  // namespace

void Edge::groups(std::optional<std::string> topic, api::Done<std::vector<api::GroupItem>> done) {
  if (topic) {
    if (auto found = require_topic(*topic); !found) {
      answer_later<std::vector<api::GroupItem>>(std::move(done), fail(found));
      return;
    }
  }
  with_sums(node_, executor(),
            [this, topic, done = std::move(done)](const Result<GroupPart>& all) mutable {
              if (!all) {
                done(fail(all));
                return;
              }
              std::vector<api::GroupItem> items;
              for (const GroupPtr& group : catalog().groups(topic.value_or(""))) {
                const auto clients =
                    catalog().subscriptions_of_group(group->topic, group->name).size();
                items.push_back(item_of(*group, clients, *all));
              }
              done(std::move(items));
            });
}

void Edge::group(std::string topic, std::string group, api::Done<api::GroupItem> done) {
  auto found = require_group(topic, group);
  if (!found) {
    answer_later<api::GroupItem>(std::move(done), fail(found));
    return;
  }
  with_sums(node_, executor(),
            [this, at = *found, done = std::move(done)](const Result<GroupPart>& all) mutable {
              if (!all) {
                done(fail(all));
                return;
              }
              const auto clients = catalog().subscriptions_of_group(at->topic, at->name).size();
              done(item_of(*at, clients, *all));
            });
}

void Edge::patch_group(api::GroupPatch patch, api::Done<api::GroupPatched> done) {
  auto found = require_group(patch.topic, patch.group);
  if (!found) {
    answer_later<api::GroupPatched>(std::move(done), fail(found));
    return;
  }
  const std::string topic = patch.topic;
  const std::string name = patch.group;
  auto audit = std::make_shared<std::string>();
  change<std::string>(
      audit,
      [patch = std::move(patch)](const Catalog& catalog, Numbers&) -> Result<Plan> {
        const GroupPtr present = catalog.group(patch.topic, patch.group);
        if (!present) {
          return fail(ErrorCode::kGroupUnknown,
                      fmt::format("topic {} has no group {}", patch.topic, patch.group));
        }
        auto changed = patched(*present, patch);
        if (!changed) return fail(changed);
        if (changed->policy.mode != delivery::Mode::kClustering) {
          for (const SubscriptionPtr& one :
               catalog.subscriptions_of_group(patch.topic, patch.group)) {
            if (one->client_id == patch.group) continue;
            return fail(ErrorCode::kBadValue,
                        fmt::format("in mode {} a group is its client's own; {} is in it",
                                    mode_name(changed->policy.mode), one->client_id),
                        "Leave mode as it is.", "mode");
          }
        }
        auto group = std::make_shared<const Group>(std::move(*changed));
        Plan plan;
        plan.writes.push_back({group_key(patch.topic, patch.group), encode(*group), {}});
        plan.delta.emplace_back(GroupPtr(group));
        return plan;
      },
      [this, topic, name, done = std::move(done)](Result<std::string> outcome) mutable {
        if (!outcome) {
          done(fail(outcome));
          return;
        }
        std::string audit_id =
            node_.audit().record("group.patch", fmt::format("{}/{}", topic, name), {});
        group(topic, name,
              [audit_id = std::move(audit_id),
               done = std::move(done)](Result<api::GroupItem> item) mutable {
                if (!item) {
                  done(fail(item));
                } else {
                  done(api::GroupPatched{std::move(*item), std::move(audit_id)});
                }
              });
      });
}

void Edge::delete_group(std::string topic, std::string group, bool force,
                        api::Done<api::Removed> done) {
  auto found = require_group(topic, group);
  if (!found) {
    answer_later<api::Removed>(std::move(done), fail(found));
    return;
  }
  with_sessions(
      node_, executor(),
      [this, at = *found, force,
       done = std::move(done)](std::map<std::string, SessionView> views) mutable {
        std::string live;
        const std::int64_t now = executor().clock().wall().value();
        for (const SubscriptionPtr& one : catalog().subscriptions_of_group(at->topic, at->name)) {
          const auto view = views.find(one->client_id);
          if (view == views.end()) continue;
          const bool fresh = now - view->second.last_seen.value() < node_.options().client_idle_ms;
          if (view->second.connected || fresh) live = one->client_id;
        }
        if (!live.empty() && !force) {
          done(fail(ErrorCode::kInUse,
                    fmt::format("group {} of {} has live clients, {} among them", at->name,
                                at->topic, live),
                    "Unsubscribe them first, or say force=true.", "group"));
          return;
        }
        auto out = std::make_shared<api::Removed>();
        change<api::Removed>(
            out,
            [out, topic_name = at->topic, name = at->name](const Catalog& catalog_now,
                                                           Numbers&) -> Result<Plan> {
              Plan plan;
              const GroupPtr present = catalog_now.group(topic_name, name);
              if (!present) return plan;
              plan_remove_group(catalog_now, *present, plan);
              out->removed = true;
              return plan;
            },
            audited("group.delete", fmt::format("{}/{}", at->topic, at->name), std::move(done)));
      });
}

void Edge::subscriptions(std::optional<std::string> topic,
                         api::Done<std::vector<api::SubscriptionItem>> done) {
  std::vector<api::SubscriptionItem> items;
  for (const SubscriptionPtr& one : catalog().subscriptions(topic.value_or(""))) {
    const GroupPtr group = catalog().group(one->topic, one->group);
    api::SubscriptionItem item;
    item.subscription_id = subscription_id(*one);
    item.client_id = one->client_id;
    item.topic = one->topic;
    item.group = one->group;
    if (group) {
      item.mode = group->policy.mode;
      item.filter_json = group->filter_json;
    }
    for (const PartitionIndex index : one->partitions) item.partitions.push_back(index.value());
    item.instance = one->instance;
    item.since = one->created_at;
    items.push_back(std::move(item));
  }
  answer_later<std::vector<api::SubscriptionItem>>(std::move(done), std::move(items));
}

void Edge::clients(std::optional<std::string> topic, api::Done<std::vector<api::ClientItem>> done) {
  with_sessions(
      node_, executor(),
      [this, topic, done = std::move(done)](std::map<std::string, SessionView> views) mutable {
        gather<std::vector<delivery::ClientReport>>(
            node_, executor(),
            [](ShardUnit& unit,
               std::move_only_function<void(std::vector<delivery::ClientReport>)> answer) {
              answer(unit.shard->dispatcher().clients());
            },
            [this, topic, views = std::move(views), done = std::move(done)](
                const std::vector<std::vector<delivery::ClientReport>>& parts) mutable {
              std::map<ClientNumber, delivery::ClientReport> sums;
              for (const auto& part : parts) {
                for (const delivery::ClientReport& report : part) {
                  delivery::ClientReport& sum = sums[report.client];
                  sum.in_flight += report.in_flight;
                  sum.in_flight_bytes += report.in_flight_bytes;
                }
              }
              std::vector<api::ClientItem> items;
              for (const SubscriptionPtr& one : catalog().subscriptions(topic.value_or(""))) {
                api::ClientItem item;
                item.client_id = one->client_id;
                item.topic = one->topic;
                item.group = one->group;
                const delivery::ClientReport& sum = sums[one->number];
                item.in_flight = sum.in_flight;
                item.in_flight_bytes = sum.in_flight_bytes;
                item.credit_events =
                    one->max_in_flight - std::min<std::uint64_t>(one->max_in_flight, sum.in_flight);
                const auto view = views.find(one->client_id);
                if (view != views.end()) {
                  item.channel = view->second.channel;
                  item.connected = view->second.connected;
                  item.last_seen = view->second.last_seen;
                  item.remote = view->second.remote;
                }
                items.push_back(std::move(item));
              }
              done(std::move(items));
            });
      });
}

void Edge::reject_client(std::string client_id, api::Done<api::Removed> done) {
  if (catalog().subscriptions_of_client(client_id).empty()) {
    answer_later<api::Removed>(
        std::move(done),
        fail(ErrorCode::kClientUnknown, fmt::format("{} has no subscription", client_id),
             "See /admin/clients.", "clientId"));
    return;
  }
  ShardUnit& home = node_.home(client_id);
  run_on(home.executor, [&home, client_id] {
    home.sessions->end_channels(client_id, channel::EndReason::kRejected);
  });
  auto audit_id = node_.audit().record("client.reject", client_id, {});
  unsubscribe(std::move(client_id), std::nullopt, {},
              [audit_id, done = std::move(done)](Result<api::Unsubscribed> outcome) mutable {
                if (!outcome) {
                  done(fail(outcome));
                } else {
                  done(api::Removed{outcome->removed, audit_id});
                }
              });
}

}  // namespace ackline::runtime

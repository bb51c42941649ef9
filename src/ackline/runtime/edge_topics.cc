// Topics: list, describe, create, delete.
#include <fmt/format.h>

#include "ackline/event/names.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/plans.h"
#include "ackline/runtime/removals.h"

namespace ackline::runtime {
namespace {

// What a shard knows of its partitions, by number.
struct PartitionView {
  std::uint64_t bytes = 0;
  api::PartitionOffsets offsets;
};
using PartitionViews = std::map<std::uint32_t, PartitionView>;

PartitionViews views_of(ShardUnit& unit, const std::vector<TopicPtr>& topics) {
  PartitionViews views;
  const bool poisoned = unit.shard->health().poisoned;
  for (const TopicPtr& topic : topics) {
    for (const auto* numbers : {&topic->partitions, &topic->dead_letters}) {
      for (const PartitionNumber number : *numbers) {
        const log::PartitionLog* log = unit.shard->partition(number);
        if (log == nullptr) continue;
        PartitionView& view = views[number.value()];
        view.bytes = log->stored_bytes();
        view.offsets.log_start = log->log_start();
        view.offsets.high_watermark = log->high_watermark();
        if (log->damage()) {
          view.offsets.state = api::PartitionState::kQuarantined;
        } else if (poisoned) {
          view.offsets.state = api::PartitionState::kPoisoned;
        }
      }
    }
  }
  return views;
}

api::TopicItem item_of(const Topic& topic, bool dead_letter, const PartitionViews& views) {
  api::TopicItem item;
  item.name = dead_letter ? event::dlq_topic(topic.name) : topic.name;
  item.partitions = static_cast<std::uint32_t>(topic.partitions.size());
  item.partitioner = std::string(event::partitioner_name(topic.partitioner));
  item.dlq = dead_letter;
  if (!dead_letter) item.retention = topic.retention;
  const auto& numbers = dead_letter ? topic.dead_letters : topic.partitions;
  for (std::uint32_t i = 0; i < numbers.size(); ++i) {
    const auto view = views.find(numbers[i].value());
    if (view == views.end()) continue;
    item.bytes += view->second.bytes;
    item.offsets[i] = view->second.offsets;
  }
  return item;
}

void with_views(Node& node, Executor& home, std::vector<TopicPtr> topics,
                std::move_only_function<void(const PartitionViews&)> done) {
  gather<PartitionViews>(
      node, home,
      [topics = std::move(topics)](ShardUnit& unit,
                                   std::move_only_function<void(PartitionViews)> answer) {
        // Also when nothing can be synced: the state says so, and the high watermark is of synced
        // records only.
        unit.shard->report_anyway<PartitionViews>(
            [&unit, topics] { return views_of(unit, topics); }, std::move(answer));
      },
      [done = std::move(done)](std::vector<PartitionViews> parts) mutable {
        PartitionViews all;
        for (PartitionViews& part : parts) all.merge(part);
        done(all);
      });
}

}  // namespace

void Edge::topics(api::Done<std::vector<api::TopicItem>> done) {
  const std::vector<TopicPtr> all = catalog().topics();
  with_views(node_, executor(), all,
             [all, done = std::move(done)](const PartitionViews& views) mutable {
               std::vector<api::TopicItem> items;
               for (const TopicPtr& topic : all) {
                 items.push_back(item_of(*topic, false, views));
                 items.push_back(item_of(*topic, true, views));
               }
               done(std::move(items));
             });
}

void Edge::topic(std::string name, api::Done<api::TopicItem> done) {
  bool dead_letter = false;
  const TopicPtr found = catalog().topic_or_source(name, dead_letter);
  if (!found) {
    auto missing = require_topic(name);
    answer_later<api::TopicItem>(
        std::move(done),
        missing ? Result<api::TopicItem>(fail(ErrorCode::kTopicUnknown, "there is no such topic"))
                : Result<api::TopicItem>(fail(missing)));
    return;
  }
  with_views(node_, executor(), {found},
             [found, dead_letter, done = std::move(done)](const PartitionViews& views) mutable {
               done(item_of(*found, dead_letter, views));
             });
}

void Edge::create_topic(api::TopicCreate request, api::Done<api::TopicItem> done) {
  std::string name = request.name;
  auto made = std::make_shared<TopicPtr>();
  change<TopicPtr>(
      made, plan_topic(node_.options(), std::move(request), false, executor().clock().wall(), made),
      [this, name = std::move(name), done = std::move(done)](Result<TopicPtr> outcome) mutable {
        if (!outcome) {
          done(fail(outcome));
          return;
        }
        node_.audit().record("topic.create", name, {});
        topic(std::move(name), std::move(done));
      });
}

void Edge::delete_topic(std::string name, bool force, api::Done<api::Removed> done) {
  if (auto fine = event::check_topic_name(name); !fine) {
    answer_later<api::Removed>(std::move(done), fail(fine));
    return;
  }
  auto found = require_topic(name);
  if (!found) {
    answer_later<api::Removed>(std::move(done), fail(found));
    return;
  }
  // Dead entries count as use: they are what an operator would miss.
  gather<std::uint64_t>(
      node_, executor(),
      [at = *found](ShardUnit& unit, std::move_only_function<void(std::uint64_t)> answer) {
        std::uint64_t dead = 0;
        for (const delivery::ProgressKey& key : unit.shard->dispatcher().keys()) {
          if (std::ranges::find(at->partitions, key.partition) == at->partitions.end()) continue;
          if (const auto report = unit.shard->dispatcher().progress(key)) dead += report->dead;
        }
        answer(dead);
      },
      [this, name, force, done = std::move(done)](const std::vector<std::uint64_t>& parts) mutable {
        std::uint64_t dead = 0;
        for (const std::uint64_t part : parts) dead += part;
        auto out = std::make_shared<api::Removed>();
        change<api::Removed>(
            out,
            [out, name, force, dead](const Catalog& catalog, Numbers&) -> Result<Plan> {
              const TopicPtr topic = catalog.topic(name);
              if (!topic) {
                return fail(ErrorCode::kTopicUnknown, fmt::format("there is no topic {}", name));
              }
              const auto groups = catalog.groups(name).size();
              if (!force && (groups > 0 || dead > 0)) {
                return fail(
                    ErrorCode::kInUse,
                    fmt::format("topic {} has {} groups and {} dead letters", name, groups, dead),
                    "Delete them first, or say force=true.", "topic");
              }
              Plan plan;
              plan_remove_topic(catalog, *topic, plan);
              out->removed = true;
              return plan;
            },
            audited("topic.delete", name, std::move(done)));
      });
}

}  // namespace ackline::runtime

#include "ackline/runtime/edge.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/event/names.h"
#include "ackline/runtime/plans.h"

namespace ackline::runtime {

Edge::Edge(Node& node, ShardIndex here) : node_(node), here_(here) {}

Result<TopicPtr> Edge::require_topic(std::string_view name) {
  if (auto fine = event::check_any_topic_name(name); !fine) return fail(fine);
  TopicPtr topic = catalog().topic(name);
  if (topic) return topic;
  return fail(ErrorCode::kTopicUnknown, fmt::format("there is no topic {}", name),
              "Create it, or publish to it.", "topic");
}

Result<GroupPtr> Edge::require_group(std::string_view topic, std::string_view group) {
  if (auto found = require_topic(topic); !found) return fail(found);
  if (auto fine = event::check_group_name(group); !fine) return fail(fine);
  GroupPtr found = catalog().group(topic, group);
  if (found) return found;
  return fail(ErrorCode::kGroupUnknown, fmt::format("topic {} has no group {}", topic, group),
              "Subscribe to it first, or see /admin/groups.", "group");
}

api::Done<api::Removed> Edge::audited(std::string what, std::string subject,
                                      api::Done<api::Removed> done) {
  return [this, what = std::move(what), subject = std::move(subject),
          done = std::move(done)](Result<api::Removed> removed) mutable {
    if (removed && removed->removed) removed->audit_id = node_.audit().record(what, subject, {});
    done(std::move(removed));
  };
}

void Edge::ensure_topic(std::string name, api::Done<TopicPtr> done) {
  if (auto fine = event::check_topic_name(name); !fine) {
    answer_later<TopicPtr>(std::move(done), fail(fine));
    return;
  }
  if (TopicPtr topic = catalog().topic(name)) {
    done(std::move(topic));
    return;
  }
  if (!node_.options().auto_create) {
    answer_later<TopicPtr>(
        std::move(done), fail(ErrorCode::kTopicUnknown, fmt::format("there is no topic {}", name),
                              "Create it: POST /admin/topics, or set topic.autoCreate.", "topic"));
    return;
  }
  api::TopicCreate request;
  request.name = std::move(name);
  auto made = std::make_shared<TopicPtr>();
  change<TopicPtr>(
      made, plan_topic(node_.options(), std::move(request), true, executor().clock().wall(), made),
      std::move(done));
}

namespace {

struct ResolvedPart {
  std::map<std::uint32_t, Offset> offsets;
  std::optional<Error> error;
};

// Where a damaged log begins and ends is not known. All that it may have is from 0 on, so a group
// may start there; what is opened again is refused by the partition itself.
void resolve_damaged(const log::PartitionLog& log, std::uint32_t index,
                     const api::Position& position, bool starts, ResolvedPart& part) {
  const auto* named = std::get_if<api::AtOffsets>(&position);
  if (named != nullptr && !named->all && !named->some.contains(index)) return;
  if (starts && !std::holds_alternative<api::Earliest>(position)) {
    part.error = *log.damage();
  } else {
    part.offsets[index] = Offset{0};
  }
}

}  // namespace

void Edge::resolve(const TopicPtr& topic, api::Position position, std::vector<std::uint32_t> only,
                   Resolve what, api::Done<std::map<std::uint32_t, Offset>> done) {
  if (auto fine = check_position(*topic, position); !fine) {
    answer_later<std::map<std::uint32_t, Offset>>(std::move(done), fail(fine));
    return;
  }
  using Part = ResolvedPart;
  struct Collecting {
    Part part;
    std::size_t left = 1;
    std::move_only_function<void(Part)> answer;
    void finish() {
      if (--left == 0) answer(std::move(part));
    }
  };
  gather<Part>(
      node_, executor(),
      [topic, position, only = std::move(only), what](ShardUnit& unit,
                                                      std::move_only_function<void(Part)> answer) {
        auto all = std::make_shared<Collecting>();
        all->answer = std::move(answer);
        for (std::uint32_t i = 0; i < topic->partitions.size(); ++i) {
          if (!only.empty() && std::ranges::find(only, i) == only.end()) continue;
          const PartitionNumber number = topic->partitions[i];
          log::PartitionLog* log = unit.shard->partition(number);
          if (log == nullptr) continue;
          ++all->left;
          auto attempt = [all, i, position, what, number, shard = unit.shard.get()] {
            log::PartitionLog* at = shard->partition(number);
            if (at == nullptr) {
              all->finish();
              return true;
            }
            if (at->damage()) {
              resolve_damaged(*at, i, position, what == Resolve::kStart, all->part);
              all->finish();
              return true;
            }
            auto offset = offset_of_position(*at, i, position, what == Resolve::kReset);
            if (!offset && offset.error().code == ErrorCode::kTimeout) return false;
            if (!offset) {
              all->part.error = offset.error();
            } else if (*offset) {
              all->part.offsets[i] = **offset;
            }
            all->finish();
            return true;
          };
          if (const auto* at_time = std::get_if<api::AtTime>(&position)) {
            unit.shard->read_cold_time(number, at_time->time, std::move(attempt));
          } else {
            attempt();
          }
        }
        all->finish();
      },
      [done = std::move(done)](std::vector<Part> parts) mutable {
        std::map<std::uint32_t, Offset> all;
        for (Part& part : parts) {
          if (part.error) {
            done(std::unexpected(*part.error));
            return;
          }
          all.merge(part.offsets);
        }
        done(std::move(all));
      });
}

Result<void> check_position(const Topic& topic, const api::Position& position) {
  const auto* named = std::get_if<api::AtOffsets>(&position);
  if (named == nullptr || named->some.empty()) return {};
  const std::uint32_t highest = named->some.rbegin()->first;
  if (highest < topic.partitions.size()) return {};
  return fail(ErrorCode::kBadValue,
              fmt::format("partition {} is out of range: {} has {}", highest, topic.name,
                          topic.partitions.size()),
              "Name partitions that the topic has.", "offsets");
}

Result<std::optional<Offset>> offset_of_position(log::PartitionLog& log, std::uint32_t partition,
                                                 const api::Position& position, bool strict) {
  const Offset end = log.high_watermark().next();
  const auto checked = [&](Offset offset) -> Result<std::optional<Offset>> {
    if (offset < log.log_start() || offset > end) {
      return fail(ErrorCode::kBadValue,
                  fmt::format("offset {} is outside partition {}: it has {} to {}", offset.value(),
                              partition, log.log_start().value(), end.value()),
                  "Name an offset that is in the log, or the next one.", "offset");
    }
    return std::optional<Offset>(offset);
  };
  if (std::holds_alternative<api::Earliest>(position)) return std::optional(log.log_start());
  if (std::holds_alternative<api::Latest>(position)) return std::optional(end);
  if (const auto* at = std::get_if<api::AtTime>(&position)) {
    auto offset = log.offset_at_time(at->time);
    if (!offset) return fail(offset);
    return std::optional<Offset>(*offset);
  }
  const auto& offsets = std::get<api::AtOffsets>(position);
  if (offsets.all) {
    if (strict) return checked(*offsets.all);
    return std::optional(std::clamp(*offsets.all, log.log_start(), end));
  }
  const auto named = offsets.some.find(partition);
  if (named == offsets.some.end()) return std::optional<Offset>();
  return checked(named->second);
}

void Edge::drain(bool on, api::Done<api::DrainState> done) {
  node_.set_draining(on);
  drain_progress(std::move(done));
}

void Edge::drain_progress(api::Done<api::DrainState> done) {
  node_.count_in_flight(executor(),
                        [this, done = std::move(done)](std::uint64_t in_flight) mutable {
                          api::DrainState state;
                          state.state = node_.draining() ? "draining" : "serving";
                          state.in_flight = in_flight;
                          done(std::move(state));
                        });
}

std::vector<api::HealthCheck> Edge::readiness() const {
  return node_.readiness();
}

}  // namespace ackline::runtime

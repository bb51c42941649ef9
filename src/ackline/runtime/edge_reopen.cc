// Replay and reset: a new generation of the partitions that are named (invariants 5 and 18, J13).
#include <fmt/format.h>

#include "ackline/io/failpoint.h"
#include "ackline/runtime/edge.h"

namespace ackline::runtime {
namespace {

using Answers = std::map<std::uint32_t, Result<api::ReopenPartition>>;

Result<api::ReopenPartition> reopen_one(ShardUnit& unit, const delivery::ProgressKey& key,
                                        Offset to, const api::ReopenQuery& query) {
  log::PartitionLog* log = unit.shard->partition(key.partition);
  if (log == nullptr) return fail(ErrorCode::kTopicUnknown, "the topic was deleted");
  if (log->damage()) return std::unexpected(*log->damage());
  delivery::Dispatcher& dispatcher = unit.shard->dispatcher();
  auto report = query.reset ? dispatcher.reset(key, to, query.dry_run, unit.shard->now())
                            : dispatcher.replay(key, to, query.dry_run, unit.shard->now());
  if (!report) return fail(report);
  api::ReopenPartition out;
  out.report = *report;
  out.events = report->reopened;
  if (!report->ranges.empty()) {
    out.first = report->ranges.front().first;
    out.last = report->ranges.back().last;
  }
  for (const OffsetRange& range : report->ranges) {
    out.bytes += log->bytes_between(range.first, range.last.next()).bytes;
  }
  return out;
}

}  // namespace

void Edge::reopen(api::ReopenQuery query, api::Done<api::ReopenAnswer> done) {
  auto group = require_group(query.topic, query.group);
  if (!group) {
    answer_later<api::ReopenAnswer>(std::move(done), fail(group));
    return;
  }
  const TopicPtr topic = catalog().topic(query.topic);
  for (const std::uint32_t index : query.partitions) {
    if (index < topic->partitions.size()) continue;
    answer_later<api::ReopenAnswer>(
        std::move(done),
        fail(ErrorCode::kBadValue, fmt::format("partition {} is out of range", index),
             "Name partitions that the topic has.", "partitions"));
    return;
  }
  if (query.is_lane()) {
    replay_lane(topic, std::move(*group), std::move(query), std::move(done));
    return;
  }
  const api::Position position = query.to;
  const Resolve what = query.reset ? Resolve::kReset : Resolve::kReplay;
  // Partitions that are not named may be shorter, damaged or cold: they are not asked.
  std::vector<std::uint32_t> only = query.partitions;
  resolve(topic, position, std::move(only), what,
          [this, topic, query = std::move(query), group = *group,
           done = std::move(done)](Result<std::map<std::uint32_t, Offset>> offsets) mutable {
            if (!offsets) {
              done(fail(offsets));
              return;
            }
            auto shared = std::make_shared<const api::ReopenQuery>(query);
            gather<Answers>(
                node_, executor(),
                [topic, shared, offsets = std::move(*offsets), number = group->number](
                    ShardUnit& unit, std::move_only_function<void(Answers)> answer) {
                  auto answers = std::make_shared<Answers>();
                  for (const auto& [index, to] : offsets) {
                    const PartitionNumber partition = topic->partitions[index];
                    if (!unit.shard->owns(partition)) continue;
                    answers->emplace(index, reopen_one(unit, {number, partition}, to, *shared));
                  }
                  if (answers->empty() || shared->dry_run) {
                    answer(std::move(*answers));
                    return;
                  }
                  io::failpoint(io::Failpoint::kReopened);
                  unit.shard->after_sync(
                      [answers, answer = std::move(answer)](const Error* error) mutable {
                        if (error != nullptr) {
                          for (auto& [index, one] : *answers) one = std::unexpected(*error);
                        }
                        answer(std::move(*answers));
                      });
                },
                [this, shared, done = std::move(done)](std::vector<Answers> parts) mutable {
                  api::ReopenAnswer answer;
                  for (Answers& part : parts) answer.partitions.merge(part);
                  if (!shared->dry_run) {
                    answer.audit_id = node_.audit().record(
                        shared->reset ? "group.reset" : "group.replay",
                        fmt::format("{}/{}", shared->topic, shared->group), {});
                  }
                  done(std::move(answer));
                });
          });
}

}  // namespace ackline::runtime

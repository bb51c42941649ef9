// Explain: what blocks each partition of a group, with the event's own names.
#include <fmt/format.h>

#include "ackline/event/frame.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/lag_capture.h"

namespace ackline::runtime {
namespace {

struct Explaining {
  std::map<std::uint32_t, api::ExplainPartition> partitions;
  std::size_t left = 1;
  std::move_only_function<void(std::map<std::uint32_t, api::ExplainPartition>)> done;
  void finish() {
    if (--left == 0) done(std::move(partitions));
  }
};

// What one partition's blocker is, without the event's own names.
api::ExplainPartition capture_explain(ShardUnit& unit, const delivery::ProgressKey& key,
                                      const delivery::DeliveryIdCodec& ids) {
  api::ExplainPartition out;
  if (const auto part = capture_lag(unit, key)) out.lag = part->lag;
  out.blocker = unit.shard->dispatcher().blocker(key, unit.shard->now());
  if (out.blocker.id) ids.encode(*out.blocker.id, out.delivery_id);
  if (out.blocker.since) {
    const std::int64_t for_ms = unit.shard->now().value() - out.blocker.since->value();
    out.for_seconds = static_cast<double>(std::max<std::int64_t>(0, for_ms)) / 1000.0;
    out.since = WallMs(unit.shard->wall().value() - for_ms);
  }
  const log::PartitionLog* log = unit.shard->partition(key.partition);
  if (log != nullptr && log->damage()) {
    out.quarantined = true;
    out.quarantine_detail = log->damage()->detail;
  }
  return out;
}

// How many of the group's clients whose home is here are there; a poller between two polls is, too.
std::uint64_t clients_there(const ShardUnit& unit, const std::vector<SubscriptionPtr>& members,
                            std::int64_t idle_ms) {
  std::uint64_t count = 0;
  for (const SessionView& view : unit.sessions->views()) {
    const bool fresh = unit.shard->wall().value() - view.last_seen.value() < idle_ms;
    if (!view.connected && !fresh) continue;
    for (const SubscriptionPtr& one : members) {
      if (one->client_id == view.client_id) ++count;
    }
  }
  return count;
}

// Adds id, type and key of each blocking event.
void add_events(
    ShardUnit& unit, const TopicPtr& topic,
    std::map<std::uint32_t, api::ExplainPartition> partitions,
    std::move_only_function<void(std::map<std::uint32_t, api::ExplainPartition>)> done) {
  auto explaining = std::make_shared<Explaining>();
  explaining->partitions = std::move(partitions);
  explaining->done = std::move(done);
  for (auto& [index, partition] : explaining->partitions) {
    if (partition.blocker.caught_up || partition.quarantined) continue;
    const PartitionNumber number = topic->partitions[index];
    const Offset offset = partition.blocker.offset;
    ++explaining->left;
    unit.shard->read_cold(
        number, offset, [explaining, number, offset, at = index, shard = unit.shard.get()] {
          log::PartitionLog* log = shard->partition(number);
          if (log != nullptr) {
            auto batch = log->read(offset, {.max_events = 1, .max_bytes = 1});
            if (!batch && batch.error().code == ErrorCode::kTimeout) return false;
            if (batch && !batch->events.empty() && batch->events.front().offset == offset) {
              if (auto frame = event::FrameView::open(batch->events.front().frame)) {
                api::ExplainPartition& out = explaining->partitions[at];
                out.event_id = frame->get("id");
                out.event_type = frame->get("type");
                if (const auto event_key = frame->find("partitionkey")) {
                  out.event_key = std::string(event_key->value);
                }
              }
            }
          }
          explaining->finish();
          return true;
        });
  }
  explaining->finish();
}

}  // namespace

void Edge::explain(std::string topic, std::string group, std::optional<std::uint32_t> partition,
                   api::Done<api::ExplainAnswer> done) {
  auto found = require_group(topic, group);
  if (!found) {
    answer_later<api::ExplainAnswer>(std::move(done), fail(found));
    return;
  }
  const TopicPtr of = catalog().topic(topic);
  if (partition && *partition >= of->partitions.size()) {
    answer_later<api::ExplainAnswer>(
        std::move(done),
        fail(ErrorCode::kBadValue, fmt::format("partition {} is out of range", *partition),
             "Name a partition that the topic has.", "partition"));
    return;
  }
  struct Part {
    std::map<std::uint32_t, api::ExplainPartition> partitions;
    std::uint64_t connected = 0;
  };
  const auto members = catalog().subscriptions_of_group(topic, group);
  gather_reports<Part>(
      node_, executor(),
      [of, members, partition, number = (*found)->number, ids = &node_.deps().ids,
       idle_ms = node_.options().client_idle_ms](ShardUnit& unit, ReportDone<Part> answer) {
        auto part = std::make_shared<Part>();
        part->connected = clients_there(unit, members, idle_ms);
        using Map = std::map<std::uint32_t, api::ExplainPartition>;
        unit.shard->report<Map>(
            [&unit, of, partition, number, ids] {
              Map all;
              for (std::uint32_t i = 0; i < of->partitions.size(); ++i) {
                if (partition && *partition != i) continue;
                if (!unit.shard->owns(of->partitions[i])) continue;
                all[i] = capture_explain(unit, {number, of->partitions[i]}, *ids);
              }
              return all;
            },
            [&unit, of, part, answer = std::move(answer)](Result<Map> all) mutable {
              if (!all) {
                answer(fail(all));
                return;
              }
              add_events(unit, of, std::move(*all),
                         [part, answer = std::move(answer)](Map filled) mutable {
                           part->partitions = std::move(filled);
                           answer(std::move(*part));
                         });
            });
      },
      [at = executor().clock().wall(),
       done = std::move(done)](Result<std::vector<Part>> parts) mutable {
        if (!parts) {
          done(fail(parts));
          return;
        }
        api::ExplainAnswer answer;
        answer.as_of = at;
        for (Part& part : *parts) {
          answer.partitions.merge(part.partitions);
          answer.clients += part.connected;
        }
        for (auto& [index, one] : answer.partitions) {
          one.blocker.has_client = one.blocker.has_client || answer.clients > 0;
        }
        done(std::move(answer));
      });
}

}  // namespace ackline::runtime

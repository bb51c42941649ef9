// What `/metrics` shows of progress.
#include "ackline/base/metric_names.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/node.h"
#include "ackline/runtime/progress_math.h"

namespace ackline::runtime {
namespace {

struct GroupSums {
  bool known = true;  // false: a partition is quarantined, and sums are nobody's numbers
  double lag = 0;
  double pending = 0;
  double in_flight = 0;
  double holes = 0;
  double stuck = 0;
  std::map<std::uint32_t, std::optional<Offset>> frontiers;
};

using ShardSums = std::map<ProgressNumber, GroupSums>;

// On the shard's thread.
ShardSums shard_sums(ShardUnit& unit) {
  ShardSums sums;
  const Catalog& catalog = unit.shard->catalog();
  for (const delivery::ProgressKey& key : unit.shard->dispatcher().keys()) {
    const auto report = unit.shard->dispatcher().progress(key);
    const GroupPtr group = catalog.group(key.progress);
    const auto place = catalog.place(key.partition);
    const log::PartitionLog* log = unit.shard->partition(key.partition);
    if (!report || !group || !place || log == nullptr) continue;
    if (log->damage()) {
      sums[key.progress].known = false;
      sums[key.progress].frontiers[place->index.value()] = std::nullopt;
      continue;
    }
    api::PartitionLag lag;
    lag.report = *report;
    lag.log_start = log->log_start();
    lag.high_watermark = log->high_watermark();
    fill_lag(lag);
    GroupSums& sum = sums[key.progress];
    sum.lag += static_cast<double>(lag.lag);
    sum.pending += static_cast<double>(lag.pending);
    sum.in_flight += static_cast<double>(report->in_flight);
    sum.holes += static_cast<double>(report->holes);
    sum.frontiers[place->index.value()] = report->frontier;
  }
  for (const delivery::StuckReport& one : unit.shard->dispatcher().stuck()) {
    ++sums[one.group].stuck;
  }
  return sums;
}

// Null: not known, so not there (invariant 8).
void show(MetricRegistry& metrics, const MetricSpec& spec, MetricLabels labels,
          std::optional<double> value) {
  if (value) {
    metrics.gauge(spec, labels)->set(*value);
  } else {
    metrics.remove(spec, labels);
  }
}

void set_group_gauges(MetricRegistry& metrics, const Group& group, const GroupSums& sum) {
  const MetricLabels labels = {{"topic", group.topic}, {"group", group.name}};
  const auto told = [&sum](double value) {
    return sum.known ? std::optional(value) : std::nullopt;
  };
  show(metrics, metric::kGroupLag, labels, told(sum.lag));
  show(metrics, metric::kGroupPending, labels, told(sum.pending));
  show(metrics, metric::kInflight, labels, told(sum.in_flight));
  show(metrics, metric::kHoles, labels, told(sum.holes));
  metrics.gauge(metric::kGroupStuck, labels)->set(sum.stuck);
  for (const auto& [index, frontier] : sum.frontiers) {
    show(metrics, metric::kGroupFrontier,
         {{"topic", group.topic}, {"group", group.name}, {"partition", std::to_string(index)}},
         frontier ? std::optional(static_cast<double>(frontier->value())) : std::nullopt);
  }
}

}  // namespace

void Node::refresh_gauges(Task done) {
  auto shared = std::make_shared<Task>(std::move(done));
  run_on(control_executor(), [this, shared] {
    gather_reports<ShardSums>(
        *this, control_executor(),
        [this](ShardUnit& unit, ReportDone<ShardSums> answer) {
          deps_.metrics
              .gauge(metric::kJournalBytes,
                     {{"shard", std::to_string(unit.shard->index().value())}})
              ->set(static_cast<double>(unit.shard->own_journal().journaled_bytes()));
          unit.shard->report<ShardSums>([&unit] { return shard_sums(unit); }, std::move(answer));
        },
        [this, shared](const Result<std::vector<ShardSums>>& parts) {
          MetricRegistry& metrics = deps_.metrics;
          // A shard that cannot sync says nothing of progress: the gauges stay as they were
          // (invariant 13), and readyz tells of it.
          if (parts) {
            ShardSums all;
            double in_flight = 0;
            bool known = true;
            for (const ShardSums& part : *parts) {
              for (const auto& [number, sum] : part) {
                GroupSums& total = all[number];
                total.known = total.known && sum.known;
                known = known && sum.known;
                total.lag += sum.lag;
                total.pending += sum.pending;
                total.in_flight += sum.in_flight;
                total.holes += sum.holes;
                total.stuck += sum.stuck;
                total.frontiers.insert(sum.frontiers.begin(), sum.frontiers.end());
                in_flight += sum.in_flight;
              }
            }
            for (const auto& [number, sum] : all) {
              const GroupPtr group = control_->catalog().group(number);
              if (group) set_group_gauges(metrics, *group, sum);
            }
            show(metrics, metric::kPendingDeliveries, {},
                 known ? std::optional(in_flight) : std::nullopt);
          }
          metrics.gauge(metric::kMetaCacheAge)
              ->set(static_cast<double>(deps_.subscriptions.cache_age_ms()) / 1000.0);
          refresh_ages(shared);
        });
  });
}

// Log sizes and the age of what waits longest come with a progress round.
void Node::refresh_ages(const std::shared_ptr<Task>& done) {
  Edge& edge = *units_.front()->edge;
  edge.lag(std::nullopt, std::nullopt, false,
           [this, done, &edge](Result<std::vector<api::GroupLag>> lags) {
             if (lags) {
               for (const api::GroupLag& one : *lags) {
                 std::optional<double> oldest = 0;
                 for (const auto& [index, part] : one.partitions) {
                   if (!part.known) oldest.reset();
                   if (oldest) oldest = std::max(*oldest, part.lag_seconds);
                 }
                 show(deps_.metrics, metric::kGroupOldestPending,
                      {{"topic", one.topic}, {"group", one.group}}, oldest);
               }
             }
             edge.topics([this, done](Result<std::vector<api::TopicItem>> topics) {
               if (topics) {
                 for (const api::TopicItem& one : *topics) {
                   deps_.metrics.gauge(metric::kLogBytes, {{"topic", one.name}})
                       ->set(static_cast<double>(one.bytes));
                 }
               }
               (*done)();
             });
           });
}

}  // namespace ackline::runtime

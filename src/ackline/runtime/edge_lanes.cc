// Lanes: started over all shards, watched, ended. What they hold is chosen by edge_dead_letters.cc
// (redrives) and edge_replay.cc (replays by filter).
#include <fmt/format.h>

#include <charconv>

#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/progress_math.h"

namespace ackline::runtime {
namespace {

api::LaneItem item_of(const Lane& lane) {
  api::LaneItem item;
  item.lane_id = fmt::format("r-{}", lane.number.value());
  item.kind = lane.kind == state::LaneKind::kReplay ? "replay" : "redrive";
  item.topic = lane.topic;
  item.group = lane.group;
  item.matched = lane.matched;
  item.started = lane.started;
  item.already_redriven = lane.already_redriven;
  item.state = lane.state == LaneState::kStarting  ? "starting"
               : lane.state == LaneState::kRunning ? "running"
                                                   : "done";
  item.offered = lane.offered;
  item.resolved = lane.resolved;
  item.dead_again = lane.dead_again;
  item.gone = lane.gone;
  item.filter_json = lane.filter_json;
  item.audit_id = lane.audit_id;
  return item;
}

Result<ProgressNumber> lane_number(std::string_view lane_id) {
  std::uint32_t number = 0;
  if (lane_id.starts_with("r-")) {
    const char* end = lane_id.data() + lane_id.size();
    const auto [stop, failed] = std::from_chars(lane_id.data() + 2, end, number);
    if (failed == std::errc() && stop == end && number > 0) return ProgressNumber(number);
  }
  return fail(ErrorCode::kNotFound, fmt::format("there is no lane {}", lane_id),
              "See /admin/lanes.", "laneId");
}

std::string audited_start(AuditLog& audit, const api::LaneItem& sum) {
  const bool replay = sum.kind == "replay";
  return audit.record(replay ? "group.replay" : "dlq.redrive",
                      replay ? fmt::format("{}/{}", sum.topic, sum.group) : sum.topic,
                      fmt::format("{{\"matched\":{}}}", sum.matched));
}

}  // namespace

// First in meta as `starting`, then the shards take their parts (invariant 18).
void Edge::start_lanes(std::vector<std::shared_ptr<Lane>> lanes, api::LaneItem sum,
                       api::Done<api::LaneItem> done) {
  sum.audit_id = audited_start(node_.audit(), sum);
  struct Starting {
    std::vector<LanePtr> lanes;
  };
  auto out = std::make_shared<Starting>();
  // Here, before `sum` moves on: which argument of a call is made first is not said.
  const std::string audit_id = sum.audit_id;
  change<Starting>(
      out,
      [out, lanes = std::move(lanes), audit_id](const Catalog& catalog,
                                                Numbers& numbers) -> Result<Plan> {
        Plan plan;
        for (const auto& lane : lanes) {
          if (catalog.group(lane->group_number) == nullptr) continue;  // deleted meanwhile
          lane->number = ProgressNumber(numbers.progress++);
          lane->audit_id = audit_id;
          plan.writes.push_back({lane_key(lane->number), encode(*lane), {}});
          plan.delta.emplace_back(LanePtr(lane));
          out->lanes.emplace_back(lane);
        }
        return plan;
      },
      [this, sum = std::move(sum), done = std::move(done)](Result<Starting> started) mutable {
        if (!started) {
          done(fail(started));
          return;
        }
        struct Waiting {
          api::LaneItem sum;
          std::size_t left;
          std::optional<Error> error;
          api::Done<api::LaneItem> done;
        };
        auto waiting = std::make_shared<Waiting>(
            Waiting{std::move(sum), started->lanes.size(), std::nullopt, std::move(done)});
        waiting->sum.started = 0;
        waiting->sum.state = "running";
        if (started->lanes.empty()) {
          waiting->sum.state = "done";
          waiting->done(std::move(waiting->sum));
          return;
        }
        for (const LanePtr& lane : started->lanes) {
          run_on(node_.control_executor(), [this, lane, waiting] {
            node_.start_lane_parts(lane, [this, waiting](Result<LanePtr> running) {
              run_on(executor(), [waiting, running = std::move(running)] {
                if (!running) {
                  waiting->error = running.error();
                } else {
                  const std::string id = fmt::format("r-{}", (*running)->number.value());
                  if (waiting->sum.lane_id.empty()) waiting->sum.lane_id = id;
                  waiting->sum.lane_ids.push_back(id);
                  waiting->sum.started += (*running)->started;
                }
                if (--waiting->left > 0) return;
                if (waiting->error) {
                  waiting->done(std::unexpected(*waiting->error));
                  return;
                }
                waiting->sum.already_redriven = waiting->sum.matched - waiting->sum.started;
                waiting->done(std::move(waiting->sum));
              });
            });
          });
        }
      });
}

// A running lane's counts are the shards'; one that has ended carries its own.
void Edge::with_counts(const std::vector<LanePtr>& lanes,
                       api::Done<std::vector<api::LaneItem>> done) {
  using Reports = std::map<ProgressNumber, delivery::LaneReport>;
  gather_reports<Reports>(
      node_, executor(),
      [lanes](ShardUnit& unit, ReportDone<Reports> answer) {
        unit.shard->report<Reports>(
            [&unit, lanes] {
              Reports reports;
              for (const LanePtr& lane : lanes) {
                reports[lane->number] = unit.shard->dispatcher().lane(lane->number);
              }
              return reports;
            },
            std::move(answer));
      },
      [lanes, done = std::move(done)](const Result<std::vector<Reports>>& parts) mutable {
        if (!parts) {
          done(fail(parts));
          return;
        }
        std::vector<api::LaneItem> items;
        for (const LanePtr& lane : lanes) {
          api::LaneItem item = item_of(*lane);
          if (lane->state != LaneState::kDone) {
            std::vector<delivery::LaneReport> reports;
            for (const Reports& part : *parts) reports.push_back(part.at(lane->number));
            const delivery::LaneReport sum = sum_lane(reports);
            item.offered = sum.offered;
            item.resolved = sum.resolved;
            item.dead_again = sum.dead_again;
            item.gone = sum.gone;
          }
          items.push_back(std::move(item));
        }
        done(std::move(items));
      });
}

void Edge::lanes(std::optional<std::string> topic, std::optional<std::string> group,
                 api::Done<std::vector<api::LaneItem>> done) {
  std::vector<LanePtr> all = catalog().lanes();
  std::erase_if(all, [&](const LanePtr& lane) {
    return (topic && lane->topic != *topic) || (group && lane->group != *group);
  });
  with_counts(all, std::move(done));
}

void Edge::lane(std::string lane_id, api::Done<api::LaneItem> done) {
  auto number = lane_number(lane_id);
  const LanePtr found = number ? catalog().lane(*number) : nullptr;
  if (!found) {
    answer_later<api::LaneItem>(
        std::move(done), fail(ErrorCode::kNotFound, fmt::format("there is no lane {}", lane_id),
                              "See /admin/lanes.", "laneId"));
    return;
  }
  with_counts({found}, [done = std::move(done)](Result<std::vector<api::LaneItem>> items) mutable {
    if (!items) {
      done(fail(items));
    } else {
      done(std::move(items->front()));
    }
  });
}

void Edge::end_lane(std::string lane_id, api::Done<api::Removed> done) {
  auto number = lane_number(lane_id);
  const LanePtr found = number ? catalog().lane(*number) : nullptr;
  if (!found) {
    answer_later<api::Removed>(
        std::move(done), fail(ErrorCode::kNotFound, fmt::format("there is no lane {}", lane_id),
                              "See /admin/lanes.", "laneId"));
    return;
  }
  auto out = std::make_shared<api::Removed>();
  change<api::Removed>(
      out,
      [out, lane = found->number](const Catalog& catalog, Numbers&) -> Result<Plan> {
        Plan plan;
        const LanePtr present = catalog.lane(lane);
        if (!present) return plan;
        out->removed = true;
        plan.writes.push_back({lane_key(lane), std::nullopt, {}});
        plan.delta.emplace_back(RemoveLane{lane});
        return plan;
      },
      audited("lane.end", lane_id, std::move(done)));
}

}  // namespace ackline::runtime

// Lanes over all shards: each takes its part, and the last entry ends the lane (invariant 18).
#include <algorithm>
#include <utility>

#include "ackline/base/logging.h"
#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/node.h"
#include "ackline/runtime/progress_math.h"

namespace ackline::runtime {
namespace {

constexpr std::int64_t kLanesAgainMs = 1000;

}  // namespace

void Node::lane_part_done(ProgressNumber lane) {
  if (control_->catalog().lane(lane) != nullptr) finish_lane(lane);
}

// A lane is done when no shard has an entry left; its last counts go to meta with the state. Synced
// ones: meta may not know an end that a power cut takes from the journals (invariant 31).
void Node::finish_lane(ProgressNumber lane) {
  gather_reports<delivery::LaneReport>(
      *this, control_executor(),
      [lane](ShardUnit& unit, ReportDone<delivery::LaneReport> answer) {
        unit.shard->report<delivery::LaneReport>(
            [&unit, lane] { return unit.shard->dispatcher().lane(lane); }, std::move(answer));
      },
      [this, lane](const Result<std::vector<delivery::LaneReport>>& parts) {
        if (!parts) {
          lane_later(lane, "a lane's end is not on disk yet", parts.error());
          return;
        }
        const delivery::LaneReport sum = sum_lane(*parts);
        if (sum.left > 0) {
          lanes_behind_.erase(lane);
          return;
        }
        control_->change(
            [lane, sum](const Catalog& catalog, Numbers&) -> Result<Plan> {
              const LanePtr present = catalog.lane(lane);
              if (!present || present->state != LaneState::kRunning) return Plan{};
              auto done = std::make_shared<Lane>(*present);
              done->state = LaneState::kDone;
              done->offered = sum.offered;
              done->resolved = sum.resolved;
              done->dead_again = sum.dead_again;
              done->gone = sum.gone;
              done->entries.clear();
              Plan plan;
              plan.writes.push_back({lane_key(lane), encode(*done), {}});
              plan.delta.emplace_back(LanePtr(done));
              return plan;
            },
            [this, lane](Result<void> outcome) {
              if (!outcome) {
                lane_later(lane, "a finished lane could not be marked done", outcome.error());
              } else {
                lanes_behind_.erase(lane);
              }
            });
      });
}

// What could not be written now is tried until it can be, and said once of a lane.
void Node::lane_later(ProgressNumber lane, std::string_view what, const Error& why) {
  if (stopping_) return;
  if (lanes_behind_.insert(lane).second) {
    log_warn(what, {{"lane", lane}, {"error", why.detail}, {"again", "each second until it is"}});
  }
  if (lanes_timer_ != 0) return;
  lanes_timer_ =
      control_executor().schedule(control_executor().clock().mono().plus(kLanesAgainMs), [this] {
        lanes_timer_ = 0;
        resume_lanes();
      });
}

// Boot finishes what was `starting`, and marks done what ended just before the crash (invariant
// 18). Doing it again changes nothing.
void Node::resume_lanes() {
  for (const LanePtr& lane : control_->catalog().lanes()) {
    if (lane->state == LaneState::kStarting) {
      start_lane_parts(lane, [](const Result<LanePtr>&) {});
    } else if (lane->state == LaneState::kRunning) {
      for (auto& unit : units_) {
        run_on(unit->executor,
               [at = unit.get(),
                lane] {  // The rate of a lane is not in its records: it is told again.
                 static_cast<void>(at->shard->start_lane(*lane));
               });
      }
      finish_lane(lane->number);
    }
  }
}

// Each shard takes its part with the entry states in one batch; then the lane is `running`.
void Node::start_lane_parts(const LanePtr& lane,
                            std::move_only_function<void(Result<LanePtr>)> done) {
  struct Part {
    delivery::LanePartReport taken;
    std::optional<Error> error;
  };
  gather<Part>(
      *this, control_executor(),
      [lane](ShardUnit& unit, std::move_only_function<void(Part)> answer) {
        auto part = std::make_shared<Part>();
        auto taken = unit.shard->start_lane(*lane);
        if (taken) {
          part->taken = *taken;
        } else {
          part->error = taken.error();
        }
        unit.shard->after_sync([part, answer = std::move(answer)](const Error* error) mutable {
          if (error != nullptr) part->error = *error;
          answer(std::move(*part));
        });
      },
      [this, lane, done = std::move(done)](const std::vector<Part>& parts) mutable {
        auto running = std::make_shared<Lane>(*lane);
        running->state = LaneState::kRunning;
        running->started = 0;
        for (const Part& part : parts) {
          if (part.error) {
            lane_later(lane->number, "a lane could not be started", *part.error);
            done(std::unexpected(*part.error));
            return;
          }
          running->started += part.taken.taken;
        }
        running->already_redriven = running->matched - std::min(running->matched, running->started);
        auto result = std::make_shared<LanePtr>(running);
        control_->change(
            [running](const Catalog& catalog, Numbers&) -> Result<Plan> {
              const LanePtr present = catalog.lane(running->number);
              if (!present || present->state != LaneState::kStarting) return Plan{};
              Plan plan;
              plan.writes.push_back({lane_key(running->number), encode(*running), {}});
              plan.delta.emplace_back(LanePtr(running));
              return plan;
            },
            [this, result, done = std::move(done)](Result<void> outcome) mutable {
              if (!outcome) {
                lane_later((*result)->number, "a lane could not be marked as running",
                           outcome.error());
                done(std::unexpected(outcome.error()));
                return;
              }
              finish_lane((*result)->number);
              done(*result);
            });
      });
}

}  // namespace ackline::runtime

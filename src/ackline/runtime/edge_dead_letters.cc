// Dead letters: browse, purge, redrive, and the lanes that redrives are.
#include <fmt/format.h>

#include <charconv>

#include "ackline/event/names.h"
#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/dead_letter_scan.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/progress_math.h"

namespace ackline::runtime {
namespace {

constexpr std::uint64_t kJobEntriesMax =
    100'000;  // of one redrive or purge: its offsets are one record in meta

using Parts = std::vector<DeadLetterPart>;

void scan_all(Node& node, Executor& home, std::shared_ptr<const DeadLetterSelection> selection,
              std::move_only_function<void(Result<Parts>)> done) {
  gather<DeadLetterPart>(
      node, home,
      [selection](ShardUnit& unit, std::move_only_function<void(DeadLetterPart)> answer) {
        scan_dead_letters(*unit.shard, selection, std::move(answer));
      },
      [done = std::move(done)](Parts parts) mutable {
        for (const DeadLetterPart& part : parts) {
          if (!part.error) continue;
          done(std::unexpected(*part.error));
          return;
        }
        done(std::move(parts));
      });
}

// In the order of partition and offset, whichever shard they came from.
std::vector<DeadLetterFound> in_order(Parts parts) {
  std::vector<DeadLetterFound> all;
  for (DeadLetterPart& part : parts) std::ranges::move(part.found, std::back_inserter(all));
  std::ranges::sort(all, [](const DeadLetterFound& a, const DeadLetterFound& b) {
    return std::tuple(a.partition, a.dlq) < std::tuple(b.partition, b.dlq);
  });
  return all;
}

api::LaneItem item_of(const Lane& lane) {
  api::LaneItem item;
  item.lane_id = fmt::format("r-{}", lane.number.value());
  item.kind = "redrive";
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

// The lanes of a redrive: one for each group among the entries that are dead.
std::vector<std::shared_ptr<Lane>> lanes_of(const TopicPtr& topic,
                                            const std::vector<DeadLetterFound>& found,
                                            std::uint32_t rate_per_second) {
  std::map<ProgressNumber, std::shared_ptr<Lane>> lanes;
  for (const DeadLetterFound& one : found) {
    auto& lane = lanes[one.group];
    if (!lane) {
      lane = std::make_shared<Lane>();
      lane->topic = topic->name;
      lane->group = one.item.group;
      lane->group_number = one.group;
      lane->rate_per_second = rate_per_second;
    }
    ++lane->matched;
    if (one.item.state == delivery::EntryState::kDead) {
      lane->entries[one.partition].push_back(one.dlq);
    }
  }
  std::vector<std::shared_ptr<Lane>> list;
  for (auto& [number, lane] : lanes) {
    for (auto& [partition, offsets] : lane->entries) std::ranges::sort(offsets);
    list.push_back(std::move(lane));
  }
  return list;
}

}  // namespace

void Edge::browse_dead(api::DeadLetterQuery query, api::Done<api::DeadLetterPage> done) {
  auto topic = require_topic(query.topic);
  auto selection = topic ? selection_of(*topic, query) : Result<DeadLetterSelection>(fail(topic));
  if (!selection) {
    answer_later<api::DeadLetterPage>(std::move(done), fail(selection));
    return;
  }
  const std::uint64_t limit = selection->limit;
  selection->limit = limit + 1;  // one more tells whether there is a next page
  auto shared = std::make_shared<const DeadLetterSelection>(std::move(*selection));
  scan_all(node_, executor(), shared,
           [shared, limit, done = std::move(done)](Result<Parts> parts) mutable {
             if (!parts) {
               done(fail(parts));
               return;
             }
             api::DeadLetterPage page;
             page.dlq_topic = event::dlq_topic(shared->topic->name);
             if (shared->plain()) {
               page.total = 0;
               for (const DeadLetterPart& part : *parts) *page.total += part.total;
             }
             for (DeadLetterFound& one : in_order(std::move(*parts))) {
               if (page.items.size() == limit) {
                 page.next = fmt::format("{}:{}", one.partition, one.dlq.value());
                 break;
               }
               page.items.push_back(std::move(one.item));
             }
             done(std::move(page));
           });
}

void Edge::purge_dead(api::DeadLetterQuery which, api::Done<api::Purged> done) {
  auto topic = require_topic(which.topic);
  which.max = which.max.value_or(static_cast<std::uint32_t>(kJobEntriesMax));
  auto selection = topic ? selection_of(*topic, which) : Result<DeadLetterSelection>(fail(topic));
  if (!selection) {
    answer_later<api::Purged>(std::move(done), fail(selection));
    return;
  }
  selection->want_frames = false;
  auto shared = std::make_shared<const DeadLetterSelection>(std::move(*selection));
  gather<Result<std::uint64_t>>(
      node_, executor(),
      [shared](ShardUnit& unit, std::move_only_function<void(Result<std::uint64_t>)> answer) {
        scan_dead_letters(
            *unit.shard, shared,
            [&unit, shared, answer = std::move(answer)](DeadLetterPart part) mutable {
              if (part.error) {
                answer(std::unexpected(*part.error));
                return;
              }
              std::map<delivery::ProgressKey, std::vector<Offset>> offsets;
              for (const DeadLetterFound& one : part.found) {
                offsets[{one.group, shared->topic->partitions[one.partition]}].push_back(one.dlq);
              }
              std::uint64_t purged = 0;
              for (auto& [key, entries] : offsets) {
                purged += unit.shard->dispatcher().purge_dead(key, entries);
              }
              unit.shard->trim_dead_letters(*shared->topic);
              unit.shard->after_sync(
                  [purged, answer = std::move(answer)](const Error* error) mutable {
                    if (error != nullptr) {
                      answer(std::unexpected(*error));
                    } else {
                      answer(purged);
                    }
                  });
            });
      },
      [this, shared,
       done = std::move(done)](const std::vector<Result<std::uint64_t>>& parts) mutable {
        api::Purged purged;
        for (const auto& part : parts) {
          if (!part) {
            done(std::unexpected(part.error()));
            return;
          }
          purged.purged += *part;
        }
        purged.audit_id = node_.audit().record("dlq.purge", shared->topic->name,
                                               fmt::format("{{\"purged\":{}}}", purged.purged));
        done(std::move(purged));
      });
}

void Edge::redrive(api::RedriveRequest request, api::Done<api::LaneItem> done) {
  auto topic = require_topic(request.which.topic);
  if (topic && request.which.group) {
    if (auto group = require_group(request.which.topic, *request.which.group); !group) {
      topic = fail(group);
    }
  }
  request.which.max = request.which.max.value_or(static_cast<std::uint32_t>(kJobEntriesMax));
  auto selection =
      topic ? selection_of(*topic, request.which) : Result<DeadLetterSelection>(fail(topic));
  if (!selection) {
    answer_later<api::LaneItem>(std::move(done), fail(selection));
    return;
  }
  selection->want_frames = false;
  auto shared = std::make_shared<const DeadLetterSelection>(std::move(*selection));
  scan_all(node_, executor(), shared,
           [this, shared, rate = request.rate_per_second, dry_run = request.dry_run,
            max = *request.which.max, done = std::move(done)](Result<Parts> parts) mutable {
             if (!parts) {
               done(fail(parts));
               return;
             }
             std::vector<DeadLetterFound> found = in_order(std::move(*parts));
             if (found.size() > max) found.resize(max);
             auto lanes = lanes_of(shared->topic, found, rate);
             api::LaneItem sum;
             sum.kind = "redrive";
             sum.topic = shared->topic->name;
             sum.group = shared->group.value_or("");
             sum.dry_run = dry_run;
             sum.state = "done";
             for (const auto& lane : lanes) {
               sum.matched += lane->matched;
               for (const auto& [partition, offsets] : lane->entries) sum.started += offsets.size();
             }
             sum.already_redriven = sum.matched - sum.started;
             if (dry_run || sum.started == 0) {
               if (dry_run) sum.started = 0;
               done(std::move(sum));
               return;
             }
             std::erase_if(lanes, [](const auto& lane) { return lane->entries.empty(); });
             start_lanes(std::move(lanes), std::move(sum), std::move(done));
           });
}

// First in meta as `starting`, then the shards take their parts (invariant 18).
void Edge::start_lanes(std::vector<std::shared_ptr<Lane>> lanes, api::LaneItem sum,
                       api::Done<api::LaneItem> done) {
  sum.audit_id = node_.audit().record("dlq.redrive", sum.topic,
                                      fmt::format("{{\"matched\":{}}}", sum.matched));
  struct Starting {
    std::vector<LanePtr> lanes;
  };
  auto out = std::make_shared<Starting>();
  change<Starting>(
      out,
      [out, lanes = std::move(lanes), audit_id = sum.audit_id](const Catalog& catalog,
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
void Edge::with_counts(std::vector<LanePtr> lanes, api::Done<std::vector<api::LaneItem>> done) {
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
  with_counts(std::move(all), std::move(done));
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

// Replay by filter: the chosen events are delivered again in a lane, the frontier does not move
// (invariant 18).
#include <fmt/format.h>

#include <algorithm>

#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/replay_scan.h"

namespace ackline::runtime {
namespace {

// Of one lane: its offsets are one record in meta and one a partition in the journal.
constexpr std::uint64_t kReplayEventsMax = 1'000'000;

using Offsets = std::map<std::uint32_t, Offset>;
using Found = std::map<std::uint32_t, ReplayFound>;

std::shared_ptr<const ReplaySelection> selection_of(const TopicPtr& topic, const GroupPtr& group,
                                                    const api::ReopenQuery& query,
                                                    const Offsets& from, const Offsets& until,
                                                    WallMs now) {
  auto selection = std::make_shared<ReplaySelection>();
  selection->topic = topic;
  selection->group = group;
  for (const auto& [index, first] : from) {
    const auto end = until.find(index);
    selection->ranges[index] = {
        first, end == until.end() ? std::nullopt : std::optional<Offset>(end->second)};
  }
  if (query.filter_json && !query.filter_json->empty()) {
    // The route has parsed it already.
    if (auto filter = event::Filter::parse(*query.filter_json)) selection->filter = *filter;
  }
  selection->now = now;
  selection->max_events = kReplayEventsMax;
  return selection;
}

api::ReopenAnswer answer_of(const Found& found) {
  api::ReopenAnswer answer;
  for (const auto& [index, part] : found) {
    api::ReopenPartition one;
    one.report.frontier_before = part.frontier;
    one.report.frontier_after = part.frontier;
    one.events = part.offsets.size();
    one.bytes = part.bytes;
    one.left_out = part.matched - part.offsets.size();
    if (!part.offsets.empty()) {
      one.first = part.offsets.front();
      one.last = part.offsets.back();
    }
    answer.partitions.emplace(index, one);
  }
  return answer;
}

std::shared_ptr<Lane> lane_of(const ReplaySelection& want, const api::ReopenQuery& query,
                              Found found) {
  auto lane = std::make_shared<Lane>();
  lane->topic = want.topic->name;
  lane->group = want.group->name;
  lane->group_number = want.group->number;
  lane->kind = state::LaneKind::kReplay;
  lane->rate_per_second = query.rate_per_second;
  lane->filter_json = query.filter_json.value_or("");
  for (auto& [index, part] : found) {
    lane->matched += part.matched;
    if (!part.offsets.empty()) lane->entries[index] = std::move(part.offsets);
  }
  return lane;
}

Result<Found> merged(std::vector<ReplayPart> parts) {
  Found all;
  std::uint64_t events = 0;
  for (ReplayPart& part : parts) {
    if (part.error) return std::unexpected(*part.error);
    for (auto& [index, one] : part.found) {
      events += one.offsets.size();
      all.emplace(index, std::move(one));
    }
  }
  if (events > kReplayEventsMax) return std::unexpected(too_many_to_replay(kReplayEventsMax));
  return all;
}

}  // namespace

void Edge::replay_lane(const TopicPtr& topic, GroupPtr group, api::ReopenQuery query,
                       api::Done<api::ReopenAnswer> done) {
  const api::Position position = query.to;
  std::vector<std::uint32_t> only = query.partitions;
  resolve(topic, position, std::move(only), Resolve::kReplay,
          [this, topic, group = std::move(group), query = std::move(query),
           done = std::move(done)](Result<Offsets> from) mutable {
            if (!from) {
              done(fail(from));
              return;
            }
            if (!query.until) {
              const auto selection =
                  selection_of(topic, group, query, *from, {}, executor().clock().wall());
              replay_range(selection, std::move(query), std::move(done));
              return;
            }
            const api::Position end = *query.until;
            std::vector<std::uint32_t> only = query.partitions;
            resolve(
                topic, end, std::move(only), Resolve::kReplay,
                [this, topic, group = std::move(group), query = std::move(query),
                 from = std::move(*from), done = std::move(done)](Result<Offsets> until) mutable {
                  if (!until) {
                    done(fail(until));
                    return;
                  }
                  const auto selection =
                      selection_of(topic, group, query, from, *until, executor().clock().wall());
                  replay_range(selection, std::move(query), std::move(done));
                });
          });
}

void Edge::replay_range(const std::shared_ptr<const ReplaySelection>& selection,
                        api::ReopenQuery query, api::Done<api::ReopenAnswer> done) {
  gather<ReplayPart>(
      node_, executor(),
      [selection](ShardUnit& unit, std::move_only_function<void(ReplayPart)> answer) {
        scan_replay(*unit.shard, selection, std::move(answer));
      },
      [this, selection, query = std::move(query),
       done = std::move(done)](std::vector<ReplayPart> parts) mutable {
        auto found = merged(std::move(parts));
        if (!found) {
          done(fail(found));
          return;
        }
        api::ReopenAnswer answer = answer_of(*found);
        std::vector<std::shared_ptr<Lane>> lanes = {lane_of(*selection, query, std::move(*found))};
        // Before anything is told of it: a write that is too large would fail behind the audit
        // line.
        if (encode(*lanes.front()).size() > node_.options().lane_record_max_bytes) {
          done(std::unexpected(too_sparse_to_replay(lanes.front()->matched)));
          return;
        }
        if (query.dry_run || lanes.front()->entries.empty()) {
          done(std::move(answer));
          return;
        }
        api::LaneItem sum;
        sum.kind = "replay";
        sum.topic = lanes.front()->topic;
        sum.group = lanes.front()->group;
        sum.matched = lanes.front()->matched;
        start_lanes(std::move(lanes), std::move(sum),
                    [answer = std::move(answer),
                     done = std::move(done)](Result<api::LaneItem> started) mutable {
                      if (!started) {
                        done(fail(started));
                        return;
                      }
                      answer.lane_id = std::move(started->lane_id);
                      answer.audit_id = std::move(started->audit_id);
                      done(std::move(answer));
                    });
      });
}

}  // namespace ackline::runtime

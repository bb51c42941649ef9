// What operators and administrators change: progress is moved, dead letters are redriven, groups
// go.
#include <fmt/format.h>

#include "tests/simulation/client_channel.h"

namespace ackline::sim {
namespace {

bool nothing_done(const Error& error) {
  return error.code == ErrorCode::kBadValue || error.code == ErrorCode::kGroupUnknown ||
         error.code == ErrorCode::kTopicUnknown || error.code == ErrorCode::kDraining;
}

}  // namespace

// A replay, or a reset where this seed has them; sometimes only a dry run.
void Simulation::reopen(GroupPlan& group) {
  const std::size_t index = static_cast<std::size_t>(group.facts.topic[1] - '0');
  TopicPlan& topic = topics_[index];
  if (group.reopening || group.unsure || topic.state != TopicPlan::State::kReady ||
      !checker_->group_exists(group.facts.topic, group.facts.name)) {
    return;
  }
  api::ReopenQuery query;
  query.topic = group.facts.topic;
  query.group = group.facts.name;
  query.dry_run = random_.chance(1, 2);
  query.reset = resets_ && random_.chance(1, 2);
  api::AtOffsets offsets;
  std::map<std::uint32_t, std::int64_t> to;
  for (std::uint32_t i = 0; i < topic.partitions; ++i) {
    const auto ends = ends_.find({topic.name, i});
    if (ends == ends_.end() || !random_.chance(1, 2)) continue;
    const std::int64_t low = std::max(ends->second.log_start, ends->second.high_watermark - 25);
    to[i] = random_.between(std::min(low, ends->second.high_watermark + 1),
                            ends->second.high_watermark + 1);
    offsets.some[i] = Offset(to[i]);
    query.partitions.push_back(i);
  }
  if (to.empty()) return;
  query.to = offsets;
  if (!query.dry_run) {
    group.reopening = true;
    ++topic.changes;
    ++result_.reopens;
    checker_->reopening(query.topic, query.group, query.reset, to);
  }
  const Ms invoked = world_->time().now();
  const std::uint32_t edge = any_edge();
  GroupPlan* at = &group;
  std::string told;
  for (const auto& [partition, offset] : to) told += fmt::format(" {}:{}", partition, offset);
  note(fmt::format("{}{} of {}/{} to{}", query.dry_run ? "dry " : "",
                   query.reset ? "reset" : "replay", query.topic, query.group, told));
  call(edge, [this, edge, at, query, to, invoked, topic_at = &topic] {
    admin(edge).reopen(
        query, [this, at, query, to, invoked, topic_at](Result<api::ReopenAnswer> answer) {
          if (dying()) return;
          sync_time();
          note(fmt::format("reopen of {}/{}: {}", query.topic, query.group,
                           answer ? "answered" : answer.error().detail));
          if (query.dry_run) return;
          at->reopening = false;
          --topic_at->changes;
          for (const auto& [partition, offset] : to) {
            auto outcome = Checker::Reopen::kPerhaps;
            std::uint32_t generation = 0;
            const Error* error = answer ? nullptr : &answer.error();
            if (answer) {
              const auto one = answer->partitions.find(partition);
              if (one == answer->partitions.end()) {
                outcome = Checker::Reopen::kRefused;
              } else if (one->second) {
                outcome = Checker::Reopen::kDone;
                generation = one->second->report.generation.value();
              } else {
                error = &one->second.error();
              }
            }
            if (error != nullptr && nothing_done(*error)) outcome = Checker::Reopen::kRefused;
            checker_->reopened(query.topic, query.group, partition, invoked, outcome, generation);
          }
        });
  });
}

// A replay with an end, a filter or both: events once more, beside the group's progress.
void Simulation::replay_lane(GroupPlan& group) {
  TopicPlan& topic = topics_[static_cast<std::size_t>(group.facts.topic[1] - '0')];
  if (topic.state != TopicPlan::State::kReady) return;
  api::ReopenQuery query;
  query.topic = group.facts.topic;
  query.group = group.facts.name;
  query.dry_run = more_.chance(1, 6);
  if (more_.chance(1, 3)) query.rate_per_second = 20;
  api::AtOffsets from;
  api::AtOffsets until;
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> range;
  const bool ends = more_.chance(1, 2);
  for (std::uint32_t i = 0; i < topic.partitions; ++i) {
    const auto known = ends_.find({topic.name, i});
    if (known == ends_.end() || !more_.chance(2, 3)) continue;
    const std::int64_t high = known->second.high_watermark + 1;
    const std::int64_t low = std::max(known->second.log_start, high - 40);
    const std::int64_t first = more_.between(std::min(low, high), high);
    const std::int64_t end = ends ? more_.between(first + 1, high + 1) : INT64_MAX;
    range[i] = {first, end};
    from.some[i] = Offset(first);
    until.some[i] = Offset(end);
    query.partitions.push_back(i);
  }
  if (range.empty()) return;
  std::string type;
  if (!ends || more_.chance(1, 2)) {
    type = "t.a";
    query.filter_json = R"({"exact":{"type":"t.a"}})";
  }
  query.to = from;
  if (ends) query.until = until;
  ++result_.lanes;
  if (!query.dry_run) checker_->replaying(query.topic, query.group, range);
  const std::uint32_t edge = any_edge();
  call(edge, [this, edge, query, range, type] {
    admin(edge).reopen(query, [this, query, range, type](Result<api::ReopenAnswer> answer) {
      if (dying()) return;
      sync_time();
      note(fmt::format("replay of {}/{} as a lane: {}", query.topic, query.group,
                       answer ? answer->lane_id : answer.error().detail));
      if (!answer || answer->lane_id.empty()) return;
      lanes_.push_back(answer->lane_id);
      checker_->lane_made(answer->lane_id, range, type);
    });
  });
}

void Simulation::redrive(std::size_t topic) {
  if (topics_[topic].state != TopicPlan::State::kReady) return;
  const std::uint32_t edge = any_edge();
  const bool dry = random_.chance(1, 6);
  call(edge, [this, edge, topic, dry] {
    api::RedriveRequest request;
    request.which.topic = topics_[topic].name;
    request.dry_run = dry;
    if (random_.chance(1, 3)) request.rate_per_second = 5;
    admin(edge).redrive(request, [this](Result<api::LaneItem> lane) {
      if (dying()) return;
      sync_time();
      if (lane) lanes_.push_back(lane->lane_id);
      note(fmt::format(
          "redrive: {}",
          lane ? fmt::format("{} started {}", lane->lane_id, lane->started) : lane.error().detail));
    });
  });
}

void Simulation::purge(std::size_t topic) {
  if (topics_[topic].state != TopicPlan::State::kReady) return;
  checker_->purging(topics_[topic].name);
  const std::uint32_t edge = any_edge();
  call(edge, [this, edge, topic] {
    api::DeadLetterQuery which;
    which.topic = topics_[topic].name;
    which.max = static_cast<std::uint32_t>(random_.between(1, 20));
    admin(edge).purge_dead(which, [this](Result<api::Purged> purged) {
      if (dying()) return;
      sync_time();
      note(fmt::format("purge: {}",
                       purged ? std::to_string(purged->purged) : purged.error().detail));
    });
  });
}

// What administrators do to groups, clients and lanes.
void Simulation::meddle() {
  const std::uint32_t edge = any_edge();
  const std::uint64_t what = more_.below(8);
  GroupPlan& group = groups_[more_.below(groups_.size())];
  if (what == 0) {
    delete_group(group);
  } else if (what == 1) {
    send_away(*clients_[more_.below(clients_.size())]);
  } else if (what < 4) {
    if (lanes_.empty()) return;
    const std::string lane = lanes_[more_.below(lanes_.size())];
    checker_->ending_lane(lane);
    call(edge, [this, edge, lane] {
      admin(edge).end_lane(lane, [this, lane](Result<api::Removed> ended) {
        if (dying()) return;
        note(fmt::format("end of {}: {}", lane, ended ? "ok" : ended.error().detail));
      });
    });
  } else if (what < 6) {
    patch(group);
  } else if (drains_) {
    drain_server(true);
  }
}

void Simulation::drain_server(bool on) {
  if (!world_->alive()) return;
  const std::uint32_t edge = any_edge();
  call(edge, [this, edge, on] {
    note(on ? "it drains" : "it drains no more");
    checker_->draining(on);
    admin(edge).drain(on, [this, on](const Result<api::DrainState>&) {
      if (dying() || !on) return;
      // Who drains goes back to work once that was answered, unless the process ends before.
      world_->time().outside(world_->time().now() + more_.between(0, 6000),
                             [this, life = world_->life()] {
                               if (world_->life() == life) drain_server(false);
                             });
    });
  });
}

void Simulation::patch(GroupPlan& group) {
  if (group.leaving || group.unsure || group.patching) return;
  for (const auto& client : clients_) {
    if (&groups_[client->group] == &group && client->busy) return;
  }
  group.patching = true;
  group.backoff_ms.clear();  // until it is certain which one it is, nobody names one
  api::GroupPatch patch;
  patch.topic = group.facts.topic;
  patch.group = group.facts.name;
  patch.backoff_ms = {more_.between(0, 300), more_.between(0, 2000)};
  std::optional<Ordering> ordering = group.ordering;
  if (more_.chance(1, 3)) {
    static constexpr Ordering kAll[] = {Ordering::kNone, Ordering::kKey, Ordering::kPartition};
    ordering = kAll[more_.below(std::size(kAll))];
    patch.ordering = api_ordering(*ordering);
    group.ordering.reset();
    group.facts.ordering = Ordering::kNone;  // what is checked of it
    checker_->unordered(patch.topic, patch.group);
  }
  const std::uint32_t edge = any_edge();
  call(edge, [this, edge, patch, ordering, at = &group] {
    admin(edge).patch_group(patch, [this, patch, ordering, at](Result<api::GroupPatched> patched) {
      if (dying()) return;
      at->patching = false;
      if (patched) at->backoff_ms = *patch.backoff_ms;
      if (patched) at->ordering = ordering;
      note(fmt::format("patch of {}: {}", patch.group, patched ? "ok" : patched.error().detail));
    });
  });
}

void Simulation::delete_group(GroupPlan& group) {
  TopicPlan& topic = topics_[static_cast<std::size_t>(group.facts.topic[1] - '0')];
  if (group.leaving || group.unsure || group.patching || group.reopening ||
      topic.state != TopicPlan::State::kReady ||
      !checker_->group_exists(group.facts.topic, group.facts.name)) {
    return;
  }
  for (const auto& client : clients_) {
    if (&groups_[client->group] == &group && client->busy) return;
  }
  end_group(group, topic);
}

void Simulation::end_group(GroupPlan& group, TopicPlan& topic) {
  group.leaving = true;
  group.unsure = false;
  ++topic.changes;
  checker_->deleting_group(group.facts.topic, group.facts.name);
  note(fmt::format("group {}/{} is being deleted", group.facts.topic, group.facts.name));
  const std::uint32_t edge = any_edge();
  GroupPlan* at = &group;
  call(edge, [this, edge, at, topic_at = &topic] {
    admin(edge).delete_group(
        at->facts.topic, at->facts.name, true, [this, at, topic_at](Result<api::Removed> removed) {
          if (dying()) return;
          sync_time();
          --topic_at->changes;
          at->leaving = false;
          note(fmt::format("group {}: {}", at->facts.name,
                           removed ? "deleted" : removed.error().detail));
          const bool gone = removed || removed.error().code == ErrorCode::kGroupUnknown;
          at->unsure = !gone;
          checker_->deleted_group(at->facts.topic, at->facts.name, gone);
        });
  });
}

// As `unsubscribe`, but it is not the client's wish.
void Simulation::send_away(Client& client) {
  const GroupFacts& group = groups_[client.group].facts;
  if (!client.subscribed || client.busy || groups_[client.group].leaving) return;
  client.busy = true;
  client.subscribed = false;
  client.ending = groups_[client.group].facts.broadcast;
  ++topics_[client.topic].changes;
  checker_->unsubscribing(client.id, group.topic, group.name);
  note(client.id + " is sent away");
  const std::uint32_t edge = any_edge();
  Client* at = &client;
  call(edge, [this, edge, at] {
    admin(edge).reject_client(at->id, [this, at](Result<api::Removed> removed) {
      if (dying()) return;
      sync_time();
      at->busy = false;
      --topics_[at->topic].changes;
      note(fmt::format("{} sent away: {}", at->id, removed ? "ok" : removed.error().detail));
      const GroupFacts& facts = groups_[at->group].facts;
      if (!removed && removed.error().code != ErrorCode::kClientUnknown) return;
      at->ending = false;
      checker_->unsubscribed(at->id, facts.topic, facts.name);
    });
  });
}

}  // namespace ackline::sim

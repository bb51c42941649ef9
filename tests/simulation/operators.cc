// Operators and faults: topics come and go, questions are asked, progress is moved, disks fail.
#include <fmt/format.h>

#include <cstdlib>

#include "ackline/event/frame.h"
#include "tests/simulation/client_channel.h"

namespace ackline::sim {
namespace {

std::uint64_t event_number(std::string_view id) {
  return std::strtoull(std::string(id.substr(1)).c_str(), nullptr, 10);
}

std::string state_word(delivery::EntryState state) {
  switch (state) {
    case delivery::EntryState::kDead:
      return "dead";
    case delivery::EntryState::kRedriving:
      return "redriving";
    case delivery::EntryState::kResolved:
      return "resolved";
    case delivery::EntryState::kPurged:
      break;
  }
  return "purged";
}

bool nothing_done(const Error& error) {
  return error.code == ErrorCode::kBadValue || error.code == ErrorCode::kGroupUnknown ||
         error.code == ErrorCode::kTopicUnknown || error.code == ErrorCode::kDraining;
}

}  // namespace

void Simulation::start_operators() {
  keep_topics();
  every(50, 150, [this] { keep_topics(); });
  every(150, 900, [this] {
    if (world_->alive() && !healing_) operator_turn();
  });
}

// --- topics

void Simulation::keep_topics() {
  for (TopicPlan& topic : topics_) {
    if (!world_->alive()) return;
    if (topic.state == TopicPlan::State::kAbsent) {
      make_topic(topic);
    } else if (topic.state == TopicPlan::State::kLeaving && topic.publishes == 0 &&
               topic.changes == 0) {
      remove_topic(topic);
    }
  }
}

void Simulation::make_topic(TopicPlan& topic) {
  topic.state = TopicPlan::State::kBusy;
  const std::uint32_t edge = any_edge();
  TopicPlan* at = &topic;
  call(edge, [this, edge, at] {
    api::TopicCreate create;
    create.name = at->name;
    create.partitions = at->partitions;
    create.retention = at->retention;
    admin(edge).create_topic(create, [this, at](Result<api::TopicItem> made) {
      sync_time();
      const bool there = made || made.error().code == ErrorCode::kAlreadyExists;
      note(fmt::format("topic {}: {}", at->name, made ? "made" : made.error().detail));
      at->state = there ? TopicPlan::State::kReady : TopicPlan::State::kAbsent;
      if (there) checker_->topic_made(at->name);
    });
  });
}

void Simulation::remove_topic(TopicPlan& topic) {
  ++topic.changes;
  const std::uint32_t edge = any_edge();
  TopicPlan* at = &topic;
  note("topic " + topic.name + " is being deleted");
  call(edge, [this, edge, at] {
    admin(edge).delete_topic(at->name, true, [this, at](Result<api::Removed> removed) {
      sync_time();
      --at->changes;
      const bool gone = removed || removed.error().code == ErrorCode::kTopicUnknown;
      note(fmt::format("topic {}: {}", at->name, gone ? "deleted" : removed.error().detail));
      if (!gone) return;  // once more, until it is certain
      ++result_.topic_deletions;
      checker_->topic_deleted(at->name);
      std::erase_if(ends_, [&](const auto& one) { return one.first.first == at->name; });
      at->partitions = static_cast<std::uint32_t>(random_.between(1, 4));
      at->state = TopicPlan::State::kAbsent;
    });
  });
}

// --- questions and changes

void Simulation::operator_turn() {
  const std::uint64_t what = random_.below(100);
  const std::size_t topic = random_.below(topics_.size());
  if (what < 45) {
    const bool audit = what < 3;
    call(any_edge(), [this, audit] { ask_lag(audit, {}); });
  } else if (what < 60) {
    auto all = std::make_shared<std::vector<DeadSeen>>();
    if (topics_[topic].state == TopicPlan::State::kReady) {
      call(any_edge(), [this, topic, all] { ask_dead(topic, std::nullopt, all, {}); });
    }
  } else if (what < 68) {
    redrive(topic);
  } else if (what < 76) {
    reopen(groups_[random_.below(groups_.size())]);
  } else if (what < 78) {
    if (purges_) purge(topic);
  } else if (what < 80) {
    TopicPlan& plan = topics_[topic];
    if (deletes_topics_ && plan.state == TopicPlan::State::kReady && random_.chance(1, 3)) {
      plan.state = TopicPlan::State::kLeaving;
      checker_->topic_deleting(plan.name);
    }
  } else {
    look_around();
  }
}

void Simulation::ask_lag(bool audit, std::function<void(const std::vector<api::GroupLag>&)> then) {
  const Ms invoked = world_->time().now();
  const std::uint32_t edge = any_edge();
  // On the thread that has the connection, whoever called.
  call(edge, [this, audit, invoked, edge, then = std::move(then)] {
    admin(edge).lag(
        std::nullopt, std::nullopt, audit,
        [this, invoked, then](Result<std::vector<api::GroupLag>> answer) {
          sync_time();
          if (!answer) {
            note(fmt::format("lag: {}", answer.error().detail));
            return;
          }
          for (const api::GroupLag& group : *answer) {
            for (const auto& [partition, lag] : group.partitions) {
              ProgressSeen seen;
              seen.topic = group.topic;
              seen.group = group.group;
              seen.partition = partition;
              seen.invoked = invoked;
              seen.generation = lag.report.generation.value();
              seen.frontier = lag.report.frontier.value();
              seen.start = lag.report.start.value();
              seen.log_start = lag.log_start.value();
              seen.high_watermark = lag.high_watermark.value();
              seen.settled_ahead = lag.report.settled_ahead;
              seen.lag = lag.lag;
              seen.pending = lag.pending;
              note(fmt::format("lag {}/{}:{} generation {} frontier {} lag {} pending {} hw {}",
                               seen.topic, seen.group, partition, seen.generation, seen.frontier,
                               seen.lag, seen.pending, seen.high_watermark));
              checker_->progress(seen);
              ends_[{group.topic, partition}] = {seen.log_start, seen.high_watermark};
            }
          }
          if (then) then(*answer);
        });
  });
}

void Simulation::ask_dead(std::size_t topic, std::optional<std::string> after,
                          std::shared_ptr<std::vector<DeadSeen>> all, std::function<void()> then) {
  const std::uint32_t edge = any_edge();
  call(edge, [this, edge, topic, after, all, then = std::move(then)] {
    api::DeadLetterQuery query;
    query.topic = topics_[topic].name;
    query.after = after;
    query.max = 50;
    admin(edge).browse_dead(query, [this, topic, all, then](Result<api::DeadLetterPage> page) {
      sync_time();
      if (!page) {
        note(fmt::format("browse: {}", page.error().detail));
        return;
      }
      std::vector<DeadSeen> seen;
      for (const api::DeadLetterItem& item : page->items) {
        auto frame = event::FrameView::open(item.frame);
        DeadSeen dead;
        dead.entry = item.id;
        dead.topic = item.origin_topic;
        dead.group = item.group;
        dead.partition = item.origin_partition;
        dead.offset = item.origin_offset.value();
        dead.reason = item.reason;
        dead.attempts = item.attempts;
        dead.state = state_word(item.state);
        if (frame) {
          dead.key = frame->get("dlqkey");
          dead.event = event_number(frame->get("id"));
        }
        seen.push_back(std::move(dead));
      }
      checker_->dead_letters(seen);
      all->insert(all->end(), seen.begin(), seen.end());
      if (page->next) {
        ask_dead(topic, page->next, all, then);
      } else if (then) {
        then();
      }
    });
  });
}

void Simulation::ask_log(std::size_t topic, std::map<std::uint32_t, Offset> cursor,
                         std::shared_ptr<std::vector<LogSeen>> all, std::function<void()> then) {
  const std::uint32_t edge = any_edge();
  call(edge, [this, edge, topic, cursor = std::move(cursor), all, then = std::move(then)] {
    api::EventsQuery query;
    query.topic = topics_[topic].name;
    query.limit = 200;
    query.cursor = cursor;
    admin(edge).events(query, [this, topic, all, then](Result<api::EventsAnswer> answer) {
      sync_time();
      if (!answer) {
        checker_->fail("the log can be read", answer.error().detail);
        return;
      }
      for (const api::EventItem& item : answer->items) {
        auto frame = event::FrameView::open(item.frame);
        if (!frame) {
          checker_->fail("a record is a frame", frame.error().detail);
          return;
        }
        all->push_back({topics_[topic].name, item.partition, item.offset.value(),
                        event_number(frame->get("id")), std::string(frame->data())});
      }
      if (answer->end) {
        then();
      } else {
        ask_log(topic, answer->next, all, then);
      }
    });
  });
}

// A replay, or a reset where this seed has them; sometimes only a dry run.
void Simulation::reopen(GroupPlan& group) {
  const std::size_t index = static_cast<std::size_t>(group.facts.topic[1] - '0');
  TopicPlan& topic = topics_[index];
  if (group.reopening || topic.state != TopicPlan::State::kReady ||
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
      sync_time();
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
      sync_time();
      note(fmt::format("purge: {}",
                       purged ? std::to_string(purged->purged) : purged.error().detail));
    });
  });
}

// Questions whose answers are not checked further; they must not disturb.
void Simulation::look_around() {
  const std::uint32_t edge = any_edge();
  const std::uint64_t what = random_.below(7);
  const GroupFacts& group = groups_[random_.below(groups_.size())].facts;
  call(edge, [this, edge, what, topic = group.topic, name = group.name] {
    api::Admin& ask = admin(edge);
    switch (what) {
      case 0:
        ask.explain(topic, name, std::nullopt, [](Result<api::ExplainAnswer>) {});
        break;
      case 1: {
        api::HolesQuery query;
        query.topic = topic;
        query.group = name;
        ask.holes(query, [](Result<api::HolesAnswer>) {});
        break;
      }
      case 2:
        ask.topics([](Result<std::vector<api::TopicItem>>) {});
        break;
      case 3:
        ask.groups(std::nullopt, [](Result<std::vector<api::GroupItem>>) {});
        break;
      case 4:
        ask.clients(std::nullopt, [](Result<std::vector<api::ClientItem>>) {});
        break;
      case 5:
        ask.lanes(std::nullopt, std::nullopt, [](Result<std::vector<api::LaneItem>>) {});
        break;
      default:
        ask.offsets(topic, [](Result<std::vector<api::OffsetItem>>) {});
        break;
    }
  });
}

// --- faults

void Simulation::start_faults() {
  const Ms from = world_->time().now();
  const auto at = [&] { return from + random_.between(4000, active_ms_ - 3000); };
  // At least one crash and one disk fault in every seed.
  const std::int64_t deaths = random_.between(1, 4);
  for (std::int64_t i = 0; i < deaths; ++i) {
    const bool crash = i == 0 || !random_.chance(1, 5);
    const Death how = !crash                 ? Death::kStop
                      : random_.chance(1, 2) ? Death::kPowerCut
                                             : Death::kKill;
    const std::uint64_t operations = random_.chance(1, 2) ? random_.below(40) + 1 : 0;
    world_->time().outside(at(), [this, how, operations] {
      if (!world_->alive() || healing_) return;
      if (how != Death::kStop && operations > 0) {
        world_->strike_after(operations, how);
      } else {
        death_wanted_ = how;
      }
    });
  }
  const std::int64_t faults = random_.between(1, 4);
  for (std::int64_t i = 0; i < faults; ++i) {
    world_->time().outside(at(), [this] {
      if (!healing_) fault();
    });
  }
}

void Simulation::restart_soon(Death how, Ms after) {
  world_->time().outside(world_->time().now() + after, [this, how, life = world_->life()] {
    if (world_->alive() && world_->life() == life) death_wanted_ = how;
  });
}

void Simulation::fault() {
  if (!world_->alive()) {
    // As soon as there is somebody to hit.
    world_->time().outside(world_->time().now() + 500, [this] {
      if (!healing_) fault();
    });
    return;
  }
  testing::SimScheduler& time = world_->time();
  const Ms now = time.now();
  Ms until = now;
  const std::uint64_t what = random_.below(9);
  note(fmt::format("FAULT {}", what));
  switch (what) {
    case 0:
      world_->arm_fault(DiskFault::kWriteError);
      break;
    case 1:
      world_->arm_fault(DiskFault::kTornWrite);
      break;
    case 2:
      world_->arm_fault(DiskFault::kNoSpace);
      break;
    case 3:
    case 4:
      world_->arm_fault(DiskFault::kSyncError);
      restart_soon(random_.chance(1, 2) ? Death::kKill : Death::kPowerCut,
                   random_.between(100, 3000));
      break;
    case 5:
      ++result_.disk_faults;
      until = now + random_.between(100, 4000);
      world_->note_trouble(until);
      time.stall_storage(until);
      break;
    case 6:
    case 7:
      ++result_.disk_faults;
      world_->set_full(true);
      time.outside(now + random_.between(300, 4000), [this] { world_->set_full(false); });
      break;
    default:
      ++result_.disk_faults;  // a machine that stands still writes nothing either
      until = now + random_.between(100, 7000);
      world_->note_trouble(until);
      checker_->paused(until);
      time.pause_process(until);
      if (random_.chance(1, 2)) time.jump_wall(random_.between(-20'000, 20'000));
      break;
  }
}

}  // namespace ackline::sim

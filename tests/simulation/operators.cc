// Operators: topics come and go, questions are asked.
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
    for (GroupPlan& group : groups_) {
      if (!group.unsure || group.facts.topic != topic.name) continue;
      if (topic.state == TopicPlan::State::kReady) end_group(group, topic);
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
      if (dying()) return;
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
      if (dying()) return;
      sync_time();
      --at->changes;
      const bool gone = removed || removed.error().code == ErrorCode::kTopicUnknown;
      note(fmt::format("topic {}: {}", at->name, gone ? "deleted" : removed.error().detail));
      if (!gone) return;  // once more, until it is certain
      ++result_.topic_deletions;
      checker_->topic_deleted(at->name);
      for (GroupPlan& group : groups_) {
        group.unsure = group.unsure && group.facts.topic != at->name;
      }
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
  if (admins_ && more_.chance(1, 12)) return meddle();
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
    if (purges_) {
      purge(topic);
    } else {
      replay_lane(groups_[more_.below(groups_.size())]);
    }
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
          if (dying()) return;
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
      if (dying()) return;
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
      if (dying()) return;
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

}  // namespace ackline::sim

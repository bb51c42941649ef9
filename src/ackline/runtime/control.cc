#include "ackline/runtime/control.h"

#include "ackline/base/logging.h"
#include "ackline/base/storage_lanes.h"
#include "ackline/io/failpoint.h"
#include "ackline/runtime/catalog_records.h"

namespace ackline::runtime {
namespace {

constexpr std::size_t kChunk = 100;  // writes a transaction, below MetaStore's bound

// What is in meta now and at no shard yet.
void fail_in_meta(const Delta& delta) {
  if (!io::failpoints_armed().load(std::memory_order_relaxed)) return;
  for (const Change& change : delta) {
    if (std::holds_alternative<TopicPtr>(change)) {
      io::failpoint(io::Failpoint::kTopicInMeta);
    } else if (std::holds_alternative<GroupPtr>(change)) {
      io::failpoint(io::Failpoint::kGroupInMeta);
    } else if (std::holds_alternative<SubscriptionPtr>(change)) {
      io::failpoint(io::Failpoint::kSubscriptionInMeta);
    } else if (std::holds_alternative<LanePtr>(change)) {
      io::failpoint(io::Failpoint::kLaneInMeta);
    } else {
      io::failpoint(io::Failpoint::kRemovalInMeta);
    }
  }
}

}  // namespace

Control::Control(Dependencies dependencies, Broadcast broadcast)
    : deps_(dependencies), broadcast_(std::move(broadcast)) {}

Result<void> Control::load() {
  auto numbers = deps_.meta.get(kNumbersKey);
  if (!numbers) return fail(numbers);
  if (*numbers) {
    auto decoded = decode_numbers((*numbers)->value);
    if (!decoded) return fail(decoded);
    numbers_ = *decoded;
  }
  std::vector<std::string> orphans;
  if (auto done = load_entities(orphans); !done) return done;
  for (const std::string& key : orphans) {
    log_info("a record without its topic or group is removed", {{"key", key}});
    if (auto done = deps_.meta.remove(key); !done) return fail(done);
  }
  return {};
}

Result<void> Control::load_entities(std::vector<std::string>& orphans) {
  auto topics = deps_.meta.get_with_prefix(kTopicsPrefix);
  if (!topics) return fail(topics);
  for (const meta::Entry& entry : topics->entries) {
    auto topic = decode_topic(entry.value);
    if (!topic) return fail(topic);
    catalog_.apply(std::make_shared<const Topic>(std::move(*topic)));
  }
  auto groups = deps_.meta.get_with_prefix(kGroupsPrefix);
  if (!groups) return fail(groups);
  for (const meta::Entry& entry : groups->entries) {
    auto group = decode_group(entry.value);
    if (!group) return fail(group);
    const TopicPtr topic = catalog_.topic(group->topic);
    if (!topic || topic->incarnation != group->incarnation) {
      orphans.push_back(entry.key);
      continue;
    }
    catalog_.apply(std::make_shared<const Group>(std::move(*group)));
  }
  if (auto done = deps_.subscriptions.refresh(); !done) return done;
  for (const std::string& topic : deps_.subscriptions.topics()) {
    for (const auto& stored : deps_.subscriptions.targets_for(topic, nullptr)) {
      const Subscription& one = stored.subscription;
      const TopicPtr of = catalog_.topic(one.topic);
      if (!of || of->incarnation != one.incarnation || !catalog_.group(one.topic, one.group)) {
        if (auto gone = deps_.subscriptions.remove(one.topic, one.client_id); !gone)
          return fail(gone);
        continue;
      }
      catalog_.apply(std::make_shared<const Subscription>(one));
    }
  }
  if (auto done = look_after_left_groups(orphans); !done) return done;
  auto lanes = deps_.meta.get_with_prefix(kLanesPrefix);
  if (!lanes) return fail(lanes);
  for (const meta::Entry& entry : lanes->entries) {
    auto lane = decode_lane(entry.value);
    if (!lane) return fail(lane);
    if (catalog_.group(lane->group_number) == nullptr) {
      orphans.push_back(entry.key);
      continue;
    }
    catalog_.apply(std::make_shared<const Lane>(std::move(*lane)));
  }
  return {};
}

// What a crash between the subscription and its group left: a group of one ends with its client,
// any other is empty from now on.
Result<void> Control::look_after_left_groups(std::vector<std::string>& orphans) {
  for (const GroupPtr& group : catalog_.groups({})) {
    const std::string key = group_key(group->topic, group->name);
    if (!catalog_.subscriptions_of_group(group->topic, group->name).empty()) continue;
    if (group->policy.mode != delivery::Mode::kClustering) {
      orphans.push_back(key);
      catalog_.apply(RemoveGroup{group->topic, group->name});
    } else if (group->empty_since == WallMs{0}) {
      auto empty = std::make_shared<Group>(*group);
      empty->empty_since = deps_.home.clock().wall();
      if (auto done = deps_.meta.put(key, encode(*empty)); !done) return fail(done);
      catalog_.apply(GroupPtr(std::move(empty)));
    }
  }
  return {};
}

void Control::change(Planner planner, Done done) {
  queue_.push_back({std::move(planner), std::move(done)});
  next();
}

void Control::next() {
  if (busy_ || queue_.empty()) return;
  busy_ = true;
  Pending pending = std::move(queue_.front());
  queue_.pop_front();
  Numbers numbers = numbers_;
  auto plan = pending.planner(catalog_, numbers);
  if (!plan || (plan->delta.empty() && plan->writes.empty())) {
    // Never inside the caller's call, like every other answer.
    deps_.home.post([this, done = std::move(pending.done),
                     outcome = plan ? Result<void>() : Result<void>(fail(plan))]() mutable {
      busy_ = false;
      done(std::move(outcome));
      next();
    });
    return;
  }
  write(std::make_shared<Plan>(std::move(*plan)), numbers, std::move(pending.done));
}

void Control::write(const std::shared_ptr<Plan>& plan, Numbers numbers, Done done) {
  auto outcome = std::make_shared<Outcome>();
  deps_.storage.run(
      storage_lane::meta(),
      [this, plan, numbers, outcome] { outcome->done = commit(*plan, numbers, *outcome); },
      deps_.home,
      [this, plan, numbers, outcome, done = std::move(done)]() mutable {
        if (outcome->numbers_taken) numbers_ = numbers;
        if (!outcome->done) {
          busy_ = false;
          done(std::move(outcome->done));
          next();
          return;
        }
        fail_in_meta(plan->delta);
        for (const Change& change : plan->delta) catalog_.apply(change);
        auto delta = std::make_shared<const Delta>(std::move(plan->delta));
        broadcast_(std::move(delta), [this, done = std::move(done)]() mutable {
          io::failpoint(io::Failpoint::kChangeAdopted);
          busy_ = false;
          done({});
          next();
        });
      });
}

// Up to kChunk of `writes` from `at` on, in one transaction; moves `at` behind them.
Result<void> Control::commit_some(const std::vector<meta::WriteOp>& writes, std::size_t& at) {
  meta::Transaction transaction;
  const auto end = std::min(writes.size(), at + kChunk);
  transaction.writes.assign(writes.begin() + static_cast<std::ptrdiff_t>(at),
                            writes.begin() + static_cast<std::ptrdiff_t>(end));
  if (auto done = deps_.meta.commit(transaction); !done) return fail(done);
  at = end;
  return {};
}

// What an earlier change could not write: before anything that might use the same names.
Result<void> Control::finish_left() {
  for (std::size_t at = 0; at < left_.size();) {
    if (auto done = commit_some(left_, at); !done) return fail(done);
  }
  left_.clear();
  return {};
}

// The first transaction decides. When a later one fails the change has been made all the same: a
// start would finish it, and here the next change does. On a storage thread; `busy_` keeps
// everything else away.
Result<void> Control::commit_writes(const Plan& plan, const Numbers& numbers, Outcome& outcome) {
  std::vector<meta::WriteOp> writes;
  if (numbers != numbers_) writes.push_back({std::string(kNumbersKey), encode(numbers), {}});
  writes.insert(writes.end(), plan.writes.begin(), plan.writes.end());
  if (writes.empty()) return {};
  std::size_t at = 0;
  if (auto done = commit_some(writes, at); !done) return fail(done);
  outcome.numbers_taken = true;  // whatever becomes of the rest
  while (at < writes.size()) {
    if (auto done = commit_some(writes, at); !done) {
      log_warn("a change is in part not written to meta yet: the next change or start does it",
               {{"left", writes.size() - at}, {"error", done.error().detail}});
      left_.assign(writes.begin() + static_cast<std::ptrdiff_t>(at), writes.end());
      break;
    }
  }
  return {};
}

// On a storage thread; `busy_` keeps everything else away.
Result<void> Control::commit(const Plan& plan, const Numbers& numbers, Outcome& outcome) {
  if (auto done = finish_left(); !done) return fail(done);
  // An export that was under way when a group of that name was deleted may have come after its
  // frontiers were forgotten: they are not the new group's.
  for (const Change& change : plan.delta) {
    const auto* group = std::get_if<GroupPtr>(&change);
    if (group == nullptr || catalog_.group((*group)->topic, (*group)->name)) continue;
    if (auto done = deps_.offsets.forget((*group)->topic, (*group)->name); !done) return fail(done);
  }
  for (const RemoveSubscription& gone : plan.remove_subscriptions) {
    if (auto done = deps_.subscriptions.remove(gone.topic, gone.client_id); !done)
      return fail(done);
  }
  if (auto done = commit_writes(plan, numbers, outcome); !done) return fail(done);
  for (const SubscriptionPtr& one : plan.put_subscriptions) {
    auto present = deps_.subscriptions.read(one->topic, one->client_id);
    if (!present) return fail(present);
    auto done = deps_.subscriptions.put(*one, *present ? (*present)->revision : meta::Revision{0});
    if (!done) return fail(done);
    if (!done->done) {
      return fail(ErrorCode::kStale, "another instance changed the subscription at the same time",
                  "Try again.");
    }
  }
  for (const auto& [topic, group] : plan.forget_offsets) {
    // It is gone already. Whoever makes one of that name forgets them first.
    if (auto done = deps_.offsets.forget(topic, group); !done) {
      log_warn("exported frontiers of what was deleted are still there",
               {{"topic", topic}, {"group", group}, {"error", done.error().detail}});
    }
  }
  return {};
}

}  // namespace ackline::runtime

// What exists: partitions, groups, and the progress of one on the other.
#include <algorithm>
#include <utility>

#include "ackline/base/check.h"
#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

std::uint64_t route_key(ProgressNumber progress, PartitionIndex partition) {
  return (std::uint64_t{progress.value()} << 32U) | partition.value();
}

}  // namespace

void Dispatcher::Impl::add_partition(PartitionSpec spec) {
  const PartitionNumber number = spec.number;
  auto partition = std::make_unique<Partition>();
  partition->spec = std::move(spec);
  partitions_.try_emplace(number, std::move(partition));
}

void Dispatcher::Impl::remove_partition(PartitionNumber number) {
  const auto found = partitions_.find(number);
  if (found == partitions_.end()) {
    return;
  }
  while (!found->second->progress.empty()) {
    remove_progress(*found->second->progress.back());
  }
  partitions_.erase(found);
}

void Dispatcher::Impl::add_group(GroupSpec spec) {
  ACKLINE_CHECK(!spec.policy.backoff_ms.empty());
  auto& group = groups_[spec.number];
  if (group == nullptr) {
    group = std::make_unique<Group>();
  }
  group->spec = std::move(spec);
}

void Dispatcher::Impl::update_group(ProgressNumber number, GroupPolicy policy) {
  ACKLINE_CHECK(!policy.backoff_ms.empty());
  if (Group* group = find_group(number); group != nullptr) {
    const bool reorders = policy.ordering != group->spec.policy.ordering;
    group->spec.policy = std::move(policy);
    for (Progress* progress : group->progress) {
      if (reorders && !progress->is_lane()) {
        reorder(*progress);
      }
      forget_short(*progress);
      wake(*progress);
    }
  }
}

void Dispatcher::Impl::remove_group(ProgressNumber number) {
  Group* group = find_group(number);
  if (group == nullptr) {
    return;
  }
  while (!group->progress.empty()) {
    remove_progress(*group->progress.back());
  }
  while (!group->clients.empty()) {
    forget_client(*group->clients.back());
  }
  std::erase(work_, group);
  groups_.erase(number);
}

Progress& Dispatcher::Impl::make_progress(ProgressKey key, Group& group, Partition& partition,
                                          Offset start) {
  auto made = std::make_unique<Progress>(key, group, partition, std::max(start, Offset(0)),
                                         options_.ahead_max, clock_);
  Progress& progress = *made;
  // Not at `clock_`: that may go back to what the timers have seen, and a wheel that is ahead of it
  // would end leases early (simulation seed 5487).
  progress.wheel = io::TimerWheel<SlotSlab>(ticked_);
  progress.known_end = progress.start;
  progress.offered_below = progress.start;
  progress.node = nodes_.add(&progress, nullptr);
  progress_.insert_or_assign(key, std::move(made));
  routes_.insert_or_assign(route_key(key.progress, partition.spec.index), &progress);
  group.progress.push_back(&progress);
  partition.progress.push_back(&progress);
  return progress;
}

void Dispatcher::Impl::remove_progress(Progress& progress) {
  drop_all_slots(progress);
  forget_short(progress);
  recent_progress_ = nullptr;
  timers_.disarm(nodes_, progress.node);
  nodes_.remove(progress.node);
  std::erase(progress.group->run, &progress);
  std::erase(progress.group->parked, &progress);
  std::erase(progress.group->progress, &progress);
  std::erase(progress.partition->progress, &progress);
  std::erase(resending_, &progress);
  routes_.erase(route_key(progress.key.progress, progress.partition->spec.index));
  const ProgressKey key = progress.key;
  progress_.erase(key);
}

void Dispatcher::Impl::open_progress(ProgressKey key, Offset start) {
  Group* group = find_group(key.progress);
  const auto partition = partitions_.find(key.partition);
  if (group == nullptr || partition == partitions_.end() || find(key) != nullptr) {
    return;
  }
  Progress& progress = make_progress(key, *group, *partition->second, start);
  if (resumed_) {
    resume_progress(progress, true);
  }
}

Progress* Dispatcher::Impl::find(ProgressKey key) const {
  const auto found = progress_.find(key);
  return found == progress_.end() ? nullptr : found->second.get();
}

Progress* Dispatcher::Impl::route(ProgressNumber progress, PartitionIndex partition) const {
  // A batch of settles is mostly about one of them.
  if (recent_progress_ != nullptr && recent_progress_->key.progress == progress &&
      recent_progress_->partition->spec.index == partition) {
    return recent_progress_;
  }
  const auto found = routes_.find(route_key(progress, partition));
  if (found == routes_.end()) {
    return nullptr;
  }
  recent_progress_ = found->second;
  return found->second;
}

Group* Dispatcher::Impl::find_group(ProgressNumber number) const {
  const auto found = groups_.find(number);
  return found == groups_.end() ? nullptr : found->second.get();
}

Client* Dispatcher::Impl::find_client(ClientNumber number) const {
  if (recent_client_ != nullptr && recent_client_->spec.number == number) {
    return recent_client_;
  }
  const auto found = clients_.find(number);
  if (found == clients_.end()) {
    return nullptr;
  }
  recent_client_ = found->second.get();
  return recent_client_;
}

}  // namespace ackline::delivery

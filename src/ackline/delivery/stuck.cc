// Whether somebody is left waiting without a reason.
//
// Between two looks a pump has run. What could be offered at both and shows no sign of work in
// between was forgotten: a wake that was lost, a read that never came back, a timer that does not
// fire. The looks ask the facts (slots, clients, offsets), not the lists that the pump works from,
// since those are what may be wrong. They are few and far between; the hot path pays nothing.
#include <algorithm>

#include "ackline/delivery/impl.h"

namespace ackline::delivery {

namespace {

// A client that could take one event of any usual size. Who is nearly full may lack the room for
// the very next one, which is not known here.
bool has_room(const Client& client, PartitionIndex partition) {
  return client.demand > 0 && client.held < client.window_events &&
         client.fits(client.window_bytes / 2) && client.takes(partition);
}

}  // namespace

bool Dispatcher::Impl::could_offer(const Progress& progress) const {
  if (progress.read_again_at) {
    return false;  // the log could not be read: that has a time of its own
  }
  const auto& clients = progress.group->clients;
  const PartitionIndex index = progress.partition->spec.index;
  // Who is closed for a large event keeps its room for that one, as long as something waits there.
  const auto room = [index](const Client* client) {
    const bool saves = client->short_of != nullptr && !client->fits(room_wanted(*client)) &&
                       (has_work(*client->short_of) || !client->short_of->ready_suspects.empty());
    return !saves && has_room(*client, index);
  };
  if (std::ranges::none_of(clients, room)) {
    return false;
  }
  const auto unsuspicious = [&](const Client* client) {
    return room(client) && client->suspects < options_.suspects_per_client;
  };
  return has_work(progress) ||
         (!progress.ready_suspects.empty() && std::ranges::any_of(clients, unsuspicious));
}

// Something waits that any client may have.
bool Dispatcher::Impl::has_work(const Progress& progress) {
  if (!progress.ready.empty()) {
    return true;
  }
  if (progress.is_lane()) {
    const auto open = [](const LaneItem& item) { return item.state == LaneItemState::kOpen; };
    return std::ranges::any_of(progress.lane->items, open);
  }
  if (progress.keys.ready() != 0) {
    return true;
  }
  const bool one_by_one = progress.group->spec.policy.ordering == Ordering::kPartition;
  return progress.frontier.cursor() < progress.partition->spec.end && !progress.frontier.full() &&
         !(one_by_one && progress.slots.used() > 0);
}

std::vector<StuckReport> Dispatcher::Impl::look_for_stuck(std::int64_t after_ms) {
  std::vector<StuckReport> changed;
  if (!resumed_ || paused_) {
    watches_.clear();
    return changed;
  }
  std::map<ProgressKey, Watch> seen;
  for (const auto& [key, progress] : progress_) {
    // What is due and does not come is no better than what is not offered.
    const auto due = progress->wheel.next_due();
    const bool late = due && progress->wheel.size() > 0 && due->value() + after_ms < clock_.value();
    if (!late && !could_offer(*progress)) {
      continue;
    }
    Watch now{.offers = progress->next_offer,
              .cursor = progress->frontier.cursor(),
              .committed = progress->frontier.committed(),
              .generation = progress->generation,
              .group = progress->group->spec.number,
              .since = clock_,
              .stuck = false};
    const auto before = watches_.find(key);
    if (before != watches_.end() && before->second.same(now)) {
      now.since = before->second.since;
      now.stuck = clock_.value() - now.since.value() >= after_ms;
    }
    seen.emplace(key, now);
  }
  const auto was_stuck = [](const std::map<ProgressKey, Watch>& in, const ProgressKey& key) {
    const auto found = in.find(key);
    return found != in.end() && found->second.stuck;
  };
  for (const auto& [key, watch] : seen) {
    if (watch.stuck && !was_stuck(watches_, key)) {
      changed.push_back({key, watch.group, clock_.value() - watch.since.value(), true});
    }
  }
  for (const auto& [key, watch] : watches_) {
    if (watch.stuck && !was_stuck(seen, key)) {
      changed.push_back({key, watch.group, clock_.value() - watch.since.value(), false});
    }
  }
  watches_ = std::move(seen);
  return changed;
}

std::vector<StuckReport> Dispatcher::Impl::stuck() const {
  std::vector<StuckReport> all;
  for (const auto& [key, watch] : watches_) {
    if (watch.stuck) {
      all.push_back({key, watch.group, clock_.value() - watch.since.value(), true});
    }
  }
  return all;
}

}  // namespace ackline::delivery

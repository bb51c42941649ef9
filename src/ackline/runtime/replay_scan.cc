#include "ackline/runtime/replay_scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/storage_lanes.h"
#include "ackline/event/expiry.h"
#include "ackline/event/frame.h"

namespace ackline::runtime {
namespace {

// Small enough that a step on the shard is a pointer walk, large enough to be worth two hops.
constexpr std::uint32_t kStepEvents = 1024;
constexpr std::uint32_t kStepBytes = 1U << 20U;

struct Walk {
  Shard& shard;
  std::shared_ptr<const ReplaySelection> selection;
  std::move_only_function<void(ReplayPart)> done;
  ReplayPart part;
  std::map<std::uint32_t, ReplaySelection::Range>::const_iterator at;
  Offset next;

  [[nodiscard]] PartitionNumber number() const { return selection->topic->partitions[at->first]; }
  [[nodiscard]] ReplayFound& found() { return part.found[at->first]; }
};
using WalkPtr = std::shared_ptr<Walk>;

struct Match {
  Offset offset;
  std::uint64_t bytes = 0;
};

// What was read, and what of it is meant.
struct Sieve {
  log::ReadBatch batch;
  std::vector<Match> matches;

  // On a storage thread.
  void sift(const ReplaySelection& want, const std::optional<Offset>& until) {
    const auto* own = want.group->policy.filter.get();
    for (const log::StoredEvent& stored : batch.events) {
      if (until && stored.offset >= *until) break;
      auto frame = event::FrameView::open(stored.frame);
      if (!frame) continue;
      if (own != nullptr && own->evaluate(*frame) == event::FilterResult::kNoMatch) continue;
      if (want.filter && want.filter->evaluate(*frame) == event::FilterResult::kNoMatch) continue;
      if (event::is_expired(*frame, stored.append_time, want.now)) continue;
      matches.push_back({stored.offset, stored.frame.size()});
    }
  }
};

void step(const WalkPtr& walk);

void take(const WalkPtr& walk, const Sieve& sieve) {
  ReplayFound& found = walk->found();
  std::vector<Offset> offsets;
  offsets.reserve(sieve.matches.size());
  for (const Match& match : sieve.matches) offsets.push_back(match.offset);
  found.matched += offsets.size();
  const delivery::ProgressKey key{walk->selection->group->number, walk->number()};
  auto match = sieve.matches.begin();
  for (const Offset offset : walk->shard.dispatcher().replayable(key, offsets)) {
    while (match->offset != offset) ++match;
    found.bytes += match->bytes;
    found.offsets.push_back(offset);
  }
  if (found.offsets.size() > walk->selection->max_events) {
    walk->part.error = too_many_to_replay(walk->selection->max_events);
  }
}

// One read; false: what it needs is not in memory.
bool read_some(const WalkPtr& walk) {
  log::PartitionLog* log = walk->shard.partition(walk->number());
  const std::optional<Offset> until = walk->at->second.until;
  const bool over =
      log == nullptr || walk->next > log->high_watermark() || (until && walk->next >= *until);
  auto batch = over ? Result<log::ReadBatch>()
                    : log->read(walk->next, {.max_events = kStepEvents, .max_bytes = kStepBytes});
  if (!batch && batch.error().code == ErrorCode::kTimeout) return false;
  if (!batch) walk->part.error = batch.error();
  if (over || !batch || batch->next <= walk->next) {
    ++walk->at;
    if (walk->at != walk->selection->ranges.end()) walk->next = walk->at->second.from;
    walk->shard.executor().post([walk] { step(walk); });
    return true;
  }
  walk->next = batch->next;
  auto sieve = std::make_shared<Sieve>();
  sieve->batch = std::move(*batch);
  walk->shard.storage().run(
      storage_lane::replay_sift(walk->number()),
      [walk, sieve, until] { sieve->sift(*walk->selection, until); }, walk->shard.executor(),
      [walk, sieve] {
        take(walk, *sieve);
        step(walk);
      });
  return true;
}

// To the next partition of this shard that has something, or to the end.
void step(const WalkPtr& walk) {
  const ReplaySelection& want = *walk->selection;
  while (!walk->part.error && walk->at != want.ranges.end()) {
    const log::PartitionLog* log = walk->shard.partition(walk->number());
    const auto report =
        log == nullptr ? std::nullopt
                       : walk->shard.dispatcher().progress({want.group->number, walk->number()});
    if (report) {
      if (log->damage()) {
        walk->part.error = *log->damage();
        break;
      }
      walk->found().frontier = report->frontier;
      walk->next = std::max(walk->next, log->log_start());
      walk->shard.read_cold(walk->number(), walk->next, [walk] { return read_some(walk); });
      return;
    }
    ++walk->at;
    if (walk->at != want.ranges.end()) walk->next = walk->at->second.from;
  }
  walk->done(std::move(walk->part));
}

}  // namespace

namespace {

Error too_large_a_replay(std::string detail) {
  return Error{ErrorCode::kTooLarge, std::move(detail),
               "Narrow it with from and until, partitions or filter, and replay the rest after it.",
               "filter"};
}

}  // namespace

Error too_many_to_replay(std::uint64_t max_events) {
  return too_large_a_replay(
      fmt::format("more than {} events match; a lane takes no more at a time", max_events));
}

Error too_sparse_to_replay(std::uint64_t events) {
  return too_large_a_replay(fmt::format(
      "{} events match, too far apart for one lane: their offsets do not fit into its record",
      events));
}

void scan_replay(Shard& shard, std::shared_ptr<const ReplaySelection> selection,
                 std::move_only_function<void(ReplayPart)> done) {
  // What was answered before is in: the round first, then the walk.
  shard.report<bool>([] { return true; },
                     [&shard, selection = std::move(selection),
                      done = std::move(done)](const Result<bool>& synced) mutable {
                       auto walk = std::make_shared<Walk>(
                           Walk{shard, std::move(selection), std::move(done), {}, {}, {}});
                       if (!synced) walk->part.error = synced.error();
                       walk->at = walk->selection->ranges.begin();
                       if (walk->at != walk->selection->ranges.end()) {
                         walk->next = walk->at->second.from;
                       }
                       step(walk);
                     });
}

}  // namespace ackline::runtime

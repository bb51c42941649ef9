#include "tests/support/state/delivery_image.h"

#include <algorithm>
#include <utility>

namespace ackline::state {
namespace {

// Decodes and hands over; kCorrupt leaves the image as it was.
template <class Record, class Use>
Result<void> with(ByteView body, Use use) {
  const Result<Record> record = Record::decode(body);
  if (!record) {
    return fail(record);
  }
  use(*record);
  return {};
}

// Only a damaged or hostile journal comes here; beyond it time stands still rather than overflow.
constexpr MonoMs kTimeMax{1LL << 60};

// Where the lease or the wait ends; a length is at most kDurationMaxMs, so nothing overflows.
MonoMs after(MonoMs now, std::uint64_t duration_ms) {
  return now.plus(static_cast<std::int64_t>(duration_ms));
}

}  // namespace

bool ImageProgress::is_settled(Offset offset) const {
  if (offset <= frontier) {
    return true;
  }
  auto range = settled.upper_bound(offset);
  return range != settled.begin() && std::prev(range)->second >= offset;
}

std::uint64_t ImageProgress::settle(OffsetRange range, Outcome outcome) {
  range.first = std::max(range.first, frontier.next());
  if (range.count() == 0) {
    return 0;
  }
  deliveries.erase(deliveries.lower_bound(range.first), deliveries.upper_bound(range.last));
  std::int64_t fresh = range.count();
  // Takes in every range that overlaps or touches, then puts the union in their place.
  auto at = settled.upper_bound(range.first);
  if (at != settled.begin() && std::prev(at)->second.next() >= range.first) {
    --at;
  }
  OffsetRange merged = range;
  while (at != settled.end() && at->first <= range.last.next()) {
    const OffsetRange overlap{std::max(at->first, range.first), std::min(at->second, range.last)};
    fresh -= overlap.count();
    merged.first = std::min(merged.first, at->first);
    merged.last = std::max(merged.last, at->second);
    at = settled.erase(at);
  }
  if (merged.first == frontier.next()) {
    frontier = merged.last;
  } else {
    settled.emplace(merged.first, merged.last);
  }
  settled_count[outcome] += static_cast<std::uint64_t>(fresh);
  return static_cast<std::uint64_t>(fresh);
}

void ImageProgress::raise_frontier(Offset offset) {
  if (offset <= frontier) {
    return;
  }
  deliveries.erase(deliveries.begin(), deliveries.upper_bound(offset));
  frontier = offset;
  // What it reaches or touches joins it.
  while (!settled.empty() && settled.begin()->first <= frontier.next()) {
    frontier = std::max(frontier, settled.begin()->second);
    settled.erase(settled.begin());
  }
}

void ImageProgress::reopen(Offset to, bool keep_below) {
  if (!keep_below || to <= frontier) {
    frontier = to;
    settled.clear();
    return;
  }
  settled.erase(settled.upper_bound(to), settled.end());
  if (!settled.empty()) {
    Offset& last = settled.rbegin()->second;
    last = std::min(last, to);
  }
}

Result<void> DeliveryImage::apply(RecordType type, PartitionNumber partition, ByteView body) {
  switch (type) {
    case RecordType::kPublish:
      return {};
    case RecordType::kOffer:
      return with<OfferRecord>(body, [&](const auto& record) { on_offer(partition, record); });
    case RecordType::kEnd:
      return with<EndRecord>(body, [&](const auto& record) { on_end(partition, record); });
    case RecordType::kExtend:
      return with<ExtendRecord>(body, [&](const auto& record) { on_extend(partition, record); });
    case RecordType::kSettle:
      return with<SettleRecord>(body, [&](const auto& record) { on_settle(partition, record); });
    case RecordType::kReopen:
      return with<ReopenRecord>(body, [&](const auto& record) { on_reopen(partition, record); });
    case RecordType::kLanePart:
      return with<LanePartRecord>(body,
                                  [&](const auto& record) { on_lane_part(partition, record); });
    case RecordType::kLaneEntry:
      return with<LaneEntryRecord>(body,
                                   [&](const auto& record) { on_lane_entry(partition, record); });
    case RecordType::kLogStart:
      return with<LogStartRecord>(
          body, [&](const auto& record) { log_start_[partition] = record.offset; });
    case RecordType::kAlive:
      return with<AliveRecord>(body, [&](const auto& record) { advance_to(record.elapsed); });
    case RecordType::kBoot:
      return with<BootRecord>(body, [&](const auto& record) {
        boot_ = record;
        boot_at_ = now_;
      });
  }
  return fail(ErrorCode::kUnsupported, "a record type that this build does not know",
              "Use the newer version of Ackline that wrote it.");
}

ImageDelivery* DeliveryImage::current(ProgressNumber progress, PartitionNumber partition,
                                      Offset offset, std::uint32_t slot, std::uint32_t offer) {
  ImageProgress* const known = find(progress, partition);
  if (known == nullptr) {
    return nullptr;
  }
  const auto found = known->deliveries.find(offset);
  if (found == known->deliveries.end() || found->second.state.ref.slot != slot ||
      found->second.state.ref.offer != offer) {
    return nullptr;
  }
  return &found->second;
}

void DeliveryImage::on_offer(PartitionNumber partition, const OfferRecord& record) {
  ImageProgress& progress = progress_[{record.progress, partition}];
  if (progress.is_settled(record.offset)) {
    return;  // terminal wins over an offer that raced it
  }
  ImageDelivery& delivery = progress.deliveries[record.offset];
  DeliveryState& state = delivery.state;
  state.ref = {record.progress, partition, record.offset, record.slot, record.offer};
  state.epoch = boot_.epoch;
  state.leased = true;
  state.lane = record.lane;
  state.attempt = record.attempt;
  state.restarts = record.restarts;
  state.losses = record.losses != 0 ? record.losses : state.losses;
  state.client = record.client;
  state.key_hash = record.key_hash;
  delivery.since = now_;
  delivery.due = after(now_, record.lease_ms);
}

void DeliveryImage::on_end(PartitionNumber partition, const EndRecord& record) {
  ImageDelivery* const delivery =
      current(record.progress, partition, record.offset, record.slot, record.offer);
  if (delivery == nullptr || !delivery->state.leased) {
    return;
  }
  DeliveryState& state = delivery->state;
  state.leased = false;
  delivery->since = now_;
  delivery->due = after(now_, record.retry_in_ms);
  switch (record.cause) {
    case EndCause::kWithdrawn:
      --state.attempt;
      if (state.attempt == 0 && state.restarts == 0) {
        progress_[{record.progress, partition}].deliveries.erase(record.offset);
      }
      return;
    case EndCause::kExpiry:
    case EndCause::kLoss:
      ++state.losses;
      break;
    case EndCause::kNack:
    case EndCause::kRestart:
      break;
  }
  state.last_error = record.error;
}

void DeliveryImage::on_extend(PartitionNumber partition, const ExtendRecord& record) {
  ImageDelivery* const delivery =
      current(record.progress, partition, record.offset, record.slot, record.offer);
  if (delivery != nullptr && delivery->state.leased) {
    delivery->due = after(now_, record.lease_ms);
  }
}

void DeliveryImage::on_settle(PartitionNumber partition, const SettleRecord& record) {
  ImageProgress& progress = progress_[{record.progress, partition}];
  for (const OffsetRange& range : record.ranges) {
    const std::uint64_t fresh = progress.settle(range, record.outcome);
    if (record.dead && fresh > 0) {
      progress.dead[range.first] = *record.dead;
    }
  }
}

void DeliveryImage::on_reopen(PartitionNumber partition, const ReopenRecord& record) {
  const bool known = find(record.progress, partition) != nullptr;
  ImageProgress& progress = progress_[{record.progress, partition}];
  if (known && record.kind == ReopenKind::kStart && record.generation == progress.generation) {
    progress.raise_frontier(record.frontier);
    return;
  }
  progress.generation = record.generation;
  progress.reopen(record.frontier, record.kind == ReopenKind::kReplay);
  progress.dead.erase(progress.dead.upper_bound(record.frontier), progress.dead.end());
  std::erase_if(progress.deliveries, [&](const auto& one) {
    return !std::ranges::binary_search(record.kept, one.first);
  });
  // Lanes over what is open again end; their entries are dead again (invariant 18).
  for (auto& [key, lane] : progress_) {
    if (key.second != partition || lane.lane_of != record.progress) {
      continue;
    }
    lane.deliveries.erase(lane.deliveries.upper_bound(record.frontier), lane.deliveries.end());
    for (auto at = lane.entries.upper_bound(record.frontier); at != lane.entries.end(); ++at) {
      if (at->second.state == EntryState::kRedriving) {
        at->second.state = EntryState::kDead;
      }
    }
  }
}

void DeliveryImage::on_lane_part(PartitionNumber partition, const LanePartRecord& record) {
  ImageProgress& lane = progress_[{record.lane, partition}];
  lane.lane_of = record.group;
  for (const LaneEntry& entry : record.entries) {
    lane.entries[entry.offset] = entry;
  }
}

void DeliveryImage::on_lane_entry(PartitionNumber partition, const LaneEntryRecord& record) {
  const LaneEntry& entry = record.entry;
  bool made = false;  // a replayed event that failed has a dead letter from here on
  DeadLetterMark mark_made{.dlq_offset = entry.dlq_offset};
  if (record.lane != ProgressNumber()) {
    ImageProgress& lane = progress_[{record.lane, partition}];
    lane.lane_of = record.group;
    const auto before = lane.entries.find(entry.offset);
    made = entry.state == EntryState::kDead && entry.dlq_offset >= Offset(0) &&
           before != lane.entries.end() && before->second.dlq_offset < Offset(0);
    if (const auto mark = lane.dead.find(entry.offset); mark != lane.dead.end()) {
      mark_made = mark->second;
    }
    lane.entries[entry.offset] = entry;
  }
  ImageProgress* const group = find(record.group, partition);
  if (group != nullptr && made) {
    group->dead[entry.offset] = mark_made;
  }
  if (group != nullptr && entry.state == EntryState::kPurged) {
    const auto mark = group->dead.find(entry.offset);
    if (mark != group->dead.end() && mark->second.dlq_offset == entry.dlq_offset) {
      group->dead.erase(mark);
    }
  }
}

const ImageProgress* DeliveryImage::find(ProgressNumber progress, PartitionNumber partition) const {
  const auto found = progress_.find({progress, partition});
  return found == progress_.end() ? nullptr : &found->second;
}

ImageProgress* DeliveryImage::find(ProgressNumber progress, PartitionNumber partition) {
  const auto found = progress_.find({progress, partition});
  return found == progress_.end() ? nullptr : &found->second;
}

std::size_t DeliveryImage::delivery_count() const {
  std::size_t count = 0;
  for (const auto& [key, progress] : progress_) {
    count += progress.deliveries.size();
  }
  return count;
}

std::optional<Offset> DeliveryImage::log_start(PartitionNumber partition) const {
  const auto found = log_start_.find(partition);
  return found == log_start_.end() ? std::nullopt : std::optional(found->second);
}

void DeliveryImage::advance_to(MonoMs elapsed_since_boot) {
  now_ = std::clamp(boot_at_.plus(elapsed_since_boot.value()), now_, kTimeMax);
}

DeliveryState DeliveryImage::at_now(const ImageDelivery& delivery) const {
  DeliveryState state = delivery.state;
  state.due_in_ms =
      delivery.due > now_ ? static_cast<std::uint64_t>(delivery.due.value() - now_.value()) : 0;
  state.since_ms = static_cast<std::uint64_t>(now_.value() - delivery.since.value());
  return state;
}

}  // namespace ackline::state

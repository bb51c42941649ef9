// The section of a partition in a checkpoint: the state of every group and lane on it.
//
// Format: docs/formats/delivery-section.md. One writer, one reader, both here.
#include <algorithm>
#include <utility>

#include "ackline/base/bytes.h"
#include "ackline/base/plants.h"
#include "ackline/delivery/impl.h"
#include "ackline/delivery/section_rows.h"

namespace ackline::delivery {

namespace {

using section::kErrorFlag;
using section::kGroupKind;
using section::kLaneKind;
using section::kLeasedFlag;
using section::kReopenedFlag;
using section::kVersion;

std::unexpected<Error> corrupt() {
  return fail(ErrorCode::kCorrupt, "a delivery section cannot be read",
              "Run `ackline doctor` on the data directory.");
}

std::uint32_t u32_of(ByteReader& in) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(in.varint(), UINT32_MAX));
}

}  // namespace

void Dispatcher::Impl::snapshot(PartitionNumber number, std::string& out) const {
  ByteWriter to(out);
  to.u8(kVersion);
  to.varint(options_.epoch.value());
  to.svarint(clock_.value());
  to.svarint(boot_at_.value());
  const auto found = partitions_.find(number);
  if (found == partitions_.end()) {
    to.varint(0);
    return;
  }
  // Groups before lanes: a lane finds its group's entries.
  std::vector<const Progress*> all(found->second->progress.begin(), found->second->progress.end());
  std::ranges::sort(
      all, {}, [](const Progress* one) { return std::pair(one->is_lane(), one->key.progress); });
  to.varint(all.size());
  std::string body;
  for (const Progress* one : all) {
    to.u8(one->is_lane() ? kLaneKind : kGroupKind);
    to.varint(one->key.progress.value());
    to.varint(one->group->spec.number.value());
    body.clear();
    snapshot_progress(*one, body);
    to.blob(body);
  }
}

void Dispatcher::Impl::snapshot_progress(const Progress& progress, std::string& out) const {
  ByteWriter to(out);
  to.varint(progress.generation.value());
  section::put_head(to, progress);
  std::string frontier;
  if (plant(Plant::kHoleLostInSnapshot)) {
    frontier::Frontier(progress.frontier.cursor(), options_.ahead_max).serialise(frontier);
  } else {
    progress.frontier.serialise(frontier);
  }
  to.blob(frontier);

  std::uint64_t kept = 0;
  progress.slots.for_each(
      [&](std::uint32_t /*index*/, const Slot& slot) { kept += is_kept(slot) ? 1U : 0U; });
  to.varint(kept);
  progress.slots.for_each([&](std::uint32_t index, const Slot& slot) {
    if (is_kept(slot)) {
      section::put(to, slot_row(progress, index));
    }
  });

  to.varint(progress.dead.all().size());
  for (const auto& item : progress.dead.all()) {
    section::put(to, progress.dead, item);
  }

  if (progress.is_lane()) {
    const LaneState& lane = *progress.lane;
    section::put_head(to, lane);
    to.varint(lane.items.size());
    for (const LaneItem& item : lane.items) {
      section::put(to, item);
    }
  }
}

// Not an expired event on its way to the dead letters: it is found expired again.
bool Dispatcher::Impl::is_kept(const Slot& slot) {
  return slot.reoffer != 0;
}

section::SlotRow Dispatcher::Impl::slot_row(const Progress& progress, std::uint32_t index) const {
  const Slot& slot = progress.slots[index];
  const auto error = progress.errors.find(index);
  return {.index = index,
          .offset = slot.offset,
          .epoch = slot.epoch,
          .offer = slot.offer,
          .leased = slot.state() == SlotState::kLeased,
          .due_in_ms = progress.slots.due(slot).value() - clock_.value(),
          .since_in_ms = progress.slots.since(slot).value() - clock_.value(),
          .client = slot.client,
          .size_bytes = slot.size_bytes,
          .key_hash = slot.key == 0 ? 0 : progress.keys.hash(slot.key),
          .attempt = slot.attempt,
          .restarts = slot.restarts,
          .losses = slot.losses,
          .error = error == progress.errors.end() ? std::string_view{} : error->second};
}

std::optional<Dispatcher::Origin> Dispatcher::origin_of(ByteView section) {
  ByteReader in(section);
  if (in.u8() != kVersion) {
    return std::nullopt;
  }
  const Epoch epoch(u32_of(in));
  const MonoMs at(in.svarint());
  const MonoMs boot_at(in.svarint());
  return in.ok() ? std::optional(Origin{epoch, at, boot_at}) : std::nullopt;
}

Result<void> Dispatcher::Impl::restore(PartitionNumber number, ByteView section) {
  const auto partition = partitions_.find(number);
  if (partition == partitions_.end()) {
    return {};
  }
  ByteReader in(section);
  if (in.u8() != kVersion) {
    return corrupt();
  }
  const Epoch epoch(u32_of(in));
  const MonoMs at(in.svarint());
  const MonoMs boot_at(in.svarint());
  const std::uint64_t count = in.varint();
  if (!in.ok() || count > in.left()) {
    return corrupt();
  }
  // Replay of its journal begins in the section's process, at its time.
  JournalTime& time = journals_[partition->second->spec.journal];
  time.epoch = std::max(time.epoch, epoch);
  time.at = std::max(time.at, at);
  time.boots.insert_or_assign(epoch, boot_at);
  if (partition->second->spec.journal == journal_) {
    clock_ = time.at;
    replay_epoch_ = time.epoch;
  }
  section_at_ = at;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint8_t kind = in.u8();
    const ProgressNumber progress_number(u32_of(in));
    const ProgressNumber group_number(u32_of(in));
    const ByteView body = as_bytes(in.blob());
    if (!in.ok() || kind > kLaneKind) {
      return corrupt();
    }
    Group* group = find_group(group_number);
    if (group == nullptr) {
      continue;  // deleted since
    }
    if (Progress* there = find({progress_number, number}); there != nullptr) {
      remove_progress(*there);
    }
    Progress& progress =
        kind == kLaneKind
            ? make_lane(progress_number, *group, *partition->second, {})
            : make_progress({progress_number, number}, *group, *partition->second, Offset(0));
    progress.touched = true;
    if (Result<void> done = restore_progress(progress, body); !done) {
      return done;
    }
  }
  return in.empty() ? Result<void>{} : corrupt();
}

Result<void> Dispatcher::Impl::restore_progress(Progress& progress, ByteView body) {
  ByteReader in(body);
  progress.generation = Generation(u32_of(in));
  progress.start = Offset(in.svarint());
  progress.gone = in.varint();
  progress.clamped = in.u8() != 0;
  progress.known_end = Offset(in.svarint());
  progress.offered_below = Offset(in.svarint());
  Result<frontier::Frontier> frontier =
      frontier::Frontier::deserialise(as_bytes(in.blob()), options_.ahead_max);
  if (!in.ok() || !frontier) {
    return corrupt();
  }
  progress.frontier = *std::move(frontier);
  progress.slots = SlotSlab(section_at_);
  if (!restore_slots(progress, in)) {
    return corrupt();
  }
  restore_dead(progress, in);
  if (progress.is_lane()) {
    restore_lane(*progress.lane, in);
  }
  return in.ok() && in.empty() ? Result<void>{} : corrupt();
}

bool Dispatcher::Impl::restore_slots(Progress& progress, ByteReader& in) {
  const std::uint64_t slots = in.varint();
  for (std::uint64_t i = 0; i < slots && in.ok(); ++i) {
    const std::uint32_t index = u32_of(in);
    const Offset offset(static_cast<std::int64_t>(in.varint()));
    const Epoch epoch(u32_of(in));
    const std::uint32_t offer = u32_of(in);
    const std::uint8_t flags = in.u8();
    const MonoMs due = section_at_.plus(in.svarint());
    const MonoMs since = section_at_.plus(in.svarint());
    const ClientNumber client(u32_of(in));
    const std::uint32_t size_bytes = u32_of(in);
    const std::uint64_t key_hash = in.u64();
    const std::uint32_t attempt = u32_of(in);
    const std::uint8_t restarts = in.u8();
    const std::uint8_t losses = in.u8();
    const std::string_view error = (flags & kErrorFlag) != 0 ? in.blob() : std::string_view{};
    constexpr std::uint32_t kIndexMax = 1U << 28U;
    if (!in.ok() || offset < Offset(0) || index > kIndexMax) {
      return false;
    }
    if (!adopt(progress, index, offset, key_hash)) {
      continue;
    }
    Slot& slot = progress.slots[index];
    slot.epoch = epoch;
    slot.offer = offer;
    slot.set_state((flags & kLeasedFlag) != 0 ? SlotState::kLeased : SlotState::kWaiting);
    progress.slots.set_due(slot, due);
    progress.slots.set_since(slot, since);
    slot.client = client;
    slot.size_bytes = size_bytes;
    slot.set_attempt(attempt);
    slot.restarts = restarts;
    slot.set_losses(losses);
    slot.reoffer = 1;
    set_error(progress, index, error);
  }
  return in.ok();
}

void Dispatcher::Impl::restore_dead(Progress& progress, ByteReader& in) {
  const std::uint64_t dead = in.varint();
  for (std::uint64_t i = 0; i < dead && in.ok(); ++i) {
    const Offset source(static_cast<std::int64_t>(in.varint()));
    const Generation generation(u32_of(in));
    DeadTable::Entry entry{.dlq = Offset(in.svarint())};
    entry.redrives = u32_of(in);
    entry.state = static_cast<EntryState>(std::min<std::uint8_t>(in.u8(), 3));
    entry.reopened = (in.u8() & kReopenedFlag) != 0;
    progress.dead.add(source, generation, entry);
    if (const std::string_view error = in.blob(); !error.empty()) {
      progress.dead.set_error(DeadTable::Key{source, generation}, std::string(error));
    }
  }
}

void Dispatcher::Impl::restore_lane(LaneState& lane, ByteReader& in) {
  lane.offered = in.varint();
  lane.rate_milli = std::uint64_t{u32_of(in)} * 1000;
  const std::uint64_t items = in.varint();
  for (std::uint64_t i = 0; i < items && in.ok(); ++i) {
    LaneItem item;
    item.source = Offset(static_cast<std::int64_t>(in.varint()));
    item.dlq = Offset(in.svarint());
    item.state = static_cast<LaneItemState>(std::min<std::uint8_t>(in.u8(), 3));
    lane.resolved += item.state == LaneItemState::kResolved ? 1U : 0U;
    if (item.state == LaneItemState::kDeadAgain) {
      (item.has_entry() ? lane.dead_again : lane.gone) += 1;
    }
    lane.items.push_back(item);
  }
}

}  // namespace ackline::delivery

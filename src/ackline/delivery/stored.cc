// A dispatcher's state as rows of a store, and back. The rows hold what a checkpoint's section
// holds, cut so that a change touches little: a delivery, a dead letter, an entry of a lane.
#include "ackline/delivery/stored.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "ackline/base/big_endian.h"
#include "ackline/delivery/impl.h"
#include "ackline/delivery/section_rows.h"

namespace ackline::delivery {

namespace {

// Keys of notes. Offsets are big-endian, so that the rows come back in the section's order.
constexpr char kHeadNote = 'm';
constexpr char kDeadNote = 'e';
constexpr char kItemNote = 'i';

std::string dead_note(const DeadTable::Key& key) {
  std::string out(1, kDeadNote);
  append_big_endian(out, static_cast<std::uint64_t>(key.source.value()));
  append_big_endian(out, key.generation.value());
  return out;
}

std::string item_note(Offset source) {
  std::string out(1, kItemNote);
  append_big_endian(out, static_cast<std::uint64_t>(source.value()));
  return out;
}

template <class... Parts>
std::string bytes_of(const Parts&... parts) {
  std::string out;
  ByteWriter to(out);
  section::put(to, parts...);
  return out;
}

// Kind, group, and the heads of the section's body.
std::string head_bytes(std::uint8_t kind, ProgressNumber group, std::string_view progress,
                       std::string_view lane) {
  std::string out;
  ByteWriter to(out);
  to.u8(kind);
  to.varint(group.value());
  to.blob(progress);
  to.blob(lane);
  return out;
}

template <class Part>
std::string head_part(const Part& part) {
  std::string out;
  ByteWriter to(out);
  section::put_head(to, part);
  return out;
}

std::string head_bytes(const Progress& progress) {
  return head_bytes(progress.is_lane() ? section::kLaneKind : section::kGroupKind,
                    progress.group->spec.number, head_part(progress),
                    progress.is_lane() ? head_part(*progress.lane) : std::string{});
}

std::uint64_t not_negative(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
}

std::unexpected<Error> corrupt(const ProgressKey& key) {
  return fail(ErrorCode::kCorrupt,
              "the rows of progress " + std::to_string(key.progress.value()) + " on partition " +
                  std::to_string(key.partition.value()) + " cannot be read",
              std::string(state::kDeliveriesRemedy));
}

struct Head {
  std::uint8_t kind = section::kGroupKind;
  std::uint32_t group = 0;
  std::string_view progress;
  std::string_view lane;
};

std::optional<Head> head_of(const StoredRows& rows) {
  const auto note = rows.notes.find(std::string(1, kHeadNote));
  if (note == rows.notes.end()) {
    return std::nullopt;
  }
  ByteReader in(as_bytes(note->second));
  Head head;
  head.kind = in.u8();
  head.group = static_cast<std::uint32_t>(in.varint());
  head.progress = in.blob();
  head.lane = in.blob();
  return in.ok() && in.empty() ? std::optional(head) : std::nullopt;
}

// All notes of one kind, one after the other, with their number in front.
void put_notes(ByteWriter& to, const StoredRows& rows, char kind) {
  std::uint64_t count = 0;
  for (const auto& [key, value] : rows.notes) {
    count += key.front() == kind ? 1U : 0U;
  }
  to.varint(count);
  for (const auto& [key, value] : rows.notes) {
    if (key.front() == kind) {
      to.raw(as_bytes(value));
    }
  }
}

void put_body(ByteWriter& to, const StoredRows& rows, const Head& head) {
  to.varint(rows.generation.value());
  to.raw(as_bytes(head.progress));
  to.blob(rows.frontier);
  to.varint(rows.deliveries.size());
  for (const state::DeliveryState& one : rows.deliveries) {
    section::put(
        to,
        section::SlotRow{
            .index = one.ref.slot,
            .offset = one.ref.offset,
            .epoch = one.epoch,
            .offer = one.ref.offer,
            .leased = one.leased,
            .due_in_ms = static_cast<std::int64_t>(one.due_in_ms),
            .since_in_ms = -static_cast<std::int64_t>(one.since_ms),
            .client = one.client,
            .size_bytes = 0,
            .key_hash = one.key_hash,
            .attempt = one.attempt,
            .restarts = static_cast<std::uint8_t>(std::min<std::uint32_t>(one.restarts, UINT8_MAX)),
            .losses = static_cast<std::uint8_t>(std::min<std::uint32_t>(one.losses, UINT8_MAX)),
            .error = one.last_error});
  }
  put_notes(to, rows, kDeadNote);
  if (head.kind == section::kLaneKind) {
    to.raw(as_bytes(head.lane));
    put_notes(to, rows, kItemNote);
  }
}

}  // namespace

Result<std::string> section_of_rows(Epoch epoch, MonoMs at, std::span<const StoredRows> rows) {
  std::vector<std::pair<Head, const StoredRows*>> all;
  for (const StoredRows& one : rows) {
    const auto head = head_of(one);
    if (!head) {
      return corrupt(one.key);
    }
    all.emplace_back(*head, &one);
  }
  // Groups before lanes: a lane finds its group's entries.
  std::ranges::sort(
      all, {}, [](const auto& one) { return std::pair(one.first.kind, one.second->key.progress); });
  std::string out;
  ByteWriter to(out);
  to.u8(section::kVersion);
  to.varint(epoch.value());
  to.svarint(at.value());
  to.svarint(at.value());
  to.varint(all.size());
  std::string body;
  for (const auto& [head, one] : all) {
    to.u8(head.kind);
    to.varint(one->key.progress.value());
    to.varint(head.group);
    body.clear();
    ByteWriter body_to(body);
    put_body(body_to, *one, head);
    to.blob(body);
  }
  return out;
}

std::uint64_t dead_letters_in(const StoredRows& rows) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      rows.notes, [](const auto& note) { return note.first.front() == kDeadNote; }));
}

state::DeliveryChange change_of_known(const KnownProgress& known,
                                      const std::vector<DeadLetterAt>& dead) {
  state::DeliveryChange change;
  change.all = true;
  change.batch.progress = known.key.progress;
  change.batch.partition = known.key.partition;
  change.batch.generation = known.generation;
  change.batch.frontier = known.frontier;
  const Offset below = std::max(known.end, known.frontier.next());
  const section::HeadPart head{.start = known.start, .known_end = below, .offered_below = below};
  change.notes.push_back(
      {std::string(1, kHeadNote),
       head_bytes(section::kGroupKind, known.key.progress, head_part(head), {})});
  DeadTable table;
  for (const DeadLetterAt& one : dead) {
    const bool current = one.generation == known.generation;
    table.add(one.source, one.generation,
              {.dlq = one.dlq, .reopened = !current && one.source > known.frontier});
    if (current && one.source > known.frontier) {
      change.batch.settled.push_back({{one.source, one.source}, state::Outcome::kExhausted});
    }
  }
  for (const auto& item : table.all()) {
    change.notes.push_back({dead_note(item.first), bytes_of(table, item)});
  }
  return change;
}

void Dispatcher::Impl::capture_slot(const Progress& progress, std::uint32_t index,
                                    state::DeliveryChange& out) const {
  const section::SlotRow row = slot_row(progress, index);
  if (row.attempt == 0) {  // withdrawn before its first byte: it was never offered
    out.drops.push_back(row.offset);
    return;
  }
  state::DeliveryState put;
  put.ref = {progress.key.progress, progress.key.partition, row.offset, index, row.offer};
  put.epoch = row.epoch;
  put.leased = row.leased;
  put.lane = progress.is_lane();
  put.attempt = row.attempt;
  put.restarts = row.restarts;
  put.losses = row.losses;
  put.client = row.client;
  put.due_in_ms = not_negative(row.due_in_ms);
  put.since_ms = not_negative(-row.since_in_ms);
  put.key_hash = row.key_hash;
  put.last_error = row.error;
  out.batch.puts.push_back(std::move(put));
}

void Dispatcher::Impl::capture_progress(const Progress& progress, const Touched& touched,
                                        std::vector<state::DeliveryChange>& out) const {
  state::DeliveryChange& change = out.emplace_back();
  change.all = touched.all;
  change.batch.progress = progress.key.progress;
  change.batch.partition = progress.key.partition;
  // A lane has neither: what of it is done is in its entries.
  change.batch.generation = progress.is_lane() ? Generation(1) : progress.generation;
  change.batch.frontier = progress.is_lane() ? Offset(-1) : progress.frontier.value();
  change.notes.push_back({std::string(1, kHeadNote), head_bytes(progress)});
  if (progress.is_lane()) {
    for (const state::SettledRange& one : touched.settled) {
      for (Offset at = one.range.first; at <= one.range.last; ++at) {
        change.drops.push_back(at);
      }
    }
  } else {
    change.batch.settled = touched.settled;
  }
  if (touched.all) {
    progress.slots.for_each([&](std::uint32_t index, const Slot& slot) {
      if (is_kept(slot)) {
        capture_slot(progress, index, change);
      }
    });
  } else {
    for (const auto& [offset, index] : touched.slots) {
      const Slot* slot = progress.slots.find(index);
      if (slot != nullptr && slot->offset == offset && is_kept(*slot)) {
        capture_slot(progress, index, change);
      } else {
        change.drops.push_back(offset);
      }
    }
  }
  for (const DeadLetterKey& key : touched.forgotten) {
    if (!progress.dead.all().contains(key)) {
      change.notes.push_back({dead_note(key), std::nullopt});
    }
  }
  for (const Offset source : touched.entries) {
    const auto& dead = progress.dead.all();
    for (auto at = dead.lower_bound({source, Generation(0)});
         at != dead.end() && at->first.source == source; ++at) {
      change.notes.push_back({dead_note(at->first), bytes_of(progress.dead, *at)});
    }
    const LaneItem* item = progress.is_lane() ? progress.lane->find(source) : nullptr;
    if (item != nullptr) {
      change.notes.push_back({item_note(source), bytes_of(*item)});
    }
  }
  if (progress.is_lane() && !touched.all) {
    // An offer moves its entry, too.
    for (const auto& [offset, index] : touched.slots) {
      if (const LaneItem* item = progress.lane->find(offset); item != nullptr) {
        change.notes.push_back({item_note(offset), bytes_of(*item)});
      }
    }
  }
}

Touched Dispatcher::Impl::all_of(const Progress& progress) const {
  Touched all;
  all.all = true;
  for (const auto& [key, entry] : progress.dead.all()) {
    all.entries.insert(key.source);
  }
  if (progress.is_lane()) {
    for (const LaneItem& item : progress.lane->items) {
      all.entries.insert(item.source);
    }
  } else {
    for (auto range = progress.frontier.next_settled_range(progress.frontier.committed()); range;
         range = progress.frontier.next_settled_range(range->last.next())) {
      all.settled.push_back({*range, state::Outcome::kAcked});
    }
  }
  return all;
}

void Dispatcher::Impl::capture(ProgressKey key, const Touched& touched,
                               std::vector<state::DeliveryChange>& out) const {
  const Progress* progress = find(key);
  if (progress == nullptr) {
    return;
  }
  if (!touched.all) {
    capture_progress(*progress, touched, out);
    return;
  }
  capture_progress(*progress, all_of(*progress), out);
  if (progress->is_lane()) {
    return;
  }
  // A new generation ends what lanes had open in it.
  for (const Progress* other : progress->partition->progress) {
    if (other->is_lane() && other->group == progress->group) {
      capture_progress(*other, all_of(*other), out);
    }
  }
}

}  // namespace ackline::delivery

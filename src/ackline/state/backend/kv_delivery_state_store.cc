#include "ackline/state/backend/kv_delivery_state_store.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "ackline/base/check.h"
#include "ackline/state/backend/kv_delivery_part.h"

namespace ackline::state {

using rows::Kind;

KvDeliveryStateStore::KvDeliveryStateStore(io::KeyValue& kv, const Clock& clock,
                                           KvDeliveryOptions options)
    : kv_(kv),
      clock_(clock),
      options_(std::move(options)),
      shard_key_(rows::shard_key(options_.shards, options_.shard)),
      opened_at_(clock.mono()) {}

KvDeliveryStateStore::~KvDeliveryStateStore() = default;

Result<void> KvDeliveryStateStore::require_open() const {
  return closed_ ? fail(ErrorCode::kUnavailable, "the delivery store is closed") : Result<void>();
}

StoreHealth KvDeliveryStateStore::health() const {
  const std::scoped_lock lock(mutex_);
  return health_;
}

Result<void> KvDeliveryStateStore::close() {
  {
    const std::scoped_lock lock(mutex_);
    if (closed_) {
      return {};
    }
  }
  const Result<void> flushed = commit(true);
  if (flushed) {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  return flushed;
}

// --- changes

Result<void> KvDeliveryStateStore::apply(const DeliveryBatch& batch) {
  return apply(DeliveryChange{.batch = batch, .drops = {}, .notes = {}});
}

Result<void> KvDeliveryStateStore::check(const DeliveryChange& change) const {
  const DeliveryBatch& batch = change.batch;
  const auto known = parts_.find({batch.progress, batch.partition});
  const bool here = known != parts_.end();
  if (auto fine =
          check_batch(batch, here ? std::optional(known->second->generation) : std::nullopt);
      !fine) {
    return fine;
  }
  // Refused before anything is changed: the settled set has a span.
  const bool stays = here && batch.generation == known->second->generation;
  const Offset from =
      stays ? std::max(batch.frontier, known->second->frontier.value()) : batch.frontier;
  Offset last = from;
  for (const SettledRange& one : batch.settled) {
    last = std::max(last, one.range.last);
  }
  for (const Removal& removal : batch.removes) {
    last = std::max(last, removal.offset);
  }
  if (static_cast<std::uint64_t>(last.value() - from.value()) >= frontier::Frontier::kSpanMax) {
    return fail(ErrorCode::kFull, "a settled offset lies too far past the frontier");
  }
  return {};
}

Result<void> KvDeliveryStateStore::make_room() {
  {
    const std::scoped_lock lock(mutex_);
    if (options_.cache_entries == 0 || cached_locked() < options_.cache_entries) {
      return {};
    }
  }
  return commit(false);
}

Result<void> KvDeliveryStateStore::apply(const DeliveryChange& change) {
  if (auto room = make_room(); !room) {
    return room;
  }
  const Key key{change.batch.progress, change.batch.partition};
  {
    const std::scoped_lock lock(mutex_);
    if (auto open = require_open(); !open) {
      return open;
    }
    if (auto fine = check(change); !fine) {
      return fine;
    }
    take(part_of(key, change.batch), change);
  }
  return options_.cache_entries == 0 ? write_through(key) : Result<void>();
}

// A failed write changes nothing: what the store has is read again.
Result<void> KvDeliveryStateStore::write_through(const Key& key) {
  Result<void> written = commit(false);
  if (written) {
    return written;
  }
  const std::scoped_lock lock(mutex_);
  unwritten_.clear();
  parts_.erase(key);
  const auto& [progress, partition] = key;
  const Result<void> again = load_rows(rows::prefix(Kind::kHead, partition, progress),
                                       rows::prefix(Kind::kSettled, partition, progress),
                                       rows::prefix(Kind::kDelivery, partition, progress),
                                       rows::prefix(Kind::kNote, partition, progress));
  if (!again) {
    closed_ = true;  // nothing is known of it any more
  }
  return written;
}

KvDeliveryStateStore::Part& KvDeliveryStateStore::part_of(const Key& key,
                                                          const DeliveryBatch& batch) {
  auto& part = parts_[key];
  if (part == nullptr) {
    part = std::make_unique<Part>(key, batch.generation, batch.frontier);
    part->head_dirty = true;
    dirty_.insert(key);
  }
  return *part;
}

void KvDeliveryStateStore::take(Part& part, const DeliveryChange& change) {
  const DeliveryBatch& batch = change.batch;
  dirty_.insert(part.key);
  if (batch.generation > part.generation) {
    start_generation(part, batch);
  }
  raise_frontier(part, batch.frontier);
  if (change.all) {
    erase_rows(part, {Offset(0), Offset(std::numeric_limits<std::int64_t>::max() - 1)});
  }
  for (const Offset offset : change.drops) {
    erase_row(part, offset);
  }
  for (const DeliveryState& delivery : batch.puts) {
    take_put(part, delivery);
  }
  // After the puts, so that what is terminal wins.
  for (const SettledRange& one : batch.settled) {
    settle(part, one.range);
  }
  for (const Removal& removal : batch.removes) {
    settle(part, {removal.offset, removal.offset});
  }
  if (change.all) {
    std::set<std::string> go = part.stored_notes;
    for (const auto& [key, value] : part.notes) {
      go.insert(key);
    }
    for (const std::string& key : go) {
      note(part, {key, std::nullopt});
    }
  }
  for (const DeliveryNote& one : change.notes) {
    note(part, one);
  }
}

void KvDeliveryStateStore::start_generation(Part& part, const DeliveryBatch& batch) {
  part.generation = batch.generation;
  part.frontier.reset(batch.frontier.next());
  part.head_dirty = true;
  part.chunks.clear();
  part.chunks.insert(part.stored_chunks.begin(), part.stored_chunks.end());
  rows_ -= part.rows.size();
  part.rows.clear();
  for (const std::int64_t offset : part.stored) {
    part.rows.emplace(Offset(offset), std::nullopt);
  }
  rows_ += part.rows.size();
}

// Gaps of the log: nothing exists up to `frontier` that is not terminal.
void KvDeliveryStateStore::raise_frontier(Part& part, Offset frontier) {
  if (frontier > part.frontier.value()) {
    settle(part, {part.frontier.value().next(), frontier});
  }
}

void KvDeliveryStateStore::take_put(Part& part, const DeliveryState& delivery) {
  const Offset offset = delivery.ref.offset;
  if (part.frontier.is_settled(offset)) {
    return;
  }
  const std::string key =
      rows::key(Kind::kDelivery, part.key.second, part.key.first, offset.value());
  const auto [row, is_new] =
      part.rows.insert_or_assign(offset, rows::encode(key, delivery, now_locked(), shard_.starts));
  rows_ += is_new ? 1 : 0;
}

void KvDeliveryStateStore::settle(Part& part, OffsetRange range) {
  range.first = std::max(range.first, part.frontier.value().next());
  if (range.count() == 0) {
    return;
  }
  erase_rows(part, range);
  const Offset before = part.frontier.value();
  ACKLINE_CHECK(part.frontier.restore_settled(range.first, range.last).has_value());
  const Offset after = part.frontier.value();
  part.head_dirty = part.head_dirty || after != before;
  const std::int64_t last = range.last.value() / rows::kChunkOffsets;
  for (std::int64_t chunk = std::max(range.first, after.next()).value() / rows::kChunkOffsets;
       chunk <= last; ++chunk) {
    part.chunks.insert(chunk);
  }
}

void KvDeliveryStateStore::erase_row(Part& part, Offset offset) {
  const auto cached = part.rows.find(offset);
  if (part.stored.contains(offset.value())) {
    const auto [row, is_new] = part.rows.insert_or_assign(offset, std::nullopt);
    rows_ += is_new ? 1 : 0;
  } else if (cached != part.rows.end()) {
    // It came and went between two commits: no trace of it.
    part.rows.erase(cached);
    --rows_;
  }
}

void KvDeliveryStateStore::erase_rows(Part& part, OffsetRange range) {
  std::vector<Offset> gone;
  for (auto at = part.rows.lower_bound(range.first);
       at != part.rows.end() && at->first <= range.last; ++at) {
    gone.push_back(at->first);
  }
  if (static_cast<std::uint64_t>(range.count()) <= part.stored.size()) {
    for (Offset at = range.first; at <= range.last; ++at) {
      if (part.stored.contains(at.value())) {
        gone.push_back(at);
      }
    }
  } else {
    for (const std::int64_t offset : part.stored) {
      if (range.contains(Offset(offset))) {
        gone.emplace_back(offset);
      }
    }
  }
  for (const Offset offset : gone) {
    erase_row(part, offset);
  }
}

void KvDeliveryStateStore::note(Part& part, const DeliveryNote& note) {
  if (!note.value && !part.stored_notes.contains(note.key)) {
    rows_ -= part.notes.erase(note.key);
    return;
  }
  const auto [cached, is_new] = part.notes.insert_or_assign(note.key, note.value);
  rows_ += is_new ? 1 : 0;
}

// --- commits

std::size_t KvDeliveryStateStore::cached_locked() const {
  return rows_ + unwritten_.size();
}

std::size_t KvDeliveryStateStore::cached() const {
  const std::scoped_lock lock(mutex_);
  return cached_locked();
}

Result<void> KvDeliveryStateStore::commit(bool sync) {
  const std::scoped_lock one_at_a_time(commit_mutex_);
  {
    const std::scoped_lock lock(mutex_);
    if (auto open = require_open(); !open) {
      return open;
    }
  }
  return end_commit(begin_commit(), sync);
}

KvDeliveryStateStore::Writes KvDeliveryStateStore::begin_commit() {
  const std::scoped_lock lock(mutex_);
  Writes writes = std::move(unwritten_);
  unwritten_.clear();
  gather(writes);
  return writes;
}

Result<void> KvDeliveryStateStore::end_commit(Writes writes, bool sync) {
  Result<void> done;
  if (!writes.empty()) {
    done = kv_.write(writes, sync);
  } else if (sync) {
    done = kv_.flush();
  }
  const std::scoped_lock lock(mutex_);
  health_ = done ? StoreHealth{} : StoreHealth{false, done.error().detail};
  if (!done) {
    // In front of what came meanwhile.
    std::ranges::move(unwritten_, std::back_inserter(writes));
    unwritten_ = std::move(writes);
  }
  return done;
}

void KvDeliveryStateStore::gather(std::vector<io::KeyValueWrite>& out) {
  for (const Key& key : dirty_) {
    gather(*parts_.at(key), out);
  }
  dirty_.clear();
  rows_ = 0;
  if (out.empty() && !shard_dirty_) {
    return;
  }
  rows::ShardRow shard = shard_;
  shard.now = now_locked();
  out.push_back({shard_key_, rows::encode(shard_key_, shard)});
  shard_dirty_ = false;
}

void KvDeliveryStateStore::gather(Part& part, std::vector<io::KeyValueWrite>& out) {
  const auto& [progress, partition] = part.key;
  const Offset frontier = part.frontier.value();
  if (part.head_dirty) {
    const std::string key = rows::prefix(Kind::kHead, partition, progress);
    out.push_back({key, rows::encode(key, rows::HeadRow{part.generation, frontier})});
    part.head_dirty = false;
  }
  for (auto& [offset, value] : part.rows) {
    if (value) {
      part.stored.insert(offset.value());
    } else {
      part.stored.erase(offset.value());
    }
    out.push_back(
        {rows::key(Kind::kDelivery, partition, progress, offset.value()), std::move(value)});
  }
  part.rows.clear();
  // Wholly below the frontier: the frontier says it.
  for (const std::int64_t chunk : part.stored_chunks) {
    if ((chunk + 1) * rows::kChunkOffsets > frontier.value() + 1) {
      break;
    }
    part.chunks.insert(chunk);
  }
  for (const std::int64_t chunk : part.chunks) {
    const Offset end((chunk + 1) * rows::kChunkOffsets - 1);
    std::vector<OffsetRange> ranges;
    const Offset from = std::max(Offset(chunk * rows::kChunkOffsets), frontier.next());
    for (auto range = part.frontier.next_settled_range(from); range && range->first <= end;
         range = part.frontier.next_settled_range(range->last.next())) {
      ranges.push_back({range->first, std::min(range->last, end)});
    }
    const std::string key = rows::key(Kind::kSettled, partition, progress, chunk);
    if (!ranges.empty()) {
      part.stored_chunks.insert(chunk);
      out.push_back({key, rows::encode_chunk(key, chunk, ranges)});
    } else if (part.stored_chunks.erase(chunk) > 0) {
      out.push_back({key, std::nullopt});
    }
  }
  part.chunks.clear();
  for (auto& [note, value] : part.notes) {
    const std::string key = rows::note_key(partition, progress, note);
    if (value) {
      part.stored_notes.insert(note);
      out.push_back({key, rows::encode_note(key, *value)});
    } else {
      part.stored_notes.erase(note);
      out.push_back({key, std::nullopt});
    }
  }
  part.notes.clear();
}

}  // namespace ackline::state

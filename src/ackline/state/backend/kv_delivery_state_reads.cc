// KvDeliveryStateStore: reads, what belongs to the shard, and what is forgotten.
#include <algorithm>
#include <limits>

#include "ackline/base/check.h"
#include "ackline/state/backend/kv_delivery_part.h"

namespace ackline::state {

using rows::Kind;

// --- reads

Result<std::optional<std::string>> KvDeliveryStateStore::row(const std::string& key) const {
  for (auto at = unwritten_.rbegin(); at != unwritten_.rend(); ++at) {
    if (at->key == key) {
      return at->value;
    }
  }
  return kv_.get(key);
}

Result<std::map<std::string, std::string>> KvDeliveryStateStore::scan(
    const std::string& prefix) const {
  std::map<std::string, std::string> found;
  const Result<void> scanned =
      kv_.scan(prefix, "", [&found](std::string_view key, std::string_view value) {
        found.emplace(key, value);
        return true;
      });
  if (!scanned) {
    return fail(scanned);
  }
  for (const io::KeyValueWrite& write : unwritten_) {
    if (!write.key.starts_with(prefix)) {
      continue;
    }
    if (write.value) {
      found.insert_or_assign(write.key, *write.value);
    } else {
      found.erase(write.key);
    }
  }
  return found;
}

Result<std::optional<DeliveryState>> KvDeliveryStateStore::get(const DeliveryRef& ref) {
  const std::scoped_lock no_commit(commit_mutex_);
  const std::scoped_lock lock(mutex_);
  if (auto open = require_open(); !open) {
    return fail(open);
  }
  const auto part = parts_.find({ref.progress, ref.partition});
  if (part == parts_.end()) {
    return std::optional<DeliveryState>();
  }
  const std::string key =
      rows::key(Kind::kDelivery, ref.partition, ref.progress, ref.offset.value());
  const auto cached = part->second->rows.find(ref.offset);
  const auto value = cached != part->second->rows.end()
                         ? Result<std::optional<std::string>>(cached->second)
                         : row(key);
  if (!value) {
    return fail(value);
  }
  if (!*value) {
    return std::optional<DeliveryState>();
  }
  const rows::Place place{ref.partition, ref.progress, ref.offset.value(), {}};
  auto found = rows::decode_delivery(key, place, **value, now_locked(), shard_.starts);
  if (!found) {
    return fail(found);
  }
  return found->ref == ref ? std::optional(std::move(*found)) : std::optional<DeliveryState>();
}

Result<std::optional<StoredProgress>> KvDeliveryStateStore::progress(ProgressNumber progress,
                                                                     PartitionNumber partition) {
  const std::scoped_lock lock(mutex_);
  if (auto open = require_open(); !open) {
    return fail(open);
  }
  const auto found = parts_.find({progress, partition});
  if (found == parts_.end()) {
    return std::optional<StoredProgress>();
  }
  const Part& part = *found->second;
  StoredProgress out{part.generation, part.frontier.value(), {}};
  for (auto range = part.frontier.next_settled_range(out.frontier.next()); range;
       range = part.frontier.next_settled_range(range->last.next())) {
    out.settled.push_back(*range);
  }
  return std::optional(std::move(out));
}

Result<std::vector<DeliveryState>> KvDeliveryStateStore::deliveries_locked(const Part& part) const {
  const auto& [progress, partition] = part.key;
  auto found = scan(rows::prefix(Kind::kDelivery, partition, progress));
  if (!found) {
    return fail(found);
  }
  for (const auto& [offset, value] : part.rows) {
    const std::string key = rows::key(Kind::kDelivery, partition, progress, offset.value());
    if (value) {
      found->insert_or_assign(key, *value);
    } else {
      found->erase(key);
    }
  }
  std::vector<DeliveryState> out;
  out.reserve(found->size());
  for (const auto& [key, value] : *found) {
    const auto place = rows::place_of(key);
    if (!place) {
      return fail(place);
    }
    auto one = rows::decode_delivery(key, *place, value, now_locked(), shard_.starts);
    if (!one) {
      return fail(one);
    }
    out.push_back(std::move(*one));
  }
  return out;
}

Result<std::vector<DeliveryState>> KvDeliveryStateStore::deliveries(const Key& key) {
  const std::scoped_lock no_commit(commit_mutex_);
  const std::scoped_lock lock(mutex_);
  if (auto open = require_open(); !open) {
    return fail(open);
  }
  const auto part = parts_.find(key);
  return part == parts_.end() ? Result<std::vector<DeliveryState>>()
                              : deliveries_locked(*part->second);
}

Result<void> KvDeliveryStateStore::iterate(ProgressNumber progress,
                                           const std::function<bool(const DeliveryState&)>& visit) {
  const std::scoped_lock no_commit(commit_mutex_);
  const std::scoped_lock lock(mutex_);
  if (auto open = require_open(); !open) {
    return open;
  }
  for (auto at = parts_.lower_bound({progress, PartitionNumber()});
       at != parts_.end() && at->first.first == progress; ++at) {
    const auto all = deliveries_locked(*at->second);
    if (!all) {
      return fail(all);
    }
    for (const DeliveryState& one : *all) {
      if (!visit(one)) {
        return {};
      }
    }
  }
  return {};
}

Result<std::size_t> KvDeliveryStateStore::count() {
  const std::scoped_lock lock(mutex_);
  if (auto open = require_open(); !open) {
    return fail(open);
  }
  std::size_t count = 0;
  for (const auto& [key, part] : parts_) {
    count += part->stored.size();
    for (const auto& [offset, value] : part->rows) {
      const bool stored = part->stored.contains(offset.value());
      count += value && !stored ? 1 : 0;
      count -= !value && stored ? 1 : 0;
    }
  }
  return count;
}

std::vector<KvDeliveryStateStore::Key> KvDeliveryStateStore::keys() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Key> out;
  out.reserve(parts_.size());
  for (const auto& [key, part] : parts_) {
    out.push_back(key);
  }
  return out;
}

Result<std::map<std::string, std::string>> KvDeliveryStateStore::notes(const Key& key) {
  const std::scoped_lock no_commit(commit_mutex_);
  const std::scoped_lock lock(mutex_);
  std::map<std::string, std::string> out;
  const auto part = parts_.find(key);
  if (part == parts_.end()) {
    return out;
  }
  const auto found = scan(rows::prefix(Kind::kNote, key.second, key.first));
  if (!found) {
    return fail(found);
  }
  for (const auto& [row_key, value] : *found) {
    auto bytes = rows::decode_note(row_key, value);
    if (!bytes) {
      return fail(bytes);
    }
    out.emplace(rows::place_of(row_key)->note, std::move(*bytes));
  }
  for (const auto& [note, value] : part->second->notes) {
    if (value) {
      out.insert_or_assign(note, *value);
    } else {
      out.erase(note);
    }
  }
  return out;
}

void KvDeliveryStateStore::frontier_bytes(const Key& key, std::string& out) const {
  const std::scoped_lock lock(mutex_);
  parts_.at(key)->frontier.serialise(out);
}

// --- the shard

MonoMs KvDeliveryStateStore::now_locked() const {
  return shard_.now.plus(clock_.mono().value() - opened_at_.value());
}

MonoMs KvDeliveryStateStore::now() const {
  const std::scoped_lock lock(mutex_);
  return now_locked();
}

void KvDeliveryStateStore::mark_alive() {
  const std::scoped_lock lock(mutex_);
  shard_dirty_ = true;
}

void KvDeliveryStateStore::go_on_at(MonoMs now) {
  const std::scoped_lock lock(mutex_);
  shard_.now = now;
  opened_at_ = clock_.mono();
}

void KvDeliveryStateStore::count_unclean_start() {
  const std::scoped_lock lock(mutex_);
  ++shard_.starts;
  shard_dirty_ = true;
}

void KvDeliveryStateStore::set_journal(Lsn contained) {
  const std::scoped_lock lock(mutex_);
  shard_.journal = contained;
  shard_dirty_ = true;
}

Lsn KvDeliveryStateStore::journal() const {
  const std::scoped_lock lock(mutex_);
  return shard_.journal;
}

Result<void> KvDeliveryStateStore::forget(ProgressNumber progress, PartitionNumber partition) {
  if (auto room = make_room(); !room) {
    return room;
  }
  const std::scoped_lock lock(mutex_);
  const auto found = parts_.find({progress, partition});
  if (found == parts_.end()) {
    return {};
  }
  const Part& part = *found->second;
  unwritten_.push_back({rows::prefix(Kind::kHead, partition, progress), std::nullopt});
  for (const std::int64_t offset : part.stored) {
    unwritten_.push_back({rows::key(Kind::kDelivery, partition, progress, offset), std::nullopt});
  }
  for (const std::int64_t chunk : part.stored_chunks) {
    unwritten_.push_back({rows::key(Kind::kSettled, partition, progress, chunk), std::nullopt});
  }
  for (const std::string& key : part.stored_notes) {
    unwritten_.push_back({rows::note_key(partition, progress, key), std::nullopt});
  }
  rows_ -= part.rows.size() + part.notes.size();
  dirty_.erase(found->first);
  parts_.erase(found);
  return {};
}

}  // namespace ackline::state

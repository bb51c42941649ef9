// Bodies of CachingMetaStore; included by its header only.
#pragma once

#include <fmt/format.h>

#include "ackline/meta/caching_meta_store.h"

namespace ackline::meta {

template <class K, class V>
CachingMetaStore<K, V>::CachingMetaStore(MetaStore& store, const Clock& clock, std::string prefix,
                                         CacheCodec<K, V> codec, Hooks hooks)
    : store_(store),
      clock_(clock),
      prefix_(std::move(prefix)),
      codec_(std::move(codec)),
      hooks_(std::move(hooks)),
      lost_since_(clock.mono()) {}

template <class K, class V>
CachingMetaStore<K, V>::~CachingMetaStore() {
  // Waits for a callback that runs; afterwards none touches this object.
  const std::scoped_lock refresh_lock(refresh_mutex_);
  watch_.reset();
}

template <class K, class V>
Result<void> CachingMetaStore<K, V>::refresh() {
  const std::scoped_lock refresh_lock(refresh_mutex_);
  std::uint64_t round = 0;
  {
    const std::scoped_lock lock(mutex_);
    round = ++round_;  // events of the watch before this one are ignored from here on
    filling_ = true;
    early_.clear();
    if (!lost_since_) {
      lost_since_ = clock_.mono();
    }
  }
  watch_.reset();
  auto watch = store_.watch(prefix_, [this, round](const WatchEvent& e) { on_event(round, e); });
  if (!watch) {
    return fail(watch);
  }
  watch_ = std::move(*watch);
  auto filled = fill();
  if (!filled) {
    watch_.reset();  // its events would pile up unread
  }
  return filled;
}

template <class K, class V>
Result<void> CachingMetaStore<K, V>::fill() {
  Result<PrefixRead> read = store_.get_with_prefix(prefix_);
  if (!read) {
    return fail(read);
  }
  std::map<K, Cached<V>> fresh;
  for (const Entry& entry : read->entries) {
    Result<K> key = codec_.key(std::string_view(entry.key).substr(prefix_.size()));
    Result<V> value = key ? codec_.value(*key, entry.value) : Result<V>(fail(key));
    if (!value) {
      return fail(value.error().code,
                  fmt::format("meta record '{}': {}", entry.key, value.error().detail),
                  value.error().remedy);
    }
    fresh.insert_or_assign(std::move(*key), Cached<V>{std::move(*value), entry.revision});
  }
  return swap_in(std::move(fresh), read->as_of);
}

template <class K, class V>
Result<void> CachingMetaStore<K, V>::swap_in(std::map<K, Cached<V>> fresh, Revision as_of) {
  bool lost = false;
  std::vector<Change> changes;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, cached] : entries_) {
      if (!fresh.contains(key)) {
        changes.push_back({key, std::nullopt});
      }
    }
    for (const auto& [key, cached] : fresh) {
      const auto before = entries_.find(key);
      if (before == entries_.end() || before->second.revision != cached.revision) {
        changes.push_back({key, cached});
      }
    }
    entries_ = std::move(fresh);
    removed_.clear();
    as_of_ = as_of;
    filling_ = false;
    lost_since_.reset();
    for (const WatchEvent& event : early_) {
      if (event.kind == WatchEvent::Kind::kLost) {
        lost_since_ = clock_.mono();
        lost = true;
      } else {
        apply_event(event, changes);
      }
    }
    early_.clear();
  }
  tell(changes);
  if (lost) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("the watch on '{}' was lost while it was read", prefix_));
  }
  return {};
}

template <class K, class V>
void CachingMetaStore<K, V>::on_event(std::uint64_t round, const WatchEvent& event) {
  std::vector<Change> changes;
  bool lost = false;
  {
    const std::scoped_lock lock(mutex_);
    if (round != round_) {
      return;
    }
    if (filling_) {
      early_.push_back(event);
      return;
    }
    if (event.kind == WatchEvent::Kind::kLost) {
      lost_since_ = clock_.mono();
      lost = true;
    } else {
      apply_event(event, changes);
    }
  }
  tell(changes);
  if (lost && hooks_.on_lost) {
    hooks_.on_lost();
  }
}

template <class K, class V>
void CachingMetaStore<K, V>::apply_event(const WatchEvent& event, std::vector<Change>& changes) {
  if (event.entry.revision <= as_of_) {
    return;  // the prefix read has seen it
  }
  Result<K> key = codec_.key(std::string_view(event.entry.key).substr(prefix_.size()));
  if (!key) {
    ++unreadable_;
    return;
  }
  const auto known = entries_.find(*key);
  if (known != entries_.end() && known->second.revision >= event.entry.revision) {
    return;
  }
  const auto gone = removed_.find(*key);
  if (gone != removed_.end() && gone->second >= event.entry.revision) {
    return;
  }
  if (event.kind == WatchEvent::Kind::kPut) {
    Result<V> value = codec_.value(*key, event.entry.value);
    if (value) {
      Cached<V> cached{std::move(*value), event.entry.revision};
      removed_.erase(*key);
      entries_.insert_or_assign(*key, cached);
      changes.push_back({std::move(*key), std::move(cached)});
      return;
    }
    ++unreadable_;  // what was known of the key no longer holds, and the new is not known
  }
  if (removed_.size() >= kRemovedMax) {
    // A watch is in order: whatever is older than this event has come already.
    as_of_ = event.entry.revision;
    removed_.clear();
  } else {
    removed_.insert_or_assign(*key, event.entry.revision);
  }
  if (entries_.erase(*key) > 0) {
    changes.push_back({std::move(*key), std::nullopt});
  }
}

template <class K, class V>
void CachingMetaStore<K, V>::tell(const std::vector<Change>& changes) {
  if (!hooks_.on_change) {
    return;
  }
  for (const Change& change : changes) {
    hooks_.on_change(change.key, change.now ? &*change.now : nullptr);
  }
}

template <class K, class V>
std::optional<Cached<V>> CachingMetaStore<K, V>::find(const K& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional<Cached<V>>(found->second);
}

template <class K, class V>
void CachingMetaStore<K, V>::for_each(
    const std::function<bool(const K&, const Cached<V>&)>& visit) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, cached] : entries_) {
    if (!visit(key, cached)) {
      return;
    }
  }
}

template <class K, class V>
void CachingMetaStore<K, V>::for_each_from(
    const K& from, const std::function<bool(const K&, const Cached<V>&)>& visit) const {
  const std::scoped_lock lock(mutex_);
  for (auto at = entries_.lower_bound(from); at != entries_.end(); ++at) {
    if (!visit(at->first, at->second)) {
      return;
    }
  }
}

template <class K, class V>
std::size_t CachingMetaStore<K, V>::size() const {
  const std::scoped_lock lock(mutex_);
  return entries_.size();
}

template <class K, class V>
void CachingMetaStore<K, V>::note_put(const K& key, V value, Revision revision) {
  std::vector<Change> changes;
  {
    const std::scoped_lock lock(mutex_);
    const auto known = entries_.find(key);
    const auto gone = removed_.find(key);
    if (revision <= as_of_ || (known != entries_.end() && known->second.revision >= revision) ||
        (gone != removed_.end() && gone->second >= revision)) {
      return;
    }
    Cached<V> cached{std::move(value), revision};
    removed_.erase(key);
    entries_.insert_or_assign(key, cached);
    changes.push_back({key, std::move(cached)});
  }
  tell(changes);
}

template <class K, class V>
void CachingMetaStore<K, V>::note_remove(const K& key, Revision revision) {
  std::vector<Change> changes;
  {
    const std::scoped_lock lock(mutex_);
    const auto known = entries_.find(key);
    if (revision <= as_of_ || (known != entries_.end() && known->second.revision >= revision)) {
      return;
    }
    removed_.insert_or_assign(key, revision);
    if (entries_.erase(key) > 0) {
      changes.push_back({key, std::nullopt});
    }
  }
  tell(changes);
}

template <class K, class V>
std::uint64_t CachingMetaStore<K, V>::age_ms() const {
  const std::scoped_lock lock(mutex_);
  return lost_since_ ? static_cast<std::uint64_t>(clock_.mono().value() - lost_since_->value()) : 0;
}

template <class K, class V>
std::uint64_t CachingMetaStore<K, V>::unreadable_count() const {
  const std::scoped_lock lock(mutex_);
  return unreadable_;
}

}  // namespace ackline::meta

// The dead letters of one group on one partition, as far as their state goes: the events themselves
// lie in the dead-letter partition.
//
// An entry is named by the offset of its event and the generation in which it died; a replay makes
// a new one and leaves the old one `reopened`, so that it no longer answers for the event. Owned by
// one Progress, on its shard's thread. Nothing fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "ackline/base/types.h"
#include "ackline/delivery/port.h"
#include "ackline/delivery/report.h"

namespace ackline::delivery {

class DeadTable {
 public:
  using Key = DeadLetterKey;
  struct Entry {
    Offset dlq;
    std::uint32_t redrives = 0;
    EntryState state = EntryState::kDead;
    bool reopened = false;  // its event was opened again since: it says nothing of the event now
  };
  using Map = std::map<Key, Entry>;

  void add(Offset source, Generation generation, Entry entry) {
    const Key key{source, generation};
    if (const auto before = entries_.find(key); before != entries_.end()) {
      by_dlq_.erase(before->second.dlq);
    }
    by_dlq_.insert_or_assign(entry.dlq, key);
    entries_.insert_or_assign(key, entry);
  }
  // The entry whose record lies at `dlq`, or null.
  [[nodiscard]] const Map::value_type* at(Offset dlq) const {
    const auto key = by_dlq_.find(dlq);
    return key == by_dlq_.end() ? nullptr : &*entries_.find(key->second);
  }
  // The newest entry of `source`, or null.
  [[nodiscard]] const Entry* newest(Offset source) const { return find(source).second; }
  [[nodiscard]] DeadEntry report(const Map::value_type& item) const {
    const auto error = errors_.find(item.first);
    return {.source = item.first.source,
            .dlq = item.second.dlq,
            .generation = item.first.generation,
            .state = item.second.state,
            .redrives = item.second.redrives,
            .last_error = error == errors_.end() ? std::string{} : error->second};
  }
  // With its key; {end, null} when there is none.
  [[nodiscard]] std::pair<Map::const_iterator, const Entry*> find(Offset source) const {
    auto after = entries_.upper_bound(Key{source, Generation(UINT32_MAX)});
    if (after == entries_.begin() || std::prev(after)->first.source != source) {
      return {entries_.end(), nullptr};
    }
    --after;
    return {after, &after->second};
  }
  // Changes the entry at `dlq`; false when there is none.
  template <class Change>
  bool change(Offset dlq, Change change) {
    const auto key = by_dlq_.find(dlq);
    if (key == by_dlq_.end()) {
      return false;
    }
    change(entries_.find(key->second)->second);
    return true;
  }
  void set_error(Offset dlq, std::string error) {
    const auto key = by_dlq_.find(dlq);
    if (key != by_dlq_.end() && !error.empty()) {
      errors_.insert_or_assign(key->second, std::move(error));
    }
  }
  void set_error(Key key, std::string error) { errors_.insert_or_assign(key, std::move(error)); }
  // What lies at or above `offset` is opened again.
  void reopen_from(Offset offset) {
    for (auto at = entries_.lower_bound(Key{offset, Generation(0)}); at != entries_.end(); ++at) {
      at->second.reopened = true;
    }
  }
  // Purged ones whose record is no longer in the log: nothing shows them any more.
  template <class Dropped>
  void drop_purged_below(Offset dlq_start, Dropped dropped) {
    for (auto at = by_dlq_.begin(); at != by_dlq_.end() && at->first < dlq_start;) {
      const auto entry = entries_.find(at->second);
      if (entry->second.state != EntryState::kPurged) {
        ++at;
        continue;
      }
      dropped(entry->first);
      errors_.erase(entry->first);
      entries_.erase(entry);
      at = by_dlq_.erase(at);
    }
  }
  // `dead` or `redriving`.
  [[nodiscard]] std::uint64_t open_count() const {
    std::uint64_t count = 0;
    for (const auto& [key, entry] : entries_) {
      count += entry.state == EntryState::kDead || entry.state == EntryState::kRedriving ? 1U : 0U;
    }
    return count;
  }
  [[nodiscard]] const Map& all() const { return entries_; }
  [[nodiscard]] const std::map<Key, std::string>& errors() const { return errors_; }
  [[nodiscard]] std::size_t memory_bytes() const {
    return entries_.size() * (sizeof(Map::value_type) + 32 + sizeof(Key) + 48) +
           errors_.size() * (sizeof(std::pair<Key, std::string>) + 64);
  }

 private:
  Map entries_;
  std::map<Offset, Key> by_dlq_;
  std::map<Key, std::string> errors_;
};

}  // namespace ackline::delivery

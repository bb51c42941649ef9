#include "ackline/log/local/read_cache.h"

namespace ackline::log {

std::shared_ptr<const Chunk> ReadCache::find(PartitionNumber partition, Offset offset) {
  auto entry = entries_.upper_bound(Key{partition, offset});
  if (entry == entries_.begin()) return nullptr;
  --entry;
  if (entry->first.first != partition || !entry->second.chunk->contains(offset)) return nullptr;
  ages_.splice(ages_.begin(), ages_, entry->second.age);
  return entry->second.chunk;
}

void ReadCache::insert(PartitionNumber partition, std::shared_ptr<const Chunk> chunk) {
  // Chunks that the new one covers would hide it from `find`.
  const Key key{partition, chunk->first()};
  auto covered = entries_.lower_bound(key);
  while (covered != entries_.end() && covered->first.first == partition &&
         covered->first.second < chunk->end() && covered->second.chunk->end() <= chunk->end()) {
    const auto next = std::next(covered);
    erase(covered);
    covered = next;
  }
  const auto same = entries_.find(key);
  if (same != entries_.end()) return;  // a longer one that begins here
  while (bytes_ > 0 && bytes_ + chunk->memory_bytes() > budget_bytes_) {
    erase(entries_.find(ages_.back()));
  }
  bytes_ += chunk->memory_bytes();
  ages_.push_front(key);
  entries_.emplace(key, Entry{std::move(chunk), ages_.begin()});
}

void ReadCache::drop(PartitionNumber partition) {
  auto entry = entries_.lower_bound(Key{partition, Offset(0)});
  while (entry != entries_.end() && entry->first.first == partition) {
    const auto next = std::next(entry);
    erase(entry);
    entry = next;
  }
}

void ReadCache::erase(std::map<Key, Entry>::iterator entry) {
  bytes_ -= entry->second.chunk->memory_bytes();
  ages_.erase(entry->second.age);
  entries_.erase(entry);
}

}  // namespace ackline::log

// The chunks that were read from segment files lately, for all partitions of a shard.
//
// Groups that read at one place share a fetch; one budget in bytes bounds all of them. Least
// recently used goes first. Shard's thread only; no I/O.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "ackline/base/types.h"
#include "ackline/log/local/chunk.h"

namespace ackline::log {

class ReadCache {
 public:
  explicit ReadCache(std::uint64_t budget_bytes = std::uint64_t{32} << 20U)
      : budget_bytes_(budget_bytes) {}

  // The chunk of `partition` that contains `offset`, or null.
  [[nodiscard]] std::shared_ptr<const Chunk> find(PartitionNumber partition, Offset offset);
  // Keeps it, dropping others if need be. One larger than the budget is kept until the next.
  void insert(PartitionNumber partition, std::shared_ptr<const Chunk> chunk);
  void drop(PartitionNumber partition);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  using Key = std::pair<PartitionNumber, Offset>;  // the chunk's first offset
  struct Entry {
    std::shared_ptr<const Chunk> chunk;
    std::list<Key>::iterator age;
  };
  void erase(std::map<Key, Entry>::iterator entry);

  std::uint64_t budget_bytes_;
  std::uint64_t bytes_ = 0;
  std::map<Key, Entry> entries_;
  std::list<Key> ages_;  // newest use first
};

}  // namespace ackline::log

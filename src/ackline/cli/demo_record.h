// What a client knows by itself of a group's progress, to hold the server's numbers against.
//
// Plain data; deliberately the simplest thing that can be right: a set of settled offsets for each
// partition, counted each time.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace ackline::cli {

// How many events each partition got: its high watermark is that less one.
using Published = std::vector<std::int64_t>;

class GroupRecord {
 public:
  explicit GroupRecord(std::size_t partitions) : settled_(partitions) {}

  void settle(std::size_t partition, std::int64_t offset) { settled_[partition].insert(offset); }
  // The last offset with all before it settled; -1 when the first is not.
  [[nodiscard]] std::int64_t frontier(std::size_t partition) const;
  [[nodiscard]] std::int64_t lag(std::size_t partition, const Published& published) const {
    return published[partition] - 1 - frontier(partition);
  }
  [[nodiscard]] std::int64_t pending(std::size_t partition, const Published& published) const {
    return published[partition] - static_cast<std::int64_t>(settled_[partition].size());
  }
  [[nodiscard]] std::int64_t settled() const;

 private:
  std::vector<std::set<std::int64_t>> settled_;
};

}  // namespace ackline::cli

// A frontier that anybody can check by reading: a map from offset to what became of it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ackline/frontier/frontier.h"

namespace ackline::frontier::testing {

class Model {
 public:
  explicit Model(std::int64_t start) : next_(start), cursor_(start) {}

  Yield offer(std::int64_t offset) {
    Yield yield = Yield::kNew;
    if (settled_.contains(offset)) {
      yield = Yield::kSettled;
    } else if (pending_.contains(offset)) {
      yield = Yield::kInFlight;
    } else {
      pending_.insert(offset);
      gaps_.erase(offset);
    }
    skip_to(offset + 1);
    return yield;
  }
  void skip_to(std::int64_t position) {
    cursor_ = std::max(cursor_, position);
    advance();
  }
  // -1: never offered; 0: was terminal; 1: became so.
  int settle(std::int64_t offset) {
    if (offset < next_ || settled_.contains(offset)) {
      return offset < 0 ? -1 : 0;
    }
    if (pending_.erase(offset) == 0) {
      return -1;
    }
    settled_.insert(offset);
    advance();
    return 1;
  }
  std::uint64_t settle_range(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> hit(pending_.lower_bound(first), pending_.upper_bound(last));
    for (const std::int64_t offset : hit) {
      pending_.erase(offset);
      settled_.insert(offset);
    }
    advance();
    return hit.size();
  }
  void restore_settled(std::int64_t first, std::int64_t last) {
    for (std::int64_t offset = std::max(first, next_); offset <= last; ++offset) {
      pending_.erase(offset);
      gaps_.erase(offset);
      settled_.insert(offset);
    }
    advance();
  }
  bool restore_in_flight(std::int64_t offset) {
    if (offset < next_ || settled_.contains(offset)) {
      return false;
    }
    gaps_.erase(offset);
    pending_.insert(offset);
    return true;
  }
  void reopen(std::int64_t frontier, const std::vector<Offset>& in_flight) {
    *this = Model(frontier + 1);
    for (const Offset offset : in_flight) {
      if (offset.value() > frontier) {
        pending_.insert(offset.value());
      }
    }
  }
  std::uint64_t log_start_moved(std::int64_t log_start) {
    const std::size_t before = pending_.size();
    if (log_start > next_) {
      pending_.erase(pending_.begin(), pending_.lower_bound(log_start));
      cursor_ = std::max(cursor_, log_start);
      advance();
    }
    return before - pending_.size();
  }
  void rewind() {
    // As the real one: gaps below the old cursor are learnt again.
    cursor_ = next_;
  }
  void read_again(const std::vector<Offset>& forgotten) {
    for (const Offset offset : forgotten) pending_.erase(offset.value());
    rewind();
  }
  // What deserialise(serialise()) leaves: gaps below the last settled event stay known, nothing is
  // in flight.
  void restart() {
    const std::int64_t last = settled_.empty() ? next_ : *settled_.rbegin();
    for (std::int64_t offset = next_; offset < std::min(cursor_, last); ++offset) {
      if (!settled_.contains(offset) && !pending_.contains(offset)) {
        gaps_.insert(offset);
      }
    }
    gaps_.erase(gaps_.lower_bound(last), gaps_.end());
    pending_.clear();
    cursor_ = next_;
    advance();
  }

  [[nodiscard]] std::int64_t next() const { return next_; }
  [[nodiscard]] std::int64_t cursor() const { return cursor_; }
  [[nodiscard]] const std::set<std::int64_t>& pending() const { return pending_; }
  [[nodiscard]] const std::set<std::int64_t>& settled() const { return settled_; }
  [[nodiscard]] std::uint64_t ahead() const {
    std::uint64_t count = 0;
    for (const auto* set : {&pending_, &settled_}) {
      count += static_cast<std::uint64_t>(
          std::distance(set->lower_bound(next_), set->lower_bound(cursor_)));
    }
    return count;
  }
  [[nodiscard]] std::vector<Hole> holes() const {
    std::vector<Hole> holes;
    bool open = false;
    for (std::int64_t offset = next_; offset < cursor_; ++offset) {
      if (pending_.contains(offset)) {
        if (!open) {
          holes.push_back({Offset(offset), Offset(offset), 0});
        }
        open = true;
        holes.back().last = Offset(offset);
        ++holes.back().count;
      } else if (settled_.contains(offset)) {
        open = false;
      }
    }
    return holes;
  }
  [[nodiscard]] std::vector<OffsetRange> settled_ranges() const {
    std::vector<OffsetRange> ranges;
    for (const std::int64_t offset : settled_) {
      ranges.push_back({Offset(offset), Offset(offset)});
    }
    normalise(ranges);
    return ranges;
  }

 private:
  void advance() {
    while (next_ < cursor_ ? !pending_.contains(next_)
                           : settled_.contains(next_) || gaps_.contains(next_)) {
      ++next_;
      cursor_ = std::max(cursor_, next_);
    }
    pending_.erase(pending_.begin(), pending_.lower_bound(next_));
    settled_.erase(settled_.begin(), settled_.lower_bound(next_));
    gaps_.erase(gaps_.begin(), gaps_.lower_bound(next_));
  }

  std::int64_t next_;
  std::int64_t cursor_;
  std::set<std::int64_t> pending_;
  std::set<std::int64_t> settled_;
  std::set<std::int64_t> gaps_;  // known ones above the cursor
};

}  // namespace ackline::frontier::testing

// Which ordering keys of a group on a partition are busy, and who waits behind them (invariant 19).
//
// A key is in the table while one of its events is in flight or others wait. What waits is an
// offset only, 16 bytes; its event is read again when its turn comes. Entries are named by an index
// that slots keep, 0 being "no key".
//
// Owned by one Progress, on its shard's thread. Nothing fails.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ackline/base/types.h"

namespace ackline::delivery {

class KeyTable {
 public:
  // The entry of `hash` when some event of it is in flight or waits, else 0.
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const;
  // An event of `hash` is in flight now. Returns the entry.
  std::uint32_t hold(std::uint64_t hash);
  // `offset` waits behind the others of `entry`; ascending offsets.
  void block(std::uint32_t entry, Offset offset);
  // An event of `entry` is no longer in flight. True: the first that waits may go now.
  bool release(std::uint32_t entry);

  // The first entry with something waiting and nothing in flight, or 0.
  [[nodiscard]] std::uint32_t ready() const { return ready_head_; }
  // The first that waits at `entry`.
  [[nodiscard]] Offset first(std::uint32_t entry) const;
  // It goes: `in_flight`, it holds the entry now; else it is terminal and the next one may go.
  void take(std::uint32_t entry, bool in_flight);
  // Everything that waits is forgotten (it will be read again); what is in flight stays.
  void forget_blocked();
  // What waits below `offset` is forgotten.
  void forget_below(Offset offset);

  [[nodiscard]] std::uint64_t hash(std::uint32_t entry) const { return entries_[entry].hash; }
  [[nodiscard]] std::uint64_t blocked() const { return blocked_; }
  template <class Visit>
  void for_each_blocked(Visit visit) const {
    for (std::uint32_t entry = 1; entry < entries_.size(); ++entry) {
      for (std::uint32_t at = entries_[entry].head; at != 0; at = nodes_[at].next) {
        visit(entry, nodes_[at].offset);
      }
    }
  }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t holders = 0;
    std::uint32_t head = 0;  // nodes; 0: none
    std::uint32_t tail = 0;
    std::uint32_t next = 0;  // free list, or list of ready entries
    bool is_ready = false;
  };
  struct Node {
    Offset offset{};
    std::uint32_t next = 0;
  };
  void drop_if_idle(std::uint32_t entry);
  void make_ready(std::uint32_t entry);
  void remove_ready(std::uint32_t entry);
  void free_node(std::uint32_t node);

  boost::unordered_flat_map<std::uint64_t, std::uint32_t> index_;
  std::vector<Entry> entries_{1};
  std::vector<Node> nodes_{1};
  std::uint32_t free_entry_ = 0;
  std::uint32_t free_node_ = 0;
  std::uint32_t ready_head_ = 0;
  std::uint32_t ready_tail_ = 0;
  std::uint64_t blocked_ = 0;
};

}  // namespace ackline::delivery

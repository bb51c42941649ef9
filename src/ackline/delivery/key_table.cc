#include "ackline/delivery/key_table.h"

#include "ackline/base/check.h"

namespace ackline::delivery {

std::uint32_t KeyTable::find(std::uint64_t hash) const {
  const auto found = index_.find(hash);
  return found == index_.end() ? 0 : found->second;
}

std::uint32_t KeyTable::hold(std::uint64_t hash) {
  const auto [at, is_new] = index_.try_emplace(hash, 0U);
  if (is_new) {
    if (free_entry_ != 0) {
      at->second = free_entry_;
      free_entry_ = entries_[free_entry_].next;
    } else {
      at->second = static_cast<std::uint32_t>(entries_.size());
      entries_.emplace_back();
    }
    entries_[at->second] = Entry{.hash = hash};
  }
  Entry& entry = entries_[at->second];
  ++entry.holders;
  if (entry.is_ready) {
    remove_ready(at->second);
  }
  return at->second;
}

void KeyTable::block(std::uint32_t entry, Offset offset) {
  std::uint32_t node = free_node_;
  if (node != 0) {
    free_node_ = nodes_[node].next;
  } else {
    node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
  }
  nodes_[node] = Node{.offset = offset};
  Entry& into = entries_[entry];
  (into.head == 0 ? into.head : nodes_[into.tail].next) = node;
  into.tail = node;
  ++blocked_;
}

bool KeyTable::release(std::uint32_t entry) {
  Entry& of = entries_[entry];
  ACKLINE_CHECK(of.holders > 0);
  --of.holders;
  if (of.holders > 0) {
    return false;
  }
  if (of.head != 0) {
    make_ready(entry);
    return true;
  }
  drop_if_idle(entry);
  return false;
}

Offset KeyTable::first(std::uint32_t entry) const {
  return nodes_[entries_[entry].head].offset;
}

void KeyTable::take(std::uint32_t entry, bool in_flight) {
  Entry& of = entries_[entry];
  const std::uint32_t node = of.head;
  of.head = nodes_[node].next;
  free_node(node);
  if (in_flight) {
    ++of.holders;
    remove_ready(entry);
  } else if (of.head == 0) {
    remove_ready(entry);
    drop_if_idle(entry);
  }
}

void KeyTable::forget_blocked() {
  forget_below(Offset(INT64_MAX));
}

void KeyTable::forget_below(Offset offset) {
  for (std::uint32_t index = 1; index < entries_.size(); ++index) {
    Entry& entry = entries_[index];
    bool changed = false;
    while (entry.head != 0 && nodes_[entry.head].offset < offset) {
      const std::uint32_t node = entry.head;
      entry.head = nodes_[node].next;
      free_node(node);
      changed = true;
    }
    if (changed && entry.head == 0) {
      remove_ready(index);
      drop_if_idle(index);
    }
  }
}

void KeyTable::drop_if_idle(std::uint32_t entry) {
  Entry& of = entries_[entry];
  if (of.holders > 0 || of.head != 0) {
    return;
  }
  index_.erase(of.hash);
  of = Entry{.next = free_entry_};
  free_entry_ = entry;
}

void KeyTable::make_ready(std::uint32_t entry) {
  Entry& of = entries_[entry];
  of.is_ready = true;
  of.next = 0;
  (ready_head_ == 0 ? ready_head_ : entries_[ready_tail_].next) = entry;
  ready_tail_ = entry;
}

void KeyTable::remove_ready(std::uint32_t entry) {
  if (!entries_[entry].is_ready) {
    return;
  }
  std::uint32_t before = 0;
  for (std::uint32_t at = ready_head_; at != entry; at = entries_[at].next) {
    before = at;
  }
  (before == 0 ? ready_head_ : entries_[before].next) = entries_[entry].next;
  if (ready_tail_ == entry) {
    ready_tail_ = before;
  }
  entries_[entry].is_ready = false;
  entries_[entry].next = 0;
}

void KeyTable::free_node(std::uint32_t node) {
  nodes_[node] = Node{.next = free_node_};
  free_node_ = node;
  --blocked_;
}

std::size_t KeyTable::memory_bytes() const {
  return index_.bucket_count() * (sizeof(std::uint64_t) + sizeof(std::uint64_t) + 1) +
         entries_.capacity() * sizeof(Entry) + nodes_.capacity() * sizeof(Node);
}

}  // namespace ackline::delivery

// Slots: one of 56 bytes for each delivery in flight, in a slab of its group on its partition.
//
// The deliveryId names the slot, so there is no map from ids; payloads stay in the log. Times are
// milliseconds from the slab's base in 32 bits, moved on every few days. One pair of links serves
// the three lists that a slot can be in: the free list, its holder's list while leased, the list of
// those that may be offered again.
//
// Owned by one Progress, on its shard's thread. Nothing fails.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ackline/base/types.h"
#include "ackline/io/timer_wheel.h"

namespace ackline::delivery {

enum class SlotState : std::uint8_t {
  kFree,
  kLeased,
  kWaiting,  // for its retry
  kReady,    // waits for a client, or for its event to be read
  kDead,     // waits for its dead letter to be written
};

inline constexpr std::uint32_t kNoSlot = 0xFFFFFFFFU;

struct Slot {
  Offset offset{-1};
  Epoch epoch;              // epoch and offer of the newest offer: with the offset,
  std::uint32_t offer = 0;  // they make an id current (invariant 12)
  io::TimerLinks timer;
  std::uint32_t due = 0;    // end of the lease, or of the wait
  std::uint32_t since = 0;  // when it came to be what it is
  std::uint32_t next = kNoSlot;
  std::uint32_t prev = kNoSlot;
  ClientNumber client;  // holder, or the last one
  std::uint32_t size_bytes = 0;
  std::uint32_t key = 0;  // in the KeyTable; 0: none
  std::uint16_t attempt : 11 = 0;
  std::uint16_t reason : 2 = 0;   // DeadReason, while kDead or `asked`
  std::uint16_t suspect : 1 = 0;  // counts as its holder's suspect
  std::uint16_t reoffer : 1 = 0;  // was offered before
  std::uint16_t has_error : 1 = 0;
  std::uint8_t restarts = 0;
  std::uint8_t state_bits : 3 = 0;
  std::uint8_t losses : 2 = 0;
  std::uint8_t asked : 1 = 0;     // a dead letter is asked for and not answered
  std::uint8_t resent : 1 = 0;    // the offer left a second time: its client may have it
  std::uint8_t at_stake : 1 = 0;  // its holder's stream broke: lost with it after the grace

  [[nodiscard]] SlotState state() const { return static_cast<SlotState>(state_bits); }
  void set_state(SlotState state) { state_bits = static_cast<std::uint8_t>(state) & 7U; }
  void set_attempt(std::uint32_t count) { attempt = static_cast<std::uint16_t>(count) & 0x7FFU; }
  void set_losses(std::uint32_t count) {
    losses = static_cast<std::uint8_t>(std::min<std::uint32_t>(count, 3)) & 3U;
  }
};
static_assert(sizeof(Slot) == 56);

struct SlotList {
  std::uint32_t head = kNoSlot;
  std::uint32_t tail = kNoSlot;
  [[nodiscard]] bool empty() const { return head == kNoSlot; }
};

class SlotSlab {
 public:
  explicit SlotSlab(MonoMs now) : base_(now.value() - kBack) {}

  [[nodiscard]] Slot& operator[](std::uint32_t index) {
    return (*chunks_[index >> kShift])[index & kMask];
  }
  [[nodiscard]] const Slot& operator[](std::uint32_t index) const {
    return (*chunks_[index >> kShift])[index & kMask];
  }
  [[nodiscard]] std::uint32_t size() const {
    return size_;
  }  // one past the highest index ever used
  [[nodiscard]] std::uint32_t used() const { return used_; }
  // Null when `index` is out of range or free.
  [[nodiscard]] Slot* find(std::uint32_t index) {
    return index < size_ && (*this)[index].state() != SlotState::kFree ? &(*this)[index] : nullptr;
  }
  [[nodiscard]] const Slot* find(std::uint32_t index) const {
    return index < size_ && (*this)[index].state() != SlotState::kFree ? &(*this)[index] : nullptr;
  }

  // A fresh slot; its state is the caller's to set before anything else is asked of the slab.
  [[nodiscard]] std::uint32_t allocate();
  // Recovery: exactly this one, which is free.
  void claim(std::uint32_t index);
  void release(std::uint32_t index);
  // After recovery: makes the free list, low indexes first.
  void rebuild_free_list();

  [[nodiscard]] MonoMs due(const Slot& slot) const { return MonoMs(base_ + slot.due); }
  [[nodiscard]] MonoMs since(const Slot& slot) const { return MonoMs(base_ + slot.since); }
  void set_due(Slot& slot, MonoMs at) { slot.due = pack(at); }
  void set_since(Slot& slot, MonoMs at) { slot.since = pack(at); }
  // Keeps `now` well inside the 32 bits.
  void follow(MonoMs now) {
    if (now.value() - base_ > 3 * kBack) {
      rebase(now);
    }
  }

  // Every time in here is `ms` later.
  void shift(std::int64_t ms) { base_ += ms; }

  // For the timer wheel.
  [[nodiscard]] io::TimerLinks& timer_links(std::uint32_t index) { return (*this)[index].timer; }
  [[nodiscard]] MonoMs timer_due(std::uint32_t index) const { return due((*this)[index]); }

  void push_back(SlotList& list, std::uint32_t index);
  void remove(SlotList& list, std::uint32_t index);

  template <class Visit>
  void for_each(Visit visit) {
    for (std::uint32_t index = 0; index < size_; ++index) {
      if ((*this)[index].state() != SlotState::kFree) {
        visit(index, (*this)[index]);
      }
    }
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t index = 0; index < size_; ++index) {
      if ((*this)[index].state() != SlotState::kFree) {
        visit(index, (*this)[index]);
      }
    }
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return chunks_.capacity() * sizeof(void*) + chunks_.size() * sizeof(Chunk);
  }

 private:
  static constexpr unsigned kShift = 4;
  static constexpr std::uint32_t kMask = (1U << kShift) - 1;
  static constexpr std::int64_t kBack = std::int64_t{1} << 30U;
  using Chunk = std::array<Slot, 1U << kShift>;

  [[nodiscard]] std::uint32_t pack(MonoMs at) const {
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(at.value() - base_, 0, std::int64_t{0xFFFFFFFF}));
  }
  void rebase(MonoMs now);
  void reach(std::uint32_t index);

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::int64_t base_;
  std::uint32_t size_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t free_ = kNoSlot;
};

// The longest lease or wait that a slot can hold: 12 days.
inline constexpr std::int64_t kSlotSpanMaxMs = (std::int64_t{1} << 30U) - 1;

}  // namespace ackline::delivery

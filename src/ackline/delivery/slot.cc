#include "ackline/delivery/slot.h"

#include "ackline/base/check.h"

namespace ackline::delivery {

std::uint32_t SlotSlab::allocate() {
  ++used_;
  if (free_ != kNoSlot) {
    const std::uint32_t index = free_;
    free_ = (*this)[index].next;
    (*this)[index] = Slot{};
    return index;
  }
  ACKLINE_CHECK(size_ < io::TimerWheel<SlotSlab>::kIndexMax);
  const std::uint32_t index = size_;
  reach(index);
  return index;
}

void SlotSlab::reach(std::uint32_t index) {
  while (index >= chunks_.size() << kShift) {
    chunks_.push_back(std::make_unique<Chunk>());
  }
  size_ = std::max(size_, index + 1);
}

void SlotSlab::claim(std::uint32_t index) {
  reach(index);
  (*this)[index] = Slot{};
  ++used_;
}

void SlotSlab::release(std::uint32_t index) {
  Slot& slot = (*this)[index];
  ACKLINE_CHECK(!slot.timer.armed());
  slot = Slot{};
  slot.next = free_;
  free_ = index;
  --used_;
}

void SlotSlab::rebuild_free_list() {
  free_ = kNoSlot;
  for (std::uint32_t index = size_; index-- > 0;) {
    if ((*this)[index].state() == SlotState::kFree) {
      (*this)[index].next = free_;
      free_ = index;
    }
  }
}

void SlotSlab::rebase(MonoMs now) {
  const std::int64_t base = now.value() - kBack;
  // A clock that stood for weeks moves everything to the base.
  const auto shift = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(base - base_, 0, std::int64_t{0xFFFFFFFF}));
  for_each([shift](std::uint32_t /*index*/, Slot& slot) {
    slot.due -= std::min(slot.due, shift);
    slot.since -= std::min(slot.since, shift);
  });
  base_ = base;
}

void SlotSlab::push_back(SlotList& list, std::uint32_t index) {
  Slot& slot = (*this)[index];
  slot.next = kNoSlot;
  slot.prev = list.tail;
  if (list.tail == kNoSlot) {
    list.head = index;
  } else {
    (*this)[list.tail].next = index;
  }
  list.tail = index;
}

void SlotSlab::remove(SlotList& list, std::uint32_t index) {
  Slot& slot = (*this)[index];
  (slot.prev == kNoSlot ? list.head : (*this)[slot.prev].next) = slot.next;
  (slot.next == kNoSlot ? list.tail : (*this)[slot.next].prev) = slot.prev;
  slot.next = kNoSlot;
  slot.prev = kNoSlot;
}

}  // namespace ackline::delivery

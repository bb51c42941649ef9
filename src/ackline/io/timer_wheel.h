// A hierarchical timer wheel for things that live in slots.
//
// A million leases and retries each need a timer that is armed and disarmed in a few nanoseconds.
// The wheel links the caller's slots by index: 8 bytes in each slot, no node of its own. Level L
// holds what differs from now first in the L-th group of six bits, so a timer is touched once per
// level on its way down, and the first set bit of the lowest level in use says when to wake up.
//
// The caller provides `Slots` with
//     TimerLinks& timer_links(std::uint32_t index);
//     MonoMs timer_due(std::uint32_t index) const;
// The due time of an armed slot may be moved later in place (it is looked at again when the old
// time comes); to move it earlier, arm again. Owned by one shard, used on its thread only; nothing
// fails.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "ackline/base/check.h"
#include "ackline/base/types.h"

namespace ackline::io {

// Lives in the slot; only the wheel writes it. As constructed: not armed.
struct TimerLinks {
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  std::uint32_t next = kNone;
  std::uint32_t prev = kNone;
  [[nodiscard]] bool armed() const { return prev != kNone; }
};
static_assert(sizeof(TimerLinks) == 8);

template <class Slots>
class TimerWheel {
 public:
  static constexpr std::uint32_t kIndexMax = 0x7FFFFFFFU;

  explicit TimerWheel(MonoMs now) : now_(ordered(now)) {}

  // Arms `index` for `slots.timer_due(index)`; if it is armed, moves it. O(1).
  void arm(Slots& slots, std::uint32_t index) {
    ACKLINE_CHECK(index <= kIndexMax);
    disarm(slots, index);
    link(slots, index);
    ++size_;
  }
  // Nothing happens to one that is not armed. O(1).
  void disarm(Slots& slots, std::uint32_t index) {
    if (slots.timer_links(index).armed()) {
      unlink(slots, index);
      --size_;
    }
  }
  // Moves time to `now` and calls `due(index)` for what is due by then, disarmed already, earliest
  // millisecond first. `due` may arm and disarm any slot. Stops after `work_max` steps (a call, or
  // a timer moved down a level); then `next_due()` is at or before `now`: call again. Returns the
  // calls made. A `now` in the past counts as the time reached.
  template <class Due>
  std::size_t advance(Slots& slots, MonoMs now, std::size_t work_max, Due due) {
    const std::uint64_t target = std::max(ordered(now), now_);
    std::size_t calls = 0;
    while (work_max > 0) {
      const std::optional<Event> event = next_event();
      if (!event || event->at > target) {
        now_ = target;
        break;
      }
      now_ = event->at;
      while (work_max > 0 && !bucket(event->bucket).empty()) {
        const std::uint32_t index = bucket(event->bucket).first;
        unlink(slots, index);
        --work_max;
        if (ordered(slots.timer_due(index)) > now_) {
          link(slots, index);
          continue;
        }
        --size_;
        ++calls;
        due(index);
      }
    }
    return calls;
  }
  // No timer is due before this; exact within 64 ms, else the begin of the span it is in. Nothing:
  // nothing is armed.
  [[nodiscard]] std::optional<MonoMs> next_due() const {
    const std::optional<Event> event = next_event();
    return event ? std::optional(MonoMs(static_cast<std::int64_t>(event->at ^ kSign)))
                 : std::nullopt;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  // The time reached.
  [[nodiscard]] MonoMs now() const { return MonoMs(static_cast<std::int64_t>(now_ ^ kSign)); }

 private:
  static constexpr unsigned kDigitBits = 6;
  static constexpr std::uint32_t kBuckets = 1U << kDigitBits;
  static constexpr unsigned kLevels = 11;  // all 64 bits; a level takes memory once it is used
  static constexpr std::uint32_t kBucketCode = 0x80000000U;  // a link that names a bucket
  static constexpr std::uint64_t kSign = 1ULL << 63U;

  struct Bucket {
    std::uint32_t first = TimerLinks::kNone;
    std::uint32_t last = TimerLinks::kNone;
    [[nodiscard]] bool empty() const { return first == TimerLinks::kNone; }
  };
  struct Event {
    std::uint64_t at;
    std::uint32_t bucket;
  };

  // i64 order as u64 order.
  [[nodiscard]] static std::uint64_t ordered(MonoMs time) {
    return static_cast<std::uint64_t>(time.value()) ^ kSign;
  }
  [[nodiscard]] static std::uint32_t digit(std::uint64_t time, unsigned level) {
    return static_cast<std::uint32_t>(time >> (level * kDigitBits)) & (kBuckets - 1);
  }
  [[nodiscard]] Bucket& bucket(std::uint32_t number) {
    auto& buckets = levels_[number / kBuckets].buckets;
    if (!buckets) {
      buckets = std::make_unique<std::array<Bucket, kBuckets>>();
    }
    return (*buckets)[number % kBuckets];
  }

  [[nodiscard]] std::uint32_t bucket_for(std::uint64_t due) const {
    due = std::max(due, now_);
    const unsigned level =
        (63U - static_cast<unsigned>(std::countl_zero((due ^ now_) | 1U))) / kDigitBits;
    return level * kBuckets + digit(due, level);
  }
  void link(Slots& slots, std::uint32_t index) {
    const std::uint32_t number = bucket_for(ordered(slots.timer_due(index)));
    Bucket& list = bucket(number);
    TimerLinks& links = slots.timer_links(index);
    links.next = kBucketCode | number;
    if (list.empty()) {
      links.prev = kBucketCode | number;
      list.first = index;
      levels_[number / kBuckets].used |= 1ULL << (number % kBuckets);
      levels_used_ |= 1U << (number / kBuckets);
    } else {
      links.prev = list.last;
      slots.timer_links(list.last).next = index;
    }
    list.last = index;
  }
  void unlink(Slots& slots, std::uint32_t index) {
    TimerLinks& links = slots.timer_links(index);
    const bool is_first = (links.prev & kBucketCode) != 0;
    const bool is_last = (links.next & kBucketCode) != 0;
    if (is_first && is_last) {
      const std::uint32_t number = links.next & ~kBucketCode;
      bucket(number) = Bucket{};
      const unsigned level = number / kBuckets;
      levels_[level].used &= ~(1ULL << (number % kBuckets));
      if (levels_[level].used == 0) {
        levels_used_ &= ~(1U << level);
      }
    } else if (is_first) {
      bucket(links.prev & ~kBucketCode).first = links.next;
      slots.timer_links(links.next).prev = links.prev;
    } else if (is_last) {
      bucket(links.next & ~kBucketCode).last = links.prev;
      slots.timer_links(links.prev).next = links.next;
    } else {
      slots.timer_links(links.next).prev = links.prev;
      slots.timer_links(links.prev).next = links.next;
    }
    links = TimerLinks{};
  }

  // A bucket above level 0 whose digit is now's is on its way down and comes before all others.
  // Otherwise all used digits of a level are ahead of now's, so the lowest used level is next.
  [[nodiscard]] std::optional<Event> next_event() const {
    if (levels_used_ == 0) {
      return std::nullopt;
    }
    for (std::uint32_t rest = levels_used_ & ~1U; rest != 0; rest &= rest - 1) {
      const auto level = static_cast<unsigned>(std::countr_zero(rest));
      if ((levels_[level].used >> digit(now_, level) & 1U) != 0) {
        return Event{now_, level * kBuckets + digit(now_, level)};
      }
    }
    const auto level = static_cast<unsigned>(std::countr_zero(levels_used_));
    const auto first = static_cast<std::uint32_t>(std::countr_zero(levels_[level].used));
    const unsigned shift = level * kDigitBits;
    const std::uint64_t below = (std::uint64_t{kBuckets} << shift) - 1;  // top level: all ones
    const std::uint64_t at = (now_ & ~below) | (std::uint64_t{first} << shift);
    return Event{at, level * kBuckets + first};
  }

  // Of a level together: with a wheel a partition each is cold.
  struct Level {
    std::uint64_t used = 0;  // bit per bucket that is not empty
    std::unique_ptr<std::array<Bucket, kBuckets>> buckets;
  };
  std::uint64_t now_;
  std::size_t size_ = 0;
  std::uint32_t levels_used_ = 0;
  std::array<Level, kLevels> levels_;
};

}  // namespace ackline::io

// The contiguous frontier of one group on one partition.
//
// Acks come back in any order, so "the newest acked offset" skips what is still being worked on.
// The frontier is the highest F such that every offset <= F that the log yielded is terminal. Above
// it two bits are kept per offset, in chunks of 4096: settling costs the same whatever the age of
// the hole, a million disjoint holes take half a megabyte, and long settled stretches take nothing.
//
// Between frontier and cursor an offset is pending, settled, or a gap (the log never yielded it;
// never waited for). Above the cursor there may be knowledge from before a restart or a reopen:
// settled offsets, gaps, and deliveries that stayed in flight; `offer` says so when the reader gets
// there. Always: frontier + 1 is pending, or frontier + 1 is the cursor.
//
// Owned by one group's progress on one partition, used on its shard's thread only. No clock, no
// I/O. Invariants 1 to 5, 7, 20.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/base/offset_range.h"
#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/frontier/bit_window.h"

namespace ackline::frontier {

// What the frontier knew of an offset when the reader came to it.
enum class Yield : std::uint8_t {
  kNew,       // deliver it
  kInFlight,  // restored or kept in flight: a slot has it already
  kSettled,   // terminal already: skip it
};

// A maximal run of pending events below the cursor. Gaps inside do not split it (nobody waits for
// them, and a stuck consumer on a compacted log is one hole to a person); a settled event does.
struct Hole {
  Offset first;  // pending
  Offset last;   // pending, >= first
  std::uint64_t count =
      0;  // pending events in it; fewer than last - first + 1 where there are gaps
  friend bool operator==(const Hole&, const Hole&) = default;
};

class Frontier {
 public:
  // Offsets between frontier and the newest offered one, gaps included, never exceed this.
  static constexpr std::uint64_t kSpanMax = 1ULL << 34U;

  // `start`: the first offset that counts, >= 0. `ahead_max`: bound on events offered past the
  // frontier, settled ones included, >= 1 (invariant 20).
  Frontier(Offset start, std::uint64_t ahead_max);

  // The log yielded `offset`, at or above the cursor; offsets skipped in between are gaps.
  // Errors: kFull when the bound is reached (back-pressure: nothing changed, settle and try again).
  // What is known already is never refused.
  [[nodiscard]] Result<Yield> offer(Offset offset);
  // The reader's position: everything below it that was not offered is a gap. A lower position than
  // the cursor changes nothing.
  void skip_to(Offset position);
  // `offset` is terminal now. True if this call made it so, false if it was. O(1) amortised.
  // Errors: kNotFound, never offered.
  [[nodiscard]] Result<bool> settle(Offset offset);
  // Settles what is pending in [first, last]; returns how many that were.
  std::uint64_t settle_range(Offset first, Offset last);

  // Recovery: the journal says that the events [first, last] are terminal, offered here or not.
  // Errors: kFull, more than kSpanMax past the frontier.
  [[nodiscard]] Result<void> restore_settled(Offset first, Offset last);
  // Recovery: a slot holds `offset`, which the reader has not come to again. True if it is pending
  // now, false if it is settled and the slot has nothing to do. Errors: kFull as above.
  [[nodiscard]] Result<bool> restore_in_flight(Offset offset);

  // Inclusive; start - 1 before the first.
  [[nodiscard]] Offset value() const { return Offset(static_cast<std::int64_t>(next_) - 1); }
  // "Next offset to read": value() + 1.
  [[nodiscard]] Offset committed() const { return Offset(static_cast<std::int64_t>(next_)); }
  // The next offset to offer.
  [[nodiscard]] Offset cursor() const { return Offset(static_cast<std::int64_t>(cursor_)); }
  // Known to be terminal. At or below the frontier everything is. O(1).
  [[nodiscard]] bool is_settled(Offset offset) const;
  // Offered (or restored) and not terminal. O(1).
  [[nodiscard]] bool is_pending(Offset offset) const;
  // Offered or restored, whatever became of it; true at or below the frontier. O(1).
  [[nodiscard]] bool is_offered(Offset offset) const {
    return is_pending(offset) || is_settled(offset);
  }

  // Events that are offered (or restored in flight) and not terminal.
  [[nodiscard]] std::uint64_t pending() const { return pending_; }
  // Existing terminal events past the frontier.
  [[nodiscard]] std::uint64_t settled_ahead() const { return settled_ahead_; }
  // Events offered past the frontier: what `ahead_max` bounds.
  [[nodiscard]] std::uint64_t ahead() const { return ahead_; }
  [[nodiscard]] std::uint64_t ahead_max() const { return ahead_max_; }
  [[nodiscard]] bool full() const { return ahead_ >= ahead_max_; }

  // The first hole, or the part of one, at or after `from`; nothing when there is none.
  [[nodiscard]] std::optional<Hole> next_hole(Offset from) const;
  [[nodiscard]] std::optional<Hole> first_hole() const { return next_hole(committed()); }
  // The first hole, or the rest of one, after `offset`.
  [[nodiscard]] std::optional<Hole> next_hole_after(Offset offset) const {
    return next_hole(offset.next());
  }
  // A page: at most `limit` holes at or after `from`. Next page: `next_hole_after(back().last)`.
  [[nodiscard]] std::vector<Hole> holes(Offset from, std::size_t limit) const;
  // Calls `visit(const Hole&) -> bool` for each hole from `from` on until it says false.
  template <class Visit>
  void for_each_hole(Offset from, Visit visit) const {
    std::optional<Hole> hole = next_hole(from);
    while (hole && visit(*hole)) {
      hole = next_hole_after(hole->last);
    }
  }
  // All of them, counted 64 offsets at a time.
  [[nodiscard]] std::uint64_t holes_count() const;

  // The first run of settled offsets past the frontier, or the rest of one, at or after `from`;
  // gaps split it. For progress records: `restore_settled` takes it back.
  [[nodiscard]] std::optional<OffsetRange> next_settled_range(Offset from) const;

  // Replay: everything above `frontier` is not terminal again and will be read again; the offsets
  // in `in_flight` stay in flight (those at or below `frontier` do not concern it any more).
  // Errors: kFull, one of them is more than kSpanMax above `frontier`; nothing changed.
  [[nodiscard]] Result<void> reopen(Offset frontier, std::span<const Offset> in_flight);
  // Starts anew at `start`; nothing is in flight.
  void reset(Offset start);
  // Reads again from the frontier, e.g. after the log was lost and found: settled stays settled,
  // what is pending stays in flight.
  void rewind();
  // The same, and `forgotten`, which are pending but in flight nowhere, were never offered.
  void read_again(std::span<const Offset> forgotten);
  // The log begins at `log_start` now: what was below is gone and terminal. Returns how many events
  // that were offered and not terminal went that way.
  std::uint64_t log_start_moved(Offset log_start);

  // Appends frontier, settled ranges and gaps past it. Pending offsets are not in it: slots are
  // restored by whoever keeps them. No checksum: the container has one. Format:
  // docs/formats/frontier.md.
  void serialise(std::string& out) const;
  // The cursor restarts at the frontier; settled offsets and gaps above it are known; nothing is in
  // flight until `restore_in_flight`. Errors: kCorrupt.
  [[nodiscard]] static Result<Frontier> deserialise(ByteView bytes, std::uint64_t ahead_max);

  // Frees what an idle frontier does not need.
  void trim() { window_.trim(known_end_ <= next_); }
  [[nodiscard]] std::size_t memory_bytes() const { return sizeof(*this) + window_.memory_bytes(); }

 private:
  void advance();
  void move_cursor(std::uint64_t cursor);
  std::uint64_t pass_to(std::uint64_t end);
  void start_at(std::uint64_t next);
  [[nodiscard]] bool out_of_span(std::uint64_t offset) const { return offset - next_ >= kSpanMax; }

  BitWindow window_;
  std::uint64_t next_;       // frontier + 1
  std::uint64_t cursor_;     // >= next_
  std::uint64_t known_end_;  // nothing is marked at or above
  std::uint64_t pending_ = 0;
  std::uint64_t settled_ahead_ = 0;
  std::uint64_t ahead_ = 0;  // events in [next_, cursor_)
  std::uint64_t ahead_max_;
};

}  // namespace ackline::frontier

#include "ackline/frontier/frontier.h"

#include <algorithm>
#include <bit>

#include <fmt/core.h>

#include "ackline/base/check.h"

namespace ackline::frontier {
namespace {

// Negative offsets become larger than any real one, and so "never offered".
std::uint64_t raw(Offset offset) {
  return static_cast<std::uint64_t>(offset.value());
}

std::unexpected<Error> span_full(std::uint64_t offset, std::uint64_t next) {
  return fail(ErrorCode::kFull,
              fmt::format("offset {} is more than {} past the frontier {}", offset,
                          Frontier::kSpanMax, static_cast<std::int64_t>(next) - 1),
              "Settle the first hole.");
}

}  // namespace

Frontier::Frontier(Offset start, std::uint64_t ahead_max)
    : next_(raw(start)), cursor_(next_), known_end_(next_), ahead_max_(ahead_max) {
  ACKLINE_CHECK(start.value() >= 0);
  ACKLINE_CHECK(ahead_max >= 1);
  window_.clear(next_);
}

Result<Yield> Frontier::offer(Offset offset) {
  const std::uint64_t at = raw(offset);
  ACKLINE_CHECK(offset.value() >= 0 && at >= cursor_);
  const Mark mark = at < known_end_ ? window_.at(at) : Mark::kNone;
  if (mark == Mark::kPending || mark == Mark::kSettled) {
    move_cursor(at + 1);
    return mark == Mark::kPending ? Yield::kInFlight : Yield::kSettled;
  }
  if (full()) {
    return fail(ErrorCode::kFull,
                fmt::format("{} events are offered past the frontier {}; allowed are {}", ahead_,
                            value().value(), ahead_max_),
                "Settle the first hole, or raise the bound.");
  }
  if (known_end_ <= cursor_) {  // nothing is known ahead: the common case
    if (next_ == cursor_) {
      next_ = at;
      window_.drop_below(at);
    } else if (out_of_span(at)) {
      return span_full(at, next_);
    }
    window_.set(at, Mark::kPending);
    ++ahead_;
    cursor_ = at + 1;
  } else {
    if (out_of_span(at)) {
      return span_full(at, next_);
    }
    window_.set(at, Mark::kPending);
    known_end_ = std::max(known_end_, at + 1);
    move_cursor(at + 1);
  }
  known_end_ = std::max(known_end_, at + 1);
  ++pending_;
  return Yield::kNew;
}

void Frontier::skip_to(Offset position) {
  if (position > cursor()) {
    move_cursor(raw(position));
  }
}

// What was known between the old cursor and the new one counts as offered from now on.
void Frontier::move_cursor(std::uint64_t cursor) {
  if (known_end_ > cursor_) {
    const BitWindow::Counts passed = window_.count(cursor_, cursor);
    ahead_ += passed.pending + passed.settled;
  }
  const bool drained = next_ == cursor_;
  cursor_ = cursor;
  if (drained) {
    advance();
  }
}

// Moves the frontier to the first pending offset below the cursor or, when there is none, past the
// cursor as far as what is known is contiguous.
void Frontier::advance() {
  const std::uint64_t pending = window_.next_pending(next_, cursor_);
  const BitWindow::Counts passed = window_.count(next_, pending);
  settled_ahead_ -= passed.settled;
  ahead_ -= passed.settled;
  next_ = pending;
  if (next_ == cursor_ && cursor_ < known_end_) {
    const std::uint64_t end = window_.next_unsettled(cursor_, known_end_);
    settled_ahead_ -= window_.count(cursor_, end).settled;
    next_ = end;
    cursor_ = end;
  }
  window_.drop_below(next_);
}

Result<bool> Frontier::settle(Offset offset) {
  const std::uint64_t at = raw(offset);
  if (at < next_) {
    return false;
  }
  const Mark mark = at < known_end_ ? window_.at(at) : Mark::kNone;
  if (mark == Mark::kSettled) {
    return false;
  }
  if (mark != Mark::kPending) {
    return fail(ErrorCode::kNotFound, fmt::format("offset {} was never offered", offset.value()));
  }
  window_.set(at, Mark::kSettled);
  --pending_;
  ++settled_ahead_;
  if (at == next_) {
    advance();
  }
  return true;
}

std::uint64_t Frontier::settle_range(Offset first, Offset last) {
  const std::uint64_t begin = std::max(first.value() < 0 ? 0 : raw(first), next_);
  const std::uint64_t end = last.value() < 0 ? 0 : std::min(raw(last) + 1, known_end_);
  std::uint64_t settled = 0;
  std::uint64_t at = begin < end ? window_.next_pending(begin, end) : end;
  while (at < end) {
    const std::uint64_t word_end = std::min(end, (at / 64 + 1) * 64);
    const std::uint64_t above = ~0ULL << (at & 63U);
    const std::uint64_t below = (word_end & 63U) == 0 ? ~0ULL : ~(~0ULL << (word_end & 63U));
    const std::uint64_t mask = window_.word_at(at).pending() & above & below;
    settled += static_cast<std::uint64_t>(std::popcount(mask));
    window_.set_word(at, mask, Mark::kSettled);
    at = window_.next_pending(word_end, end);
  }
  pending_ -= settled;
  settled_ahead_ += settled;
  if (settled > 0 && begin == next_) {
    advance();
  }
  return settled;
}

bool Frontier::is_settled(Offset offset) const {
  const std::uint64_t at = raw(offset);
  return at < next_ || (at < known_end_ && window_.at(at) == Mark::kSettled);
}

bool Frontier::is_pending(Offset offset) const {
  const std::uint64_t at = raw(offset);
  return at >= next_ && at < known_end_ && window_.at(at) == Mark::kPending;
}

}  // namespace ackline::frontier

// Frontier: what recovery, replay, reset and retention do to it.
#include <algorithm>

#include <fmt/core.h>

#include "ackline/base/check.h"
#include "ackline/frontier/frontier.h"

namespace ackline::frontier {
namespace {

std::uint64_t raw(Offset offset) {
  return static_cast<std::uint64_t>(offset.value());
}

std::unexpected<Error> beyond_span(Offset offset, std::uint64_t next) {
  return fail(ErrorCode::kFull,
              fmt::format("offset {} is more than {} past the frontier {}", offset.value(),
                          Frontier::kSpanMax, static_cast<std::int64_t>(next) - 1));
}

}  // namespace

// Everything below `end` is terminal. Returns how many pending events that made so.
std::uint64_t Frontier::pass_to(std::uint64_t end) {
  if (end <= next_) {
    return 0;
  }
  const BitWindow::Counts passed = window_.count(next_, end);
  const BitWindow::Counts offered = window_.count(next_, std::min(end, cursor_));
  pending_ -= passed.pending;
  settled_ahead_ -= passed.settled;
  ahead_ -= offered.pending + offered.settled;
  next_ = end;
  cursor_ = std::max(cursor_, end);
  window_.drop_below(next_);
  advance();
  return passed.pending;
}

Result<void> Frontier::restore_settled(Offset first, Offset last) {
  ACKLINE_CHECK(first.value() >= 0 && first <= last);
  const std::uint64_t begin = raw(first);
  const std::uint64_t end = raw(last) + 1;
  if (begin <= next_) {
    pass_to(end);
    return {};
  }
  if (out_of_span(end - 1)) {
    return beyond_span(last, next_);
  }
  const BitWindow::Counts before = window_.count(begin, end);
  if (begin < cursor_) {
    const std::uint64_t stop = std::min(end, cursor_);
    const BitWindow::Counts offered = window_.count(begin, stop);
    ahead_ += stop - begin - offered.pending - offered.settled;
  }
  pending_ -= before.pending;
  settled_ahead_ += end - begin - before.settled;
  window_.set_range(begin, end, Mark::kSettled);
  known_end_ = std::max(known_end_, end);
  return {};
}

Result<bool> Frontier::restore_in_flight(Offset offset) {
  if (is_settled(offset)) {
    return false;
  }
  if (is_pending(offset)) {
    return true;
  }
  ACKLINE_CHECK(offset.value() >= 0);
  const std::uint64_t at = raw(offset);
  if (out_of_span(at)) {
    return beyond_span(offset, next_);
  }
  window_.set(at, Mark::kPending);
  known_end_ = std::max(known_end_, at + 1);
  ++pending_;
  if (at < cursor_) {
    ++ahead_;
  }
  return true;
}

void Frontier::start_at(std::uint64_t next) {
  window_.clear(next);
  next_ = next;
  cursor_ = next;
  known_end_ = next;
  pending_ = 0;
  settled_ahead_ = 0;
  ahead_ = 0;
}

Result<void> Frontier::reopen(Offset frontier, std::span<const Offset> in_flight) {
  ACKLINE_CHECK(frontier.value() >= -1);
  const std::uint64_t next = raw(frontier.next());
  for (const Offset offset : in_flight) {
    if (offset > frontier && raw(offset) - next >= kSpanMax) {
      return beyond_span(offset, next);
    }
  }
  start_at(next);
  for (const Offset offset : in_flight) {
    if (offset > frontier && !is_pending(offset)) {
      window_.set(raw(offset), Mark::kPending);
      known_end_ = std::max(known_end_, raw(offset) + 1);
      ++pending_;
    }
  }
  return {};
}

void Frontier::reset(Offset start) {
  ACKLINE_CHECK(start.value() >= 0);
  start_at(raw(start));
}

void Frontier::rewind() {
  cursor_ = next_;
  ahead_ = 0;
}

void Frontier::read_again(std::span<const Offset> forgotten) {
  for (const Offset offset : forgotten) {
    if (is_pending(offset)) {
      window_.set(raw(offset), Mark::kNone);
      --pending_;
    }
  }
  rewind();
}

std::uint64_t Frontier::log_start_moved(Offset log_start) {
  return log_start.value() <= 0 ? 0 : pass_to(raw(log_start));
}

}  // namespace ackline::frontier

// Frontier: its holes, for people (invariant 7), and its settled ranges, for records.
#include <algorithm>
#include <bit>

#include "ackline/frontier/frontier.h"

namespace ackline::frontier {

std::optional<Hole> Frontier::next_hole(Offset from) const {
  const std::uint64_t begin =
      std::max(from.value() < 0 ? 0 : static_cast<std::uint64_t>(from.value()), next_);
  if (begin >= cursor_) {
    return std::nullopt;
  }
  const std::uint64_t first = window_.next_pending(begin, cursor_);
  if (first >= cursor_) {
    return std::nullopt;
  }
  const std::uint64_t end = window_.next_settled(first, cursor_);
  const std::uint64_t last = window_.last_pending(first, end);
  return Hole{.first = Offset(static_cast<std::int64_t>(first)),
              .last = Offset(static_cast<std::int64_t>(last)),
              .count = window_.count(first, last + 1).pending};
}

std::vector<Hole> Frontier::holes(Offset from, std::size_t limit) const {
  std::vector<Hole> page;
  if (limit == 0) {
    return page;
  }
  for_each_hole(from, [&](const Hole& hole) {
    page.push_back(hole);
    return page.size() < limit;
  });
  return page;
}

std::optional<OffsetRange> Frontier::next_settled_range(Offset from) const {
  const std::uint64_t begin =
      std::max(from.value() < 0 ? 0 : static_cast<std::uint64_t>(from.value()), next_);
  if (begin >= known_end_) {
    return std::nullopt;
  }
  const std::uint64_t first = window_.next_settled(begin, known_end_);
  if (first >= known_end_) {
    return std::nullopt;
  }
  const std::uint64_t end = window_.next_not_settled(first, known_end_);
  return OffsetRange{.first = Offset(static_cast<std::int64_t>(first)),
                     .last = Offset(static_cast<std::int64_t>(end) - 1)};
}

std::uint64_t Frontier::holes_count() const {
  std::uint64_t holes = 0;
  bool open = false;  // the last existing offset so far is pending
  std::uint64_t at = next_;
  const std::uint64_t end = std::min(cursor_, known_end_);
  while (at < end) {
    const std::uint64_t word_begin = at & ~63ULL;
    if (const std::optional<Mark> mark = window_.uniform(at)) {
      open = open && *mark != Mark::kSettled;
      at = (at / BitWindow::kChunkOffsets + 1) * BitWindow::kChunkOffsets;
      continue;
    }
    std::uint64_t mask = ~0ULL << (at - word_begin);
    if (end - word_begin < 64) {
      mask &= ~(~0ULL << (end - word_begin));
    }
    const BitWindow::Word word = window_.word_at(at);
    const std::uint64_t pending = word.pending() & mask;
    const std::uint64_t settled = word.settled() & mask;
    if ((pending | settled) == ~0ULL) {
      const std::uint64_t starts = pending & ~(pending << 1U | (open ? 1U : 0U));
      holes += static_cast<std::uint64_t>(std::popcount(starts));
      open = pending >> 63U != 0;
    } else {
      for (std::uint64_t rest = pending | settled; rest != 0; rest &= rest - 1) {
        const bool is_pending = (pending & rest & (~rest + 1)) != 0;
        holes += is_pending && !open ? 1 : 0;
        open = is_pending;
      }
    }
    at = word_begin + 64;
  }
  return holes;
}

}  // namespace ackline::frontier

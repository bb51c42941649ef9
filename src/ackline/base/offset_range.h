// A run of offsets of one partition, both ends inclusive.
//
// Plain value; `normalise` turns any list into the form that records and progress answers use:
// ascending, disjoint, neighbours merged.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

#include "ackline/base/types.h"

namespace ackline {

struct OffsetRange {
  Offset first;
  Offset last;
  friend constexpr auto operator<=>(const OffsetRange&, const OffsetRange&) = default;
  // Number of offsets; 0 when `last` lies below `first`.
  [[nodiscard]] constexpr std::int64_t count() const {
    return last < first ? 0 : last.value() - first.value() + 1;
  }
  [[nodiscard]] constexpr bool contains(Offset offset) const {
    return first <= offset && offset <= last;
  }
};

// Sorts, drops empty ranges, merges what overlaps or touches.
inline void normalise(std::vector<OffsetRange>& ranges) {
  std::erase_if(ranges, [](const OffsetRange& range) { return range.count() == 0; });
  std::ranges::sort(ranges);
  std::size_t kept = 0;
  for (const OffsetRange& range : ranges) {
    if (kept > 0 && range.first.previous() <= ranges[kept - 1].last) {
      ranges[kept - 1].last = std::max(ranges[kept - 1].last, range.last);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

}  // namespace ackline

#include "ackline/base/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "ackline/base/ascii.h"

namespace ackline {
namespace {

// Longer than any name we know; it bounds the work for a hostile one.
constexpr std::size_t kMaxCompared = 128;
constexpr std::size_t kMaxShown = 64;

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    above[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced =
          above[j - 1] + (ascii_lower(a[i - 1]) == ascii_lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && ascii_lower(a[i - 1]) == ascii_lower(b[j - 2]) &&
          ascii_lower(a[i - 2]) == ascii_lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  if (name.empty() || name.size() > kMaxCompared) {
    return {};
  }
  std::string_view best;
  std::size_t fewest = kMaxCompared + 1;
  for (const std::string_view candidate : known) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    const std::size_t shorter = std::min(name.size(), candidate.size());
    const std::size_t allowed =
        std::max<std::size_t>(longer / 3, std::min<std::size_t>(2, longer / 2));
    if (longer - shorter > allowed) {
      continue;  // so many edits at least; most names end here
    }
    const std::size_t distance = edits(name, candidate);
    if (distance <= allowed && distance < fewest) {
      best = candidate;
      fewest = distance;
    }
  }
  return best;
}

Error unknown_field_error(std::string_view place, std::string_view name,
                          std::span<const std::string_view> known) {
  const std::string_view best = nearest_name(name, known);
  Error error;
  error.code = ErrorCode::kUnknownField;
  error.detail = fmt::format("{} has no field {}{}", place, name.substr(0, kMaxShown),
                             name.size() > kMaxShown ? "..." : "");
  error.remedy = best.empty() ? fmt::format("Known are: {}.", fmt::join(known, ", "))
                              : fmt::format("Did you mean {}?", best);
  error.field = std::string(name.substr(0, kMaxShown));
  return error;
}

}  // namespace ackline

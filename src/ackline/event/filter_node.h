// The tree of a filter, for the files that read and evaluate it. Immutable once built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackline/event/filter.h"

namespace ackline::event {

// The dialects of the Subscriptions specification. kAll is also what an array means.
enum class Dialect : std::uint8_t { kExact, kPrefix, kSuffix, kAll, kAny, kNot };

struct Filter::Node {
  Dialect dialect = Dialect::kAll;
  std::vector<std::pair<std::string, std::string>> attributes;  // in the order of their names
  std::vector<Node> children;
};

// Reads `json` into a tree; the top array becomes a kAll.
[[nodiscard]] Result<Filter::Node> parse_filter_node(std::string_view json);

}  // namespace ackline::event

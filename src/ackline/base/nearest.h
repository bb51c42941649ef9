// The nearest known name: what a person who mistyped a field, parameter or key meant.
//
// Pure functions, any thread.
#pragma once

#include <span>
#include <string_view>

#include "ackline/base/error.h"

namespace ackline {

// The known name with the fewest edits (insert, delete, replace, swap of neighbours; case does not
// count) to `name`, the first of equals; empty when none is near enough to be meant: more than two
// edits and more than a third of the longer name.
[[nodiscard]] std::string_view nearest_name(std::string_view name,
                                            std::span<const std::string_view> known);

// The error `unknown_field` for `name`: says the nearest known name, or lists the known ones.
// `place` is where it stood, e.g. "filter" or "the query".
[[nodiscard]] Error unknown_field_error(std::string_view place, std::string_view name,
                                        std::span<const std::string_view> known);

}  // namespace ackline

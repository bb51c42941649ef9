// Result<T>: a value or an `Error`. No exception crosses a module border.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "ackline/base/error.h"

namespace ackline {

template <class T>
using Result = std::expected<T, Error>;

// `return fail(ErrorCode::kBadValue, "maxAttempts is -3; allowed are 1 to 1000", "Leave it out.",
// "maxAttempts");`
[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string detail,
                                                 std::string remedy = {}, std::string field = {}) {
  return std::unexpected<Error>(
      Error{code, std::move(detail), std::move(remedy), std::move(field)});
}

// `if (!r) return fail(r);`: hands the error of one Result on as another's.
template <class T>
[[nodiscard]] std::unexpected<Error> fail(const Result<T>& failed) {
  return std::unexpected<Error>(failed.error());
}

}  // namespace ackline

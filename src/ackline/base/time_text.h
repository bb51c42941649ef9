// Wall time as text, RFC 3339: "2026-11-29T12:00:00.000Z". Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ackline/base/types.h"

namespace ackline {

// UTC with milliseconds, always 24 characters. Times outside the years 0000 to 9999 are shown as
// the nearest one inside: RFC 3339 has no others.
void append_rfc3339(std::string& out, WallMs time);
[[nodiscard]] std::string format_rfc3339(WallMs time);

// Strict RFC 3339: a full date that exists, `T`, a full time with seconds, any number of fraction
// digits (cut to milliseconds) and `Z` or a numeric offset; `t` and `z` are taken too, as the RFC
// says. A leap second (23:59:60 UTC) is the first instant of the next day. Nothing for anything
// else.
[[nodiscard]] std::optional<WallMs> parse_rfc3339(std::string_view text);

}  // namespace ackline

// When an event expires (invariant 22): `emttl` or `expirytime`, whichever comes first.
//
// `emttl` is milliseconds from `time`, or from the append when the event has no `time`; a string of
// digits counts like an integer, 0 means no limit. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ackline/base/types.h"
#include "ackline/event/frame.h"

namespace ackline::event {

inline constexpr std::string_view kTtlAttribute = "emttl";
inline constexpr std::string_view kExpiryAttribute = "expirytime";

// The first instant at which the event is expired; nothing when it never is.
[[nodiscard]] std::optional<WallMs> expires_at(const FrameView& event, WallMs append_time);

[[nodiscard]] inline bool is_expired(const FrameView& event, WallMs append_time, WallMs now) {
  const std::optional<WallMs> at = expires_at(event, append_time);
  return at && now >= *at;
}

// Digits only, at most 18 of them.
[[nodiscard]] std::optional<std::int64_t> parse_ttl_ms(std::string_view text);

}  // namespace ackline::event

#include "ackline/event/expiry.h"

#include <algorithm>
#include <charconv>

#include "ackline/base/time_text.h"

namespace ackline::event {

std::optional<std::int64_t> parse_ttl_ms(std::string_view text) {
  constexpr std::size_t kMaxDigits = 18;  // always fits 64 bits
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > kMaxDigits || !std::ranges::all_of(text, is_digit)) {
    return std::nullopt;
  }
  std::int64_t ms = 0;
  std::from_chars(text.data(), text.data() + text.size(), ms);
  return ms;
}

std::optional<WallMs> expires_at(const FrameView& event, WallMs append_time) {
  std::optional<WallMs> earliest;
  if (const auto ttl = event.find(kTtlAttribute)) {
    const std::optional<std::int64_t> ms = parse_ttl_ms(ttl->value);
    if (ms && *ms > 0) {
      earliest = event.time().value_or(append_time).plus(*ms);
    }
  }
  if (const auto expiry = event.find(kExpiryAttribute)) {
    const std::optional<WallMs> at = parse_rfc3339(expiry->value);
    if (at && (!earliest || *at < *earliest)) {
      earliest = at;
    }
  }
  return earliest;
}

}  // namespace ackline::event

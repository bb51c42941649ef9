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
  // One walk over the keys, as most events have neither and every offer asks.
  std::optional<WallMs> from_ttl;
  std::optional<WallMs> given;
  for (const AttributeView key : event) {
    if (key.name == kTtlAttribute) {
      const std::optional<std::int64_t> ms = parse_ttl_ms(key.value);
      if (ms && *ms > 0) {
        from_ttl = event.time().value_or(append_time).plus(*ms);
      }
    } else if (key.name == kExpiryAttribute) {
      given = parse_rfc3339(key.value);
    }
  }
  if (!from_ttl || !given) {
    return from_ttl ? from_ttl : given;
  }
  return std::min(*from_ttl, *given);
}

}  // namespace ackline::event

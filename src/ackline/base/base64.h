// Base64 (RFC 4648, section 4: the standard alphabet, with padding). Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ackline {

void append_base64(std::string& out, std::string_view bytes);

// Nothing when `text` is not base64. Padding is needed and unused bits must be zero, so that one
// value has one text.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace ackline

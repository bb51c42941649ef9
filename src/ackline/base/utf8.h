// UTF-8: is it well formed, and its writing. By the table of the Unicode standard (no overlong
// forms, no surrogates, nothing above U+10FFFF). Pure functions, any thread, no failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ackline {

// Length of the well-formed sequence at the front of `text`, 1 to 4; 0 when there is none.
[[nodiscard]] std::size_t utf8_sequence_length(std::string_view text);

// Bytes before the first ill-formed one; `text.size()` when all of it is well formed.
[[nodiscard]] std::size_t utf8_valid_prefix(std::string_view text);

[[nodiscard]] inline bool is_utf8(std::string_view text) {
  return utf8_valid_prefix(text) == text.size();
}

// Appends the form of a code point up to U+10FFFF.
void append_utf8(std::string& out, std::uint32_t point);

}  // namespace ackline

// Letters, case and blanks of ASCII: what protocol texts are compared by. Bytes beyond ASCII are
// left as they are. Pure functions, any thread, no failure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ackline {

[[nodiscard]] constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] std::string ascii_lower(std::string_view text);

// 0 to 15, or -1 for what is no hexadecimal digit.
[[nodiscard]] constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char letter = ascii_lower(c);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

// For two of one size.
[[nodiscard]] bool same_letters_ignoring_case(std::string_view a, std::string_view b);
// True if the two are equal but for the case of ASCII letters.
[[nodiscard]] inline bool same_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_letters_ignoring_case(a, b);
}
[[nodiscard]] inline bool starts_ignoring_case(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && same_ignoring_case(text.substr(0, start.size()), start);
}
[[nodiscard]] inline bool ends_ignoring_case(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         same_ignoring_case(text.substr(text.size() - end.size()), end);
}

// Without the spaces and tabs at both ends.
[[nodiscard]] std::string_view trim_blanks(std::string_view text);
// The same, and without line ends.
[[nodiscard]] std::string_view trim_space(std::string_view text);

// Every byte is one that ASCII prints, space included: 0x20 to 0x7E.
[[nodiscard]] bool is_printable_ascii(std::string_view text);

}  // namespace ackline

#include "ackline/base/percent.h"

#include "ackline/base/ascii.h"

namespace ackline {

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  // Nearly every path and value of a request.
  if (text.find_first_of(plus_is_space ? "%+" : "%") == std::string_view::npos) {
    return std::string(text);
  }
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i] == '+' && plus_is_space ? ' ' : text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

}  // namespace ackline

#include "ackline/http/header_scan.h"

#include <algorithm>

namespace ackline::http {

bool is_token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool plausible_request_line(std::string_view line) {
  const std::string_view method = line.substr(0, line.find(' '));
  if (method.empty() || method.size() == line.size() ||
      !std::all_of(method.begin(), method.end(), is_token_char)) {
    return false;
  }
  const std::string_view rest = line.substr(method.size() + 1);
  const std::size_t space = rest.find(' ');
  return space != 0 && space != std::string_view::npos &&
         rest.substr(space + 1).starts_with("HTTP/1.");
}

HeaderScan::Found HeaderScan::look(std::string_view bytes) {
  for (;;) {
    const std::size_t newline = bytes.find('\n', at_);
    if (newline == std::string_view::npos) {
      at_ = bytes.size();
      return Found::kMore;
    }
    at_ = newline + 1;
    if (newline == line_start_ || bytes[newline - 1] != '\r') {
      return Found::kBareLf;
    }
    if (newline == line_start_ + 1) {
      return Found::kEnd;
    }
    if (first_line_ > 0 && (bytes[line_start_] == ' ' || bytes[line_start_] == '\t')) {
      return Found::kFolded;
    }
    line_start_ = at_;
    if (first_line_ == 0) {
      first_line_ = at_;
    }
  }
}

}  // namespace ackline::http

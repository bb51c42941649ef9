// Finds the end of a message header in bytes that grow, looking at each byte once; and whether a
// first line looks like a request at all. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace ackline::http {

// RFC 9110's tchar: what methods and field names are made of.
[[nodiscard]] bool is_token_char(char c);
// Token, space, something, space, "HTTP/1.". A peer that talks something else is told at once, not
// when the header's time is up; the parser looks closely later.
[[nodiscard]] bool plausible_request_line(std::string_view line);

class HeaderScan {
 public:
  // kFolded: a line that goes on with the one before, which readers understand differently.
  enum class Found : unsigned char { kMore, kEnd, kBareLf, kFolded };
  // `bytes` is all of the header so far, which begins with what the last call was given. kEnd: its
  // first `size()` bytes are the header with its empty line.
  Found look(std::string_view bytes);
  [[nodiscard]] std::size_t size() const { return at_; }
  // Size of the first line with its CRLF; 0 while it is not complete.
  [[nodiscard]] std::size_t first_line() const { return first_line_; }
  void reset() { *this = HeaderScan(); }

 private:
  std::size_t at_ = 0;          // all before this is looked at
  std::size_t line_start_ = 0;  // of the line that is not complete yet
  std::size_t first_line_ = 0;
};

}  // namespace ackline::http

#include "ackline/base/json_text.h"

#include <array>
#include <cstddef>

#include "ackline/base/utf8.h"

namespace ackline {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// True for the bytes that are copied as they are: ASCII from space on, but not `"` and `\`.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) {
    plain[c] = c != '"' && c != '\\';
  }
  return plain;
}();

void append_escape(std::string& out, unsigned char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\b':
      out.append("\\b");
      return;
    case '\f':
      out.append("\\f");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    default:
      out.append("\\u00");
      out.push_back(kHex[c >> 4U]);
      out.push_back(kHex[c & 0xFU]);
  }
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view text) {
  std::size_t start = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (kPlain[c]) {
      ++at;
      continue;
    }
    if (c >= 0x80) {
      const std::size_t length = utf8_sequence_length(text.substr(at));
      if (length > 0) {
        at += length;
        continue;
      }
    }
    out.append(text.substr(start, at - start));
    if (c >= 0x80) {
      out.append(kReplacement);
    } else {
      append_escape(out, c);
    }
    start = ++at;
  }
  out.append(text.substr(start));
}

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  append_json_escaped(out, text);
  out.push_back('"');
}

}  // namespace ackline

#include "ackline/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace ackline {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;

bool is_tail(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xC2 || lead > 0xF4 || !is_tail(text, 1)) {
    return 0;
  }
  if (lead < 0xE0) {
    return 2;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  if (lead < 0xF0) {
    const bool overlong = lead == 0xE0 && second < 0xA0;
    const bool surrogate = lead == 0xED && second > 0x9F;
    return overlong || surrogate || !is_tail(text, 2) ? 0 : 3;
  }
  const bool overlong = lead == 0xF0 && second < 0x90;
  const bool too_big = lead == 0xF4 && second > 0x8F;
  return overlong || too_big || !is_tail(text, 2) || !is_tail(text, 3) ? 0 : 4;
}

std::size_t utf8_valid_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    // Eight ASCII bytes at a time: almost all of what comes in is ASCII.
    if (text.size() - at >= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + at, sizeof(word));
      if ((word & kHighBits) == 0) {
        at += sizeof(word);
        continue;
      }
    }
    const std::size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return at;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto tail = [&out](std::uint32_t bits) {
    out.push_back(static_cast<char>(0x80U | (bits & 0x3FU)));
  };
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xC0U | point >> 6U));
    tail(point);
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xE0U | point >> 12U));
    tail(point >> 6U);
    tail(point);
  } else {
    out.push_back(static_cast<char>(0xF0U | point >> 18U));
    tail(point >> 12U);
    tail(point >> 6U);
    tail(point);
  }
}

}  // namespace ackline

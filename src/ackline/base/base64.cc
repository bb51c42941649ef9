#include "ackline/base/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ackline {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xFF;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

// The two digits of each 12 bits: half the look-ups of one digit at a time.
constexpr std::array<std::array<char, 2>, 4096> kPairs = [] {
  std::array<std::array<char, 2>, 4096> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = {kAlphabet[i >> 6U], kAlphabet[i & 63U]};
  }
  return pairs;
}();

std::uint32_t octet(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const std::size_t before = out.size();
  const std::size_t length = (bytes.size() + 2) / 3 * 4;
  out.resize_and_overwrite(before + length, [&](char* text, std::size_t /*may be more*/) {
    char* to = text + before;
    std::size_t at = 0;
    for (; at + 3 <= bytes.size(); at += 3, to += 4) {
      const std::uint32_t group =
          octet(bytes, at) << 16U | octet(bytes, at + 1) << 8U | octet(bytes, at + 2);
      std::memcpy(to, kPairs[group >> 12U].data(), 2);
      std::memcpy(to + 2, kPairs[group & 0xFFFU].data(), 2);
    }
    if (const std::size_t rest = bytes.size() - at; rest > 0) {
      const std::uint32_t group =
          octet(bytes, at) << 16U | (rest > 1 ? octet(bytes, at + 1) << 8U : 0U);
      std::memcpy(to, kPairs[group >> 12U].data(), 2);
      to[2] = rest > 1 ? kAlphabet[group >> 6U & 63U] : '=';
      to[3] = '=';
    }
    return before + length;
  });
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    std::size_t digits = 4;
    while (last && digits > 2 && text[at + digits - 1] == '=') {
      --digits;
    }
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint8_t value = i < digits ? kValues[static_cast<unsigned char>(text[at + i])] : 0;
      if (value == kNone) {
        return std::nullopt;
      }
      group = group << 6U | value;
    }
    const std::uint32_t unused = digits == 2 ? group & 0xFFFFU : digits == 3 ? group & 0xFFU : 0U;
    if (unused != 0) {
      return std::nullopt;
    }
    out.push_back(static_cast<char>(group >> 16U));
    if (digits > 2) {
      out.push_back(static_cast<char>(group >> 8U & 0xFFU));
    }
    if (digits > 3) {
      out.push_back(static_cast<char>(group & 0xFFU));
    }
  }
  return out;
}

}  // namespace ackline

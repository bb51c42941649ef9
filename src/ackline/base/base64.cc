#include "ackline/base/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

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

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = bytes.size() - at < 3 ? bytes.size() - at : 3;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8U | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    out.push_back(kAlphabet[group >> 18U]);
    out.push_back(kAlphabet[group >> 12U & 63U]);
    out.push_back(count > 1 ? kAlphabet[group >> 6U & 63U] : '=');
    out.push_back(count > 2 ? kAlphabet[group & 63U] : '=');
  }
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

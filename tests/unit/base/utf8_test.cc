#include "ackline/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

#include "ackline/base/random.h"

namespace ackline {
namespace {

// An independent reading of the Unicode table: decode, then look at the number.
bool slow_is_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80        ? 1
                               : lead >> 5U == 6  ? 2
                               : lead >> 4U == 14 ? 3
                               : lead >> 3U == 30 ? 4
                                                  : 0;
    if (length == 0 || at + length > text.size()) {
      return false;
    }
    unsigned value = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
      const auto tail = static_cast<unsigned char>(text[at + i]);
      if (tail >> 6U != 2) {
        return false;
      }
      value = value << 6U | (tail & 0x3FU);
    }
    constexpr unsigned kLeast[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < kLeast[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
      return false;
    }
    at += length;
  }
  return true;
}

TEST(Utf8, TakesEveryLengthAndRefusesOverlongSurrogatesAndCutSequences) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("plain ASCII that is longer than a word"));
  EXPECT_TRUE(is_utf8("Z\xC3\xBCrich \xE2\x82\xAC \xF0\x9F\x98\x80"));
  EXPECT_FALSE(is_utf8("\x80"));
  EXPECT_FALSE(is_utf8("\xC0\xAF"));
  EXPECT_FALSE(is_utf8("\xE0\x80\x80"));
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));
  EXPECT_FALSE(is_utf8("12345678\xE2\x82"));
  EXPECT_EQ(utf8_valid_prefix("abc\xFFzz"), 3U);
}

TEST(Utf8, AgreesWithASlowReadingOnRandomBytes) {
  Random random(11);
  constexpr std::string_view kBytes =
      "a\x7F\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xDF\xE0\xED\xEF\xF0\xF4\xF5";
  for (int round = 0; round < 50'000; ++round) {
    std::string text;
    for (std::uint64_t length = random.below(14); length > 0; --length) {
      text.push_back(kBytes[random.below(kBytes.size())]);
    }
    ASSERT_EQ(is_utf8(text), slow_is_utf8(text));
  }
}

}  // namespace
}  // namespace ackline

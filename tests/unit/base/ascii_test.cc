#include "ackline/base/ascii.h"

#include <gtest/gtest.h>

#include <string>

#include "ackline/base/percent.h"

namespace ackline {
namespace {

// What the words are held against: one byte at a time, as the definition says.
bool printable(char c) {
  return c >= 0x20 && c <= 0x7E;
}

TEST(Ascii, EveryByteAtEveryPlaceComparesAsItsLowerCase) {
  for (std::size_t size = 1; size <= 17; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int x = 0; x < 256; ++x) {
        const char c = static_cast<char>(x);
        std::string a(size, 'm');
        a[at] = c;
        for (const int y : {x, x ^ 0x20, x ^ 0x80, (x + 1) & 0xFF, (x + 0x20) & 0xFF}) {
          std::string b(size, 'M');
          b[at] = static_cast<char>(y);
          ASSERT_EQ(same_ignoring_case(a, b), ascii_lower(a[at]) == ascii_lower(b[at]))
              << x << " and " << y << " at " << at << " of " << size;
        }
      }
    }
  }
  EXPECT_TRUE(same_ignoring_case("", ""));
  EXPECT_FALSE(same_ignoring_case("a", "ab"));
}

TEST(Ascii, EveryByteAtEveryPlaceIsPrintableOrNot) {
  EXPECT_TRUE(is_printable_ascii(""));
  for (std::size_t size = 1; size <= 17; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int x = 0; x < 256; ++x) {
        for (const char around : {' ', '~'}) {
          std::string text(size, around);
          text[at] = static_cast<char>(x);
          ASSERT_EQ(is_printable_ascii(text), printable(static_cast<char>(x)))
              << x << " at " << at << " of " << size;
        }
      }
    }
  }
}

TEST(Ascii, StartsEndsAndBlanks) {
  EXPECT_TRUE(starts_ignoring_case("CE-Id", "ce-"));
  EXPECT_FALSE(starts_ignoring_case("ce", "ce-"));
  EXPECT_TRUE(ends_ignoring_case("application/vnd.api+JSON", "+json"));
  EXPECT_FALSE(ends_ignoring_case("json", "+json"));
  EXPECT_EQ(trim_blanks(" \t a b\t "), "a b");
  EXPECT_EQ(trim_blanks(" \t "), "");
  EXPECT_EQ(ascii_lower(std::string_view("AbZ[@`{\xC4")), "abz[@`{\xC4");
}

TEST(Ascii, HexadecimalDigitsOfBothCases) {
  EXPECT_EQ(hex_digit('0'), 0);
  EXPECT_EQ(hex_digit('9'), 9);
  EXPECT_EQ(hex_digit('a'), 10);
  EXPECT_EQ(hex_digit('F'), 15);
  for (const char c : {'g', 'G', '/', ':', '@', '`', ' ', '\0'}) EXPECT_EQ(hex_digit(c), -1);
}

TEST(Ascii, SpaceGoesAtBothEnds) {
  EXPECT_EQ(trim_space(" \t\r\na b\r\n"), "a b");
  EXPECT_EQ(trim_space(" \n"), "");
}

TEST(Percent, TwoDigitsMakeAByteAndAnythingElseIsRefused) {
  EXPECT_EQ(percent_decoded("a%20b%2Fc"), "a b/c");
  EXPECT_EQ(percent_decoded("%00"), std::string(1, '\0'));
  EXPECT_EQ(percent_decoded("a+b"), "a+b");
  EXPECT_EQ(percent_decoded("a+b%2B", true), "a b+");
  for (const std::string_view bad : {"%", "%2", "a%2", "%g0", "%0g"}) {
    EXPECT_EQ(percent_decoded(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace ackline

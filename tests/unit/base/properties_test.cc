#include "ackline/base/properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace ackline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::pair<std::string, std::string>> pairs(std::string_view text) {
  const Properties read = parse_properties("a.properties", text);
  EXPECT_THAT(read.problems, IsEmpty()) << read.problems.front().detail;
  std::vector<std::pair<std::string, std::string>> out;
  for (const Property& item : read.items) out.emplace_back(item.key, item.value);
  return out;
}

TEST(Properties, AKeyEndsAtTheFirstSeparatorThatIsNotEscaped) {
  EXPECT_THAT(
      pairs("Truth = Beauty\n Truth:Beauty\nTruth\t\t\t:Beauty\n"),
      ElementsAre(Pair("Truth", "Beauty"), Pair("Truth", "Beauty"), Pair("Truth", "Beauty")));
  EXPECT_THAT(pairs("a b = c"), ElementsAre(Pair("a", "b = c")));
  EXPECT_THAT(pairs("a==b"), ElementsAre(Pair("a", "=b")));
  EXPECT_THAT(pairs("cheeses\n"), ElementsAre(Pair("cheeses", "")));
  EXPECT_THAT(pairs("= v"), ElementsAre(Pair("", "v")));
  EXPECT_THAT(pairs("a\\:b\\=c\\ d = e"), ElementsAre(Pair("a:b=c d", "e")));
  EXPECT_THAT(pairs("a=b  "), ElementsAre(Pair("a", "b  ")));
}

TEST(Properties, CommentsAndBlankLinesAreNothing) {
  EXPECT_THAT(pairs("# a=1\n  ! b=2\n\n \t\f\n#c\\\nd=3\r\n\r\ne=4\rf=5"),
              ElementsAre(Pair("d", "3"), Pair("e", "4"), Pair("f", "5")));
}

TEST(Properties, ALineGoesOnAfterAnOddNumberOfBackslashes) {
  EXPECT_THAT(pairs("fruits   apple, banana, \\\n      pear, \\\r\n\t # kiwi, \\\n\n x=1"),
              ElementsAre(Pair("fruits", "apple, banana, pear, # kiwi, "), Pair("x", "1")));
  EXPECT_THAT(pairs("a=b\\\\\nc=d\\\\\\\n  e"), ElementsAre(Pair("a", "b\\"), Pair("c", "d\\e")));
  EXPECT_THAT(pairs("a\\\n  b=c"), ElementsAre(Pair("ab", "c")));
  EXPECT_THAT(pairs("a=b\\"), ElementsAre(Pair("a", "b")));
}

TEST(Properties, EscapesAreThoseOfJava) {
  EXPECT_THAT(pairs("a=\\t\\n\\r\\f\\z\\\"\\\\"), ElementsAre(Pair("a", "\t\n\r\fz\"\\")));
  EXPECT_THAT(pairs("a=\\u00e9\\u6771\\u004A\\u0000x"),
              ElementsAre(Pair("a", std::string("\xC3\xA9\xE6\x9D\xB1J\0x", 8))));
  EXPECT_THAT(pairs("\\u006b=\\uD83D\\uDED2"), ElementsAre(Pair("k", "\xF0\x9F\x9B\x92")));
}

TEST(Properties, AnEscapeThatNamesNoCharacterIsAProblemWithItsLine) {
  for (const char* text : {"\na=\\u12", "\na=\\u12G4", "\na=\\uD83D", "\na=\\uD83Dx\\uDED2",
                           "\na=\\uDED2\\uD83D", "\n\\u=1"}) {
    const Properties read = parse_properties("a.properties", text);
    ASSERT_EQ(read.problems.size(), 1U) << text;
    EXPECT_NE(read.problems[0].detail.find("a.properties:2"), std::string::npos) << text;
    EXPECT_THAT(read.items, IsEmpty());
  }
}

TEST(Properties, BytesAreUtf8AndElseLatin1) {
  EXPECT_THAT(pairs("a=caf\xC3\xA9"), ElementsAre(Pair("a", "caf\xC3\xA9")));
  EXPECT_THAT(pairs("a=caf\xE9"), ElementsAre(Pair("a", "caf\xC3\xA9")));
  EXPECT_THAT(pairs("\xEF\xBB\xBF"
                    "a=1"),
              ElementsAre(Pair("a", "1")));
}

TEST(Properties, LinesAreThoseOfTheFile) {
  const Properties read = parse_properties("x", "# c\r\na=1\\\n  2\rb=3\n\nc=4");
  ASSERT_EQ(read.items.size(), 3U);
  EXPECT_EQ(read.items[0].line, 2U);
  EXPECT_EQ(read.items[1].line, 4U);
  EXPECT_EQ(read.items[2].line, 6U);
}

TEST(Properties, AnEscapedValueIsReadBack) {
  for (const std::string value : {"", " a b ", "c:\\x\\", "#1!", "a\tb\nc\rd\fe", "caf\xC3\xA9"}) {
    EXPECT_THAT(pairs("k=" + escaped_property_value(value)), ElementsAre(Pair("k", value)));
  }
}

}  // namespace
}  // namespace ackline

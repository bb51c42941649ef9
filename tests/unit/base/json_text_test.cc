#include "ackline/base/json_text.h"

#include <gtest/gtest.h>

namespace ackline {
namespace {

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonText, EscapesWhatJsonForbidsAndLeavesTheRest) {
  EXPECT_EQ(json(""), R"("")");
  EXPECT_EQ(json("plain /text\x7F"), "\"plain /text\x7F\"");
  EXPECT_EQ(json("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(json("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(json(std::string_view("\0\x1F", 2)), R"("\u0000\u001f")");
  EXPECT_EQ(json("Z\xC3\xBCrich"), "\"Z\xC3\xBCrich\"");
}

TEST(JsonText, BytesThatAreNotUtf8BecomeTheReplacementCharacter) {
  EXPECT_EQ(json("a\xFF"
                 "b"),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(json("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonText, EscapedAppendsWithoutQuotes) {
  std::string out = "\"";
  append_json_escaped(out, "one\n");
  append_json_escaped(out, "two");
  EXPECT_EQ(out, "\"one\\ntwo");
}

}  // namespace
}  // namespace ackline

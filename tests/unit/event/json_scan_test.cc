#include "ackline/event/json_scan.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <optional>
#include <string>

#include "tests/unit/event/event_maker.h"

namespace ackline::event {
namespace {

// Nothing for a text with a number that is too large for a double: there the other parser stops,
// and we go on, because we never turn a number into one.
std::optional<bool> boost_accepts(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 64;
  boost::system::error_code error;
  (void)boost::json::parse(text, error, {}, options);
  if (error == boost::json::error::exponent_overflow) {
    return std::nullopt;
  }
  return !error;
}

TEST(JsonScan, AgreesWithAnotherParserOnMutilatedText) {
  EventMaker maker(71);
  constexpr std::string_view kBytes = "{}[]:,\"\\ 0123456789.eE+-tfn\nu/";
  int accepted = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text = maker.json(4);
    for (std::uint64_t edits = maker.random().below(3); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = maker.random().below(text.size());
      if (maker.random().chance(2, 3)) {
        text[at] = kBytes[maker.random().below(kBytes.size())];
      } else {
        text.erase(at, 1);
      }
    }
    const bool ours = json_document(text).has_value();
    ASSERT_EQ(boost_accepts(text).value_or(ours), ours) << text;
    accepted += ours ? 1 : 0;
  }
  EXPECT_GT(accepted, 20'000);
}

TEST(JsonScan, TheWalkFindsWhatAnotherParserFinds) {
  EventMaker maker(73);
  for (int i = 0; i < 5'000; ++i) {
    const std::string text = maker.json(5);
    const auto document = json_document(text);
    ASSERT_TRUE(document) << text;
    const boost::json::value value = boost::json::parse(text);
    std::size_t count = 0;
    if (value.is_object()) {
      JsonMember member;
      for (JsonWalker walker(*document); walker.next(member); ++count) {
        const auto* found = value.as_object().if_contains(json_string(member.name).value());
        ASSERT_NE(found, nullptr) << text;
        ASSERT_EQ(boost::json::parse(std::string(member.value)), *found) << text;
      }
      ASSERT_EQ(count, value.as_object().size()) << text;
    } else if (value.is_array()) {
      std::string_view element;
      for (JsonWalker walker(*document); walker.next(element); ++count) {
        ASSERT_EQ(boost::json::parse(std::string(element)), value.as_array()[count]) << text;
      }
      ASSERT_EQ(count, value.as_array().size()) << text;
    }
  }
}

TEST(JsonScan, TheDocumentIsItsValueWithoutTheSpaceAround) {
  EXPECT_EQ(json_document(" \r\n\t[1 , 2] ").value(), "[1 , 2]");
  EXPECT_EQ(json_document("0").value(), "0");
  EXPECT_EQ(json_document("[[]]", 2).value(), "[[]]");
  EXPECT_FALSE(json_document("[[]]", 1));
  EXPECT_EQ(json_document("").error().word(), "bad_json");
  EXPECT_EQ(json_document("[1,2").error().detail,
            "the JSON text ends at byte 4 where comma or closing bracket is expected");
}

TEST(JsonScan, StringsAreResolved) {
  EXPECT_EQ(json_string(R"("")"), "");
  EXPECT_EQ(json_string(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(json_string(R"("\u0041\u00e9\u20AC\ud83d\ude00")"),
            "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(json_string(R"("\u0000")"), std::string(1, '\0'));
  for (const std::string_view half :
       {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\ud800")", R"("\ud800\n")"}) {
    EXPECT_EQ(json_string(half), std::nullopt) << half;
  }
}

TEST(JsonScan, IntegersHaveThirtyTwoBits) {
  EXPECT_EQ(json_int32("-2147483648"), INT32_MIN);
  EXPECT_EQ(json_int32("2147483647"), INT32_MAX);
  EXPECT_EQ(json_int32("-0"), 0);
  for (const std::string_view text : {"2147483648", "1.0", "1e2", "99999999999999999999"}) {
    EXPECT_EQ(json_int32(text), std::nullopt) << text;
  }
}

TEST(JsonScan, ThePointerExamplesOfRfc6901) {
  constexpr std::string_view kText = R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,)"
                                     R"("i\\j":5,"k\"l":6," ":7,"m~n":8})";
  const auto document = json_document(kText).value();
  EXPECT_EQ(json_at(document, ""), kText);
  EXPECT_EQ(json_at(document, "/foo"), R"(["bar","baz"])");
  EXPECT_EQ(json_at(document, "/foo/0"), R"("bar")");
  EXPECT_EQ(json_at(document, "/"), "0");
  EXPECT_EQ(json_at(document, "/a~1b"), "1");
  EXPECT_EQ(json_at(document, "/c%d"), "2");
  EXPECT_EQ(json_at(document, "/e^f"), "3");
  EXPECT_EQ(json_at(document, "/g|h"), "4");
  EXPECT_EQ(json_at(document, "/i\\j"), "5");
  EXPECT_EQ(json_at(document, "/k\"l"), "6");
  EXPECT_EQ(json_at(document, "/ "), "7");
  EXPECT_EQ(json_at(document, "/m~0n"), "8");
  EXPECT_EQ(json_at(document, "foo"), std::nullopt);
  EXPECT_EQ(json_at(document, "/foo/2"), std::nullopt);
}

}  // namespace
}  // namespace ackline::event

#include "ackline/cli/json.h"

#include <gtest/gtest.h>

#include "ackline/cli/answers.h"

namespace ackline::cli {
namespace {

TEST(Json, PathsOverMissingMembersAreNull) {
  const auto json = Json::parse(R"({"a":{"b":[1,2.5,"x",null,true]},"n":-3})");
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["a"]["b"].size(), 5U);
  EXPECT_EQ((*json)["n"].integer(), -3);
  EXPECT_TRUE((*json)["a"]["z"]["y"].is_null());
  EXPECT_EQ((*json)["a"]["z"].text("–"), "–");
  const auto items = (*json)["a"]["b"].items();
  EXPECT_EQ(items[1].text(), "2.5");
  EXPECT_EQ(items[2].text(), "x");
  EXPECT_TRUE(items[4].boolean());
  EXPECT_FALSE(Json::parse("{"));
}

TEST(Json, ReadsWhatTheServerTakesHoweverDeep) {
  // As in a page of events: the data of one, as deep as an event may be.
  const std::string deep = R"({"items":[{"event":{"data":)" + std::string(510, '[') +
                           std::string(510, ']') + R"(}}],"next":null})";
  ASSERT_TRUE(Json::parse(deep));
  EXPECT_EQ(Json::parse(deep)->dump(), deep);
  EXPECT_FALSE(Json::parse(std::string(100'000, '[') + std::string(100'000, ']')));
}

TEST(Json, WhatIsPassedOnKeepsItsDigitsAndEscapes) {
  const auto json = Json::parse(
      "[ {\"a\" : 12.4,\n \"b\":[1e2, 98765432109876543210 , 0.10,-0.0],\r\n\t\"c\":"
      R"("\u00e9 \" \\" } , 12.40 ])");
  ASSERT_TRUE(json);
  const auto items = json->items();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].dump(),
            R"({"a":12.4,"b":[1e2,98765432109876543210,0.10,-0.0],"c":"\u00e9 \" \\"})");
  EXPECT_EQ(items[1].text(), "12.40");
  EXPECT_EQ(items[0]["b"].dump(), "[1e2,98765432109876543210,0.10,-0.0]");
  EXPECT_EQ(items[0]["b"].items()[1].integer(-1), -1);
  EXPECT_EQ(items[0]["c"].text(), "\u00e9 \" \\");
}

TEST(Json, OfEqualNamesTheLastCountsAndWhatIsNoJsonIsRefused) {
  EXPECT_EQ((*Json::parse(R"({"a":1,"\u0061":2})"))["a"].integer(), 2);
  for (const std::string_view bad :
       {"", " ", "{}{}", "nul", "01", "\"\x01\"", "\"\xff\"", "[1,]"}) {
    EXPECT_FALSE(Json::parse(bad)) << bad;
  }
}

TEST(Json, AViewKeepsItsDocument) {
  Json inner;
  {
    const auto json = Json::parse(R"({"event":{"id":"7","data":{"n":1}}})");
    inner = (*json)["event"];
  }
  EXPECT_EQ(inner["id"].text(), "7");
  EXPECT_EQ(inner.dump(), R"({"id":"7","data":{"n":1}})");
}

TEST(Json, BodiesAreEscaped) {
  EXPECT_EQ(JsonObject().text("a", "x\"\n").integer("n", 5).boolean("b", true).str(),
            R"({"a":"x\"\n","n":5,"b":true})");
  EXPECT_EQ(JsonObject().texts("ids", {"1", "2"}).raw("f", "[]").str(),
            R"({"ids":["1","2"],"f":[]})");
  EXPECT_EQ(JsonObject().str(), "{}");
}

TEST(Positions, AreWrittenAsTheApiReadsThem) {
  EXPECT_EQ(*position_json("earliest"), "\"earliest\"");
  EXPECT_EQ(*position_json("42"), R"({"offset":42})");
  EXPECT_EQ(*position_json("0=5,1=7"), R"({"offsets":{"0":5,"1":7}})");
  EXPECT_EQ(*position_json("2026-11-29T12:00:00Z"), R"({"time":"2026-11-29T12:00:00Z"})");
  for (const std::string_view bad :
       {"", "-1", "soon", "0=", "=5", "0=5,x", "99999999999999999999"}) {
    EXPECT_FALSE(position_json(bad)) << bad;
  }
  EXPECT_EQ(*partitions_json({"0", "1"}), "[0,1]");
  EXPECT_FALSE(partitions_json({"0", "a"}));
}

TEST(Targets, AreEncoded) {
  EXPECT_EQ(Target("/admin/groups").segment("a b").segment("c/d").str(),
            "/admin/groups/a%20b/c%2Fd");
  EXPECT_EQ(Target("/x").query("a", "1&2").query("b", 3).query_if("c", "").str(), "/x?a=1%262&b=3");
}

}  // namespace
}  // namespace ackline::cli

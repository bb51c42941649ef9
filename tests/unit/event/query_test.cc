#include "ackline/event/query.h"

#include <gtest/gtest.h>

#include <string>

namespace ackline::event {
namespace {

constexpr WallMs kAppended(1'000);

std::string frame_of(DataKind kind, std::string data) {
  CloudEvent event;
  event.set("id", "3");
  event.set("source", "/shop");
  event.set("type", "order.created");
  event.set("subject", "s");
  event.set("partitionkey", "EUR");
  event.set_data(kind, std::move(data));
  std::string out;
  append_frame(event, out);
  return out;
}

bool matches(const EventQuery& query) {
  const std::string bytes = frame_of(DataKind::kJson, "{}");
  return query.matches(FrameView::open(bytes).value(), kAppended);
}

bool data_matches(std::string_view text, std::string data, DataKind kind = DataKind::kJson) {
  const std::string bytes = frame_of(kind, std::move(data));
  const auto match = DataMatch::parse(text);
  EXPECT_TRUE(match) << text;
  return match && match->matches(FrameView::open(bytes).value());
}

TEST(EventQuery, AnEmptyOneMatchesEverything) {
  EXPECT_TRUE(matches({}));
}

TEST(EventQuery, EachPartMustMatch) {
  const auto with = [](auto set, std::string_view yes, std::string_view no) {
    EventQuery query;
    query.*set = std::string(yes);
    EXPECT_TRUE(matches(query)) << yes;
    query.*set = std::string(no);
    EXPECT_FALSE(matches(query)) << no;
  };
  with(&EventQuery::id, "3", "4");
  with(&EventQuery::source, "/shop", "/sho");
  with(&EventQuery::type, "order.created", "order");
  with(&EventQuery::subject, "s", "");
  with(&EventQuery::key, "EUR", "USD");
}

TEST(EventQuery, AMissingAttributeDoesNotMatchTheEmptyText) {
  CloudEvent event;
  event.set("id", "1");
  std::string bytes;
  append_frame(event, bytes);
  EventQuery query;
  query.key = "";
  EXPECT_FALSE(query.matches(FrameView::open(bytes).value(), kAppended));
}

TEST(EventQuery, SinceIsInclusiveAndUntilExclusive) {
  EventQuery query;
  query.since = kAppended;
  EXPECT_TRUE(matches(query));
  query.since = kAppended.next();
  EXPECT_FALSE(matches(query));
  query.since.reset();
  query.until = kAppended;
  EXPECT_FALSE(matches(query));
  query.until = kAppended.next();
  EXPECT_TRUE(matches(query));
}

TEST(EventQuery, TheFilterAndTheDataCount) {
  EventQuery query;
  query.filter = Filter::parse(R"({"prefix":{"type":"order"}})").value();
  EXPECT_TRUE(matches(query));
  query.data = DataMatch::parse("/a=1").value();
  EXPECT_FALSE(matches(query));
  query.data.reset();
  query.filter = Filter::parse(R"({"exact":{"type":"x"}})").value();
  EXPECT_FALSE(matches(query));
}

TEST(EventQuery, Invariant21AFilterErrorCountsAsAMatch) {
  CloudEvent event;
  event.set("n", AttributeType::kInteger, "x");
  std::string bytes;
  append_frame(event, bytes);
  EventQuery query;
  query.filter = Filter::parse(R"({"exact":{"n":"1"}})").value();
  EXPECT_TRUE(query.matches(FrameView::open(bytes).value(), kAppended));
}

TEST(DataMatch, ComparesTheValueAtAPointer) {
  constexpr const char* kData =
      R"( {"s":"paid","n":42,"f":1.50,"t":true,"z":null,"e":"","a":[10,[20,{"x":"y"}]],
          "a/b":1,"m~n":2,"":3,"u":"\u00e9","big":12345678901234567890,"o":{},"d":1,"d":2} )";
  for (const std::string_view text :
       {"/s=paid", "/n=42", "/n=42.0", "/n=4.2e1", "/f=1.5", "/f=1.50", "/t=true", "/z=null",
        "/e=", "/a/0=10", "/a/1/0=20", "/a/1/1/x=y", "/a~1b=1", "/m~0n=2", "/=3", "/u=\xC3\xA9",
        "/big=12345678901234567890", "/d=2"}) {
    EXPECT_TRUE(data_matches(text, kData)) << text;
  }
  for (const std::string_view text :
       {"/s=pai", "/s=\"paid\"", "/n=43", "/n=", "/t=false", "/t=1", "/z=", "/missing=", "/a=10",
        "/a/00=10", "/a/2=", "/a/-=", "/a/x=", "/s/0=p", "/big=12345678901234567891", "/o={}",
        "/d=1", "/a/1/1/x/y=y"}) {
    EXPECT_FALSE(data_matches(text, kData)) << text;
  }
}

TEST(DataMatch, TheFirstEqualSignEndsThePointer) {
  EXPECT_TRUE(data_matches("/a=b=c", R"({"a":"b=c"})"));
}

TEST(DataMatch, OnlyJsonDataMatches) {
  EXPECT_FALSE(data_matches("/a=1", R"({"a":1})", DataKind::kBinary));
  EXPECT_FALSE(data_matches("/a=1", "", DataKind::kNone));
  EXPECT_FALSE(data_matches("/a=1", R"({"a":1)"));
  EXPECT_FALSE(data_matches("/a=1", ""));
  EXPECT_FALSE(data_matches("/a=1", "7"));
}

TEST(DataMatch, ATextWithoutPointerOrEqualSignIsBadValue) {
  for (const std::string_view text : {"", "a=1", "/a", "=1"}) {
    const auto match = DataMatch::parse(text);
    ASSERT_FALSE(match) << text;
    EXPECT_EQ(match.error().word(), "bad_value");
    EXPECT_EQ(match.error().field, "data");
  }
}

}  // namespace
}  // namespace ackline::event

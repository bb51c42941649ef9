#include "ackline/event/http_binary.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/event/event_maker.h"

namespace ackline::event {
namespace {

using testing::Contains;
using testing::Pair;

std::vector<HeaderField> head(std::vector<HeaderField> more = {}) {
  std::vector<HeaderField> headers = {{"Host", "localhost"},
                                      {"CE-SpecVersion", "1.0"},
                                      {"ce-id", "1"},
                                      {"ce-source", "/s"},
                                      {"ce-type", "t"}};
  headers.insert(headers.end(), more.begin(), more.end());
  return headers;
}

TEST(HttpBinary, HeadersBecomeAttributesAndContentTypeTheirType) {
  const auto event = parse_http_binary(head({{"Content-Type", "application/json"},
                                             {"ce-count", "5"},
                                             {"ce-time", "2026-11-29T12:00:00Z"}}),
                                       R"({"n": 3})");
  ASSERT_TRUE(event) << event.error().detail;
  EXPECT_EQ(event->get("datacontenttype"), "application/json");
  EXPECT_EQ(event->find("count")->type, AttributeType::kString);
  EXPECT_EQ(event->find("time")->type, AttributeType::kTimestamp);
  EXPECT_EQ(event->find("source")->type, AttributeType::kUriReference);
  EXPECT_EQ(event->data_kind(), DataKind::kJson);
  EXPECT_EQ(event->data(), R"({"n": 3})");
}

TEST(HttpBinary, TheKindOfTheBodyFollowsTheMediaType) {
  const auto kind = [](std::string_view type, std::string_view body) {
    const auto event = parse_http_binary(head({{"content-type", type}}), body);
    return event ? event->data_kind() : DataKind::kNone;
  };
  EXPECT_EQ(kind("application/vnd.x+json", "[1]"), DataKind::kJson);
  EXPECT_EQ(kind("text/plain", "hello"), DataKind::kText);
  EXPECT_EQ(kind("text/plain; charset=\"UTF-8\"", "hello"), DataKind::kText);
  EXPECT_EQ(kind("application/xml", "<a/>"), DataKind::kText);
  EXPECT_EQ(kind("text/plain; charset=iso-8859-1", "hello"), DataKind::kBinary);
  EXPECT_EQ(kind("text/plain", "\xFF"), DataKind::kBinary);
  EXPECT_EQ(kind("application/octet-stream", "hello"), DataKind::kBinary);
  EXPECT_EQ(kind("application/json", ""), DataKind::kNone);
  const auto untyped = parse_http_binary(head(), "raw");
  ASSERT_TRUE(untyped);
  EXPECT_EQ(untyped->data_kind(), DataKind::kBinary);
  EXPECT_EQ(untyped->find("datacontenttype"), nullptr);
}

TEST(HttpBinary, ValuesArePercentDecodedOnceAndUnquoted) {
  const auto event = parse_http_binary(
      head({{"ce-a", "Euro%20%E2%82%AC%25"}, {"ce-b", "\"a \\\"q\\\" b\""}, {"ce-c", "%2541"}}),
      "");
  ASSERT_TRUE(event) << event.error().detail;
  EXPECT_EQ(event->get("a"), "Euro \xE2\x82\xAC%");
  EXPECT_EQ(event->get("b"), "a \"q\" b");
  EXPECT_EQ(event->get("c"), "%41");
}

TEST(HttpBinary, EveryBadRequestHasItsWordAndItsAttribute) {
  struct Case {
    std::vector<HeaderField> headers;
    std::string_view body;
    std::string_view word;
    std::string_view field;
  };
  const Case cases[] = {
      {{{"ce-id", "1"}, {"ce-source", "/s"}, {"ce-type", "t"}},
       "",
       "missing_attribute",
       "specversion"},
      {{{"ce-specversion", "1.0"}, {"ce-source", "/s"}, {"ce-type", "t"}},
       "",
       "missing_attribute",
       "id"},
      {{{"ce-specversion", "0.3"}, {"ce-id", "1"}}, "", "bad_attribute", "specversion"},
      {head({{"ce-id", "2"}}), "", "duplicate_key", "id"},
      {head({{"ce-SpecVersion", "1.0"}}), "", "duplicate_key", "specversion"},
      {head({{"content-type", "a/b"}, {"Content-Type", "a/b"}}), "", "duplicate_key",
       "content-type"},
      {head({{"ce-time", "noon"}}), "", "bad_attribute", "time"},
      {head({{"ce-a-b", "x"}}), "", "bad_attribute", "a-b"},
      {head({{"ce-data", "x"}}), "", "bad_attribute", "data"},
      {head({{"ce-", "x"}}), "", "bad_attribute", ""},
      {head({{"ce-x", "100%"}}), "", "bad_attribute", "x"},
      {head({{"ce-x", "%4"}}), "", "bad_attribute", "x"},
      {head({{"ce-x", "%zz"}}), "", "bad_attribute", "x"},
      {head({{"ce-x", "%FF"}}), "", "bad_utf8", "x"},
      {head({{"ce-x", "%0A"}}), "", "bad_attribute", "x"},
      {head({{"ce-datacontenttype", "a/b"}, {"content-type", "a/c"}}), "", "bad_attribute",
       "datacontenttype"},
      {head({{"content-type", "nonsense"}}), "", "bad_attribute", "datacontenttype"},
      {head({{"content-type", "a/b; c=\xC3\xBC"}}), "", "bad_attribute", "datacontenttype"},
      {head({{"content-type", "application/json"}}), "{", "bad_json", "data"},
      {head({{"content-type", "application/json"}}), "\"\xFF\"", "bad_utf8", "data"},
  };
  for (const Case& bad : cases) {
    const auto event = parse_http_binary(bad.headers, bad.body);
    ASSERT_FALSE(event) << bad.word << " " << bad.field;
    EXPECT_EQ(event.error().word(), bad.word) << bad.field << ": " << event.error().detail;
    EXPECT_EQ(event.error().field, bad.field) << event.error().detail;
  }
}

TEST(HttpBinary, AJsonBodyGoesOutWithoutTheSpaceAroundIt) {
  const auto event =
      parse_http_binary(head({{"content-type", "application/json"}}), " \n[1,\r\n2]\t \n");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->data(), " \n[1,\r\n2]\t \n");
  std::string text;
  append_json(*event, text);
  EXPECT_THAT(text, testing::EndsWith("\"data\":[1,2]}"));
}

TEST(HttpBinary, WhatIsReadCanBeWrittenAsStructuredJson) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  const auto deep = parse_http_binary(head({{"content-type", "application/json"}}), nested(511));
  ASSERT_TRUE(deep);
  std::string text;
  append_json(*deep, text);
  EXPECT_TRUE(parse_event(text));
  EXPECT_FALSE(parse_http_binary(head({{"content-type", "application/json"}}), nested(512)));
}

TEST(HttpBinary, LimitsHold) {
  ParseLimits limits;
  limits.event_bytes = 40;
  EXPECT_TRUE(parse_http_binary(head(), "12345", limits));
  EXPECT_EQ(parse_http_binary(head(), std::string(40, 'x'), limits).error().word(), "too_large");
}

TEST(HttpBinary, InternalAttributesAreDroppedInAndOut) {
  auto event = parse_http_binary(head({{"ce-empopck", "x"}}), "");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->find("empopck"), nullptr);
  event->set("empopck", "stamped");
  EXPECT_THAT(to_http_binary(*event).headers, testing::SizeIs(4));
}

TEST(HttpBinary, WritesStringsPercentEncoded) {
  CloudEvent event;
  event.set("id", "a b\"%\xC3\xBC");
  event.set("source", "/s");
  event.set("type", "t");
  event.set_integer("n", -5);
  event.set("bin", AttributeType::kBinary, std::string("\0\xFF", 2));
  event.set_data(DataKind::kJson, "{}");
  const HttpMessage message = to_http_binary(event);
  EXPECT_THAT(message.headers, Contains(Pair("ce-id", "a%20b%22%25%C3%BC")));
  EXPECT_THAT(message.headers, Contains(Pair("ce-n", "-5")));
  EXPECT_THAT(message.headers, Contains(Pair("ce-bin", "AP8=")));
  EXPECT_THAT(message.headers, Contains(Pair("content-type", "application/json")));
  EXPECT_EQ(message.body, "{}");
}

TEST(HttpBinary, EveryEventRoundTripsWithItsAttributesAsStrings) {
  EventMaker maker(7);
  for (int i = 0; i < 3'000; ++i) {
    const CloudEvent event = maker.make(false);
    const HttpMessage message = to_http_binary(event);
    std::vector<HeaderField> headers;
    for (const auto& [name, value] : message.headers) {
      headers.push_back({name, value});
    }
    const auto back = parse_http_binary(headers, message.body);
    ASSERT_TRUE(back) << back.error().detail;
    for (const Attribute& attribute : event.attributes()) {
      std::string text;
      append_canonical(text, attribute.view());
      ASSERT_EQ(back->get(attribute.name), text);
    }
    ASSERT_EQ(back->data(), event.data());
    ASSERT_EQ(back->data_kind(), event.data_kind());
  }
}

}  // namespace
}  // namespace ackline::event

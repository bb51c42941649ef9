#include "ackline/event/json_codec.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/unit/event/event_maker.h"

namespace ackline::event {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHead = R"({"specversion":"1.0","id":"1","source":"/s","type":"t")";

std::string with(std::string_view rest) {
  return std::string(kHead) + (rest.empty() ? "" : ",") + std::string(rest) + "}";
}

std::string written(const CloudEvent& event) {
  std::string out;
  append_json(event, out);
  return out;
}

struct Bad {
  std::string json;
  std::string_view word;
  std::string_view field;
};

TEST(JsonCodec, AMinimalEventComesBackAsItWent) {
  const auto event = parse_event(with(R"("data":{"n":3})"));
  ASSERT_TRUE(event) << event.error().detail;
  EXPECT_EQ(event->get("id"), "1");
  EXPECT_EQ(event->get("source"), "/s");
  EXPECT_EQ(event->get("type"), "t");
  EXPECT_EQ(event->get("specversion"), "1.0");
  EXPECT_EQ(event->data_kind(), DataKind::kJson);
  EXPECT_EQ(written(*event),
            R"({"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"n":3}})");
}

TEST(JsonCodec, ExtensionsKeepTheirTypes) {
  const auto event = parse_event(with(R"("s":"5","i":5,"n":-2147483648,"yes":true,"no":false,)"
                                      R"("expirytime":"2026-11-29T12:00:00Z")"));
  ASSERT_TRUE(event) << event.error().detail;
  EXPECT_EQ(event->find("s")->type, AttributeType::kString);
  EXPECT_EQ(event->find("i")->type, AttributeType::kInteger);
  EXPECT_EQ(event->find("n")->value, "-2147483648");
  EXPECT_EQ(event->find("yes")->type, AttributeType::kBoolean);
  EXPECT_EQ(event->find("expirytime")->type, AttributeType::kTimestamp);
  EXPECT_THAT(written(*event), HasSubstr(R"("s":"5","i":5,"n":-2147483648,"yes":true,"no":false)"));
}

TEST(JsonCodec, ATimestampLeavesAsItCame) {
  const auto event = parse_event(with(R"("time":"2026-11-29t13:00:00.123456+01:00")"));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->get("time"), "2026-11-29t13:00:00.123456+01:00");
  EXPECT_EQ(event->time(), WallMs(1'795'953'600'123));
}

TEST(JsonCodec, JsonDataKeepsItsText) {
  for (const std::string_view data :
       {R"({"b":1,"a":[1.50,1e400,123456789012345678901234567890]})", "null", "true", "0",
        "\"text\"", R"("\ud83d\ude00\u0000")", R"({"a":1,"a":2})", "[]", "{}",
        R"({ "spaced" : [ 1 , 2 ] })"}) {
    const auto event = parse_event(with("\"data\":" + std::string(data)));
    ASSERT_TRUE(event) << data;
    EXPECT_EQ(event->data_kind(), DataKind::kJson);
    EXPECT_EQ(event->data(), data);
    EXPECT_THAT(written(*event), HasSubstr("\"data\":" + std::string(data)));
  }
}

TEST(JsonCodec, TheTextIsOneLineWhateverTheDataLookedLike) {
  const auto event = parse_event(with("\"data\":{\r\n  \"a\": \"x\\ny\",\n\t\"b\": 2\n}"));
  ASSERT_TRUE(event);
  EXPECT_THAT(written(*event), HasSubstr("\"data\":{  \"a\": \"x\\ny\",\t\"b\": 2}}"));
}

TEST(JsonCodec, AStringUnderAnotherMediaTypeIsText) {
  const auto text = parse_event(with(R"("datacontenttype":"text/plain","data":"a\nb")"));
  ASSERT_TRUE(text);
  EXPECT_EQ(text->data_kind(), DataKind::kText);
  EXPECT_EQ(text->data(), "a\nb");
  EXPECT_THAT(written(*text), HasSubstr(R"("data":"a\nb")"));
  const auto json = parse_event(with(R"("data":"a\nb","datacontenttype":"application/x+json")"));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->data_kind(), DataKind::kJson);
  EXPECT_EQ(json->data(), R"("a\nb")");
}

TEST(JsonCodec, BinaryDataComesAsBase64) {
  const auto event = parse_event(with(R"("data_base64":"AP/+")"));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->data_kind(), DataKind::kBinary);
  EXPECT_EQ(event->data(), std::string("\0\xFF\xFE", 3));
  EXPECT_THAT(written(*event), HasSubstr(R"("data_base64":"AP/+"})"));
}

TEST(JsonCodec, NullIsTheSameAsAbsent) {
  const auto event =
      parse_event(with(R"("subject":null,"ext":null,"time":null,"data_base64":null)"));
  ASSERT_TRUE(event);
  EXPECT_EQ(written(*event), with(""));
}

TEST(JsonCodec, InternalAttributesAreDroppedInAndOut) {
  auto event = parse_event(with(R"("empopck":"x","emmqoffset":7,"emmqpartition":"1","emmqx":"y")"));
  ASSERT_TRUE(event);
  EXPECT_EQ(written(*event), with(""));
  event->set("empopck", "stamped by the backend");
  EXPECT_EQ(written(*event), with(""));
}

TEST(JsonCodec, EscapedNamesAreTheNamesTheyStandFor) {
  const auto event = parse_event(
      "{\"specver\\u0073ion\":\"1.0\",\"\\u0069d\":\"\\u0031\",\"source\":\"/s\",\"type\":\"t\"}");
  ASSERT_TRUE(event) << event.error().detail;
  EXPECT_EQ(event->get("id"), "1");
}

TEST(JsonCodec, TextThatIsNotJsonIsBadJsonWithItsPlace) {
  for (const std::string_view json : {"",
                                      "  ",
                                      "{",
                                      "[",
                                      "nul",
                                      "{]",
                                      "{\"id\"}",
                                      "{\"id\":}",
                                      "{\"id\":1,}",
                                      "{,}",
                                      "{} {}",
                                      "{\"a\":01}",
                                      "{\"a\":1.}",
                                      "{\"a\":.5}",
                                      "{\"a\":+1}",
                                      "{\"a\":1e}",
                                      "{\"a\":-}",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12g4\"}",
                                      "{\"a\":\"\t\"}",
                                      "{\"a\":\"",
                                      "{'a':1}",
                                      "{\"a\":NaN}",
                                      "{\"a\":[1,]}",
                                      "{\"a\":[1 2]}",
                                      "\xEF\xBB\xBF{}",
                                      "{\"a\":tru}",
                                      "[1"}) {
    const auto event = parse_event(json);
    ASSERT_FALSE(event) << json;
    EXPECT_EQ(event.error().word(), "bad_json") << json;
    EXPECT_FALSE(event.error().remedy.empty());
  }
  EXPECT_THAT(parse_event("{\"id\":}").error().detail, HasSubstr("byte 6"));
}

TEST(JsonCodec, AWrongTopLevelTypeIsBadJson) {
  for (const std::string_view json : {"[]", "1", "\"event\"", "true", "null"}) {
    EXPECT_EQ(parse_event(json).error().word(), "bad_json") << json;
  }
  EXPECT_EQ(parse_batch("{}").error().word(), "bad_json");
}

TEST(JsonCodec, EveryBadEventHasItsWordAndItsAttribute) {
  const Bad cases[] = {
      {R"({"id":"1","source":"/s","type":"t"})", "missing_attribute", "specversion"},
      {R"({"specversion":"1.0","source":"/s","type":"t"})", "missing_attribute", "id"},
      {R"({"specversion":"1.0","id":"1","type":"t"})", "missing_attribute", "source"},
      {R"({"specversion":"1.0","id":"1","source":"/s"})", "missing_attribute", "type"},
      {R"({"specversion":null,"id":"1","source":"/s","type":"t"})", "missing_attribute",
       "specversion"},
      {R"({"specversion":"0.3","id":"1","source":"/s","type":"t"})", "bad_attribute",
       "specversion"},
      {R"({"specversion":1.0,"id":"1","source":"/s","type":"t"})", "bad_attribute", "specversion"},
      {R"({"specversion":"1.0","id":"","source":"/s","type":"t"})", "bad_attribute", "id"},
      {R"({"specversion":"1.0","id":1,"source":"/s","type":"t"})", "bad_attribute", "id"},
      {R"({"specversion":"1.0","id":"1","source":"","type":"t"})", "bad_attribute", "source"},
      {R"({"specversion":"1.0","id":"1","source":"a b","type":"t"})", "bad_attribute", "source"},
      {R"({"specversion":"1.0","id":"1","source":"/%zz","type":"t"})", "bad_attribute", "source"},
      {R"({"specversion":"1.0","id":"1","source":"/s","type":""})", "bad_attribute", "type"},
      {R"({"specversion":"1.0","id":"1","source":"/s","type":["t"]})", "bad_attribute", "type"},
      {with(R"("time":"yesterday")"), "bad_attribute", "time"},
      {with(R"("time":"2026-02-30T00:00:00Z")"), "bad_attribute", "time"},
      {with(R"("time":1795953600)"), "bad_attribute", "time"},
      {with(R"("subject":"")"), "bad_attribute", "subject"},
      {with(R"("subject":true)"), "bad_attribute", "subject"},
      {with(R"("datacontenttype":"json")"), "bad_attribute", "datacontenttype"},
      {with(R"("dataschema":"/relative")"), "bad_attribute", "dataschema"},
      {with(R"("partitionkey":"")"), "bad_attribute", "partitionkey"},
      {with(R"("emttl":"soon")"), "bad_attribute", "emttl"},
      {with(R"("emttl":-1)"), "bad_attribute", "emttl"},
      {with(R"("expirytime":"tomorrow")"), "bad_attribute", "expirytime"},
      {with(R"("expirytime":5)"), "bad_attribute", "expirytime"},
      {with(R"("price":1.5)"), "bad_attribute", "price"},
      {with(R"("big":2147483648)"), "bad_attribute", "big"},
      {with(R"("big":-2147483649)"), "bad_attribute", "big"},
      {with(R"("exp":1e2)"), "bad_attribute", "exp"},
      {with(R"("nested":{"a":1})"), "bad_attribute", "nested"},
      {with(R"("list":[1])"), "bad_attribute", "list"},
      {with(R"("camelCase":"x")"), "bad_attribute", "camelCase"},
      {with(R"("with_underscore":"x")"), "bad_attribute", "with_underscore"},
      {with(R"("":"x")"), "bad_attribute", ""},
      {with(R"("ctl":"a\u0001b")"), "bad_attribute", "ctl"},
      {with(R"("ctl":"a\nb")"), "bad_attribute", "ctl"},
      {with(R"("ctl":"\u0085")"), "bad_attribute", "ctl"},
      {with(R"("non":"\uffff")"), "bad_attribute", "non"},
      {with(R"("half":"\ud800")"), "bad_attribute", "half"},
      {with(R"("half":"\ud800\u0041")"), "bad_attribute", "half"},
      {with(R"("half":"\udc00")"), "bad_attribute", "half"},
      {with(R"("data":1,"data_base64":"AA==")"), "bad_attribute", "data_base64"},
      {with(R"("data":null,"data_base64":"AA==")"), "bad_attribute", "data_base64"},
      {with(R"("data_base64":"A")"), "bad_attribute", "data_base64"},
      {with(R"("data_base64":5)"), "bad_attribute", "data_base64"},
      {with(R"("datacontenttype":"text/plain","data":"\ud800")"), "bad_attribute", "data"},
      {with(R"("id":"2")"), "duplicate_key", "id"},
      {with(R"("specversion":"1.0")"), "duplicate_key", "specversion"},
      {with(R"("ext":1,"ext":1)"), "duplicate_key", "ext"},
      {with(R"("ext":null,"ext":1)"), "duplicate_key", "ext"},
      {with(R"("e\u0078t":1,"ext":1)"), "duplicate_key", "ext"},
      {with(R"("data":1,"data":1)"), "duplicate_key", "data"},
      {with("\"ext\":\"\xFF\""), "bad_utf8", ""},
      {with("\"data\":\"\xC3\""), "bad_utf8", ""},
      {with("\"data\":{\"\xED\xA0\x80\":1}"), "bad_utf8", ""},
      {"\xFF", "bad_utf8", ""},
  };
  for (const Bad& bad : cases) {
    const auto event = parse_event(bad.json);
    ASSERT_FALSE(event) << bad.json;
    EXPECT_EQ(event.error().word(), bad.word) << bad.json << ": " << event.error().detail;
    EXPECT_EQ(event.error().field, bad.field) << bad.json;
    EXPECT_FALSE(event.error().detail.empty()) << bad.json;
  }
}

TEST(JsonCodec, TheSentenceSaysWhichAttributeAndWhy) {
  EXPECT_EQ(parse_event(R"({"specversion":"1.0","id":"1","type":"t"})").error().detail,
            "source is required by CloudEvents 1.0");
  EXPECT_EQ(parse_event(with(R"("price":1.5)")).error().detail,
            "price is the number 1.5; a CloudEvents integer has 32 bits and no fraction");
}

TEST(JsonCodec, NamesOfMoreThanTwentyCharactersPassUpToTheLimit) {
  const std::string most(kMaxAttributeName, 'x');
  EXPECT_TRUE(parse_event(with("\"" + most + "\":\"v\"")));
  const auto over = parse_event(with("\"" + most + "x\":\"v\""));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().word(), "bad_attribute");
}

TEST(JsonCodec, TooManyAttributesAndTooManyBytesAreTooLarge) {
  std::string many;
  for (int i = 0; i < 300; ++i) {
    many += (i > 0 ? ",\"x" : "\"x") + std::to_string(i) + "\":" + (i % 2 == 0 ? "null" : "1");
  }
  EXPECT_EQ(parse_event(with(many)).error().word(), "too_large");
  ParseLimits limits;
  limits.event_bytes = with("").size();
  EXPECT_TRUE(parse_event(with(""), limits));
  const auto over = parse_event(with("\"a\":1"), limits);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().word(), "too_large");
  EXPECT_THAT(over.error().detail, HasSubstr(std::to_string(limits.event_bytes)));
}

TEST(JsonCodec, NestingHasALimit) {
  const auto nested = [](std::size_t depth) {
    return with("\"data\":" + std::string(depth, '[') + std::string(depth, ']'));
  };
  EXPECT_TRUE(parse_event(nested(511)));
  const auto over = parse_event(nested(512));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().word(), "bad_json");
  EXPECT_FALSE(parse_event(std::string(1 << 19, '[')));
}

TEST(JsonCodec, OneBadEventAmongGoodOnesSpoilsOnlyItself) {
  const std::string text = "[" + with("") + ", " + R"({"specversion":"1.0","id":"2","type":"t"},)" +
                           with("\"ext\":\"\xFF\"") + "," + with(R"("id":"1")") + ",7," +
                           with(R"("data":[1,{"a":"]},{"}])") + "]";
  const auto batch = parse_batch(text);
  ASSERT_TRUE(batch) << batch.error().detail;
  ASSERT_EQ(batch->size(), 6U);
  EXPECT_TRUE((*batch)[0]);
  EXPECT_EQ((*batch)[1].error().word(), "missing_attribute");
  EXPECT_EQ((*batch)[1].error().field, "source");
  EXPECT_EQ((*batch)[2].error().word(), "bad_utf8");
  EXPECT_EQ((*batch)[3].error().word(), "duplicate_key");
  EXPECT_EQ((*batch)[4].error().word(), "bad_json");
  ASSERT_TRUE((*batch)[5]);
  EXPECT_EQ((*batch)[5]->data(), R"([1,{"a":"]},{"}])");
}

TEST(JsonCodec, ABatchHasItsLimits) {
  EXPECT_EQ(parse_batch("[]").error().word(), "bad_value");
  EXPECT_EQ(parse_batch("").error().word(), "bad_json");
  EXPECT_EQ(parse_batch("[" + with("") + ",]").error().word(), "bad_json");
  ParseLimits limits;
  limits.batch_events = 2;
  limits.event_bytes = 100;
  EXPECT_TRUE(parse_batch("[" + with("") + "," + with("") + "]", limits));
  EXPECT_EQ(parse_batch("[1,2,3]", limits).error().word(), "too_large");
  const auto large = parse_batch(
      "[" + with("\"data\":\"" + std::string(100, 'x') + "\"") + "," + with("") + "]", limits);
  ASSERT_TRUE(large);
  EXPECT_EQ((*large)[0].error().word(), "too_large");
  EXPECT_TRUE((*large)[1]);
}

TEST(JsonCodec, EveryEventRoundTripsThroughItsText) {
  EventMaker maker(20261129);
  for (int i = 0; i < 5'000; ++i) {
    const CloudEvent event = maker.make(true);
    ASSERT_TRUE(check_event(event)) << check_event(event).error().detail;
    const std::string text = written(event);
    const auto back = parse_event(text);
    ASSERT_TRUE(back) << text << "\n" << back.error().detail;
    ASSERT_EQ(*back, event) << text;
  }
}

TEST(JsonCodec, MutilatedTextNeverDoesMoreThanFail) {
  EventMaker maker(99);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = written(maker.make(true));
    for (std::uint64_t edits = 1 + maker.random().below(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = maker.random().below(text.size());
      if (maker.random().chance(1, 2)) {
        text[at] = static_cast<char>(maker.random().below(256));
      } else {
        text.erase(at, 1 + maker.random().below(3));
      }
    }
    const auto event = parse_event(text);
    if (event) {
      ASSERT_EQ(parse_event(written(*event)), *event) << text;
    }
    (void)parse_batch("[" + text + "]");
  }
}

TEST(ContentMode, FollowsTheContentType) {
  EXPECT_EQ(content_mode("application/cloudevents+json", false, "{}"), ContentMode::kStructured);
  EXPECT_EQ(content_mode("Application/CloudEvents+JSON; charset=utf-8", true, "{}"),
            ContentMode::kStructured);
  EXPECT_EQ(content_mode("application/cloudevents-batch+json", false, "[]"), ContentMode::kBatch);
  EXPECT_EQ(content_mode("application/json", false, " \n[{}]"), ContentMode::kBatch);
  EXPECT_EQ(content_mode("application/json", false, "{}"), ContentMode::kStructured);
  EXPECT_EQ(content_mode("application/json", true, "[]"), ContentMode::kBinary);
  EXPECT_EQ(content_mode("", true, ""), ContentMode::kBinary);
  EXPECT_EQ(content_mode("text/plain", false, "").error().word(), "media_type");
  EXPECT_EQ(content_mode("", false, "").error().word(), "media_type");
  EXPECT_EQ(content_mode("application/cloudevents+xml", true, "").error().word(), "media_type");
}

}  // namespace
}  // namespace ackline::event

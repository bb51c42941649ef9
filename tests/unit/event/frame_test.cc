#include "ackline/event/frame.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "ackline/event/json_codec.h"
#include "tests/unit/event/event_maker.h"
#include "tests/unit/event/golden.h"

namespace ackline::event {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string framed(const CloudEvent& event) {
  std::string out;
  append_frame(event, out);
  return out;
}

std::string json_of(std::string_view frame, const JsonOptions& options = {}) {
  std::string out;
  append_json(FrameView::open(frame).value(), out, options);
  return out;
}

CloudEvent base_event() {
  CloudEvent event;
  event.set("id", "1");
  event.set("source", "/shop");
  event.set("type", "order.created");
  return event;
}

// The events of the golden file, in its order.
std::vector<std::pair<std::string, CloudEvent>> golden_events() {
  std::vector<std::pair<std::string, CloudEvent>> events;
  events.emplace_back("minimal", base_event());
  CloudEvent json = base_event();
  json.set_data(DataKind::kJson, R"({"n":3})");
  events.emplace_back("json", json);
  CloudEvent text = base_event();
  text.set("datacontenttype", "text/plain");
  text.set_data(DataKind::kText, "Z\xC3\xBCrich");
  events.emplace_back("text", text);
  CloudEvent binary = base_event();
  binary.set("datacontenttype", "application/octet-stream");
  binary.set_data(DataKind::kBinary, std::string("\0\xFF\xFE", 3));
  events.emplace_back("binary", binary);
  CloudEvent every = base_event();
  every.set("time", "2026-11-29t13:00:00.5+01:00");
  every.set("dataschema", "urn:schema:1");
  every.set("partitionkey", "EUR");
  every.set_boolean("yes", true);
  every.set_integer("count", -5);
  every.set("bin", AttributeType::kBinary, std::string("\0\1", 2));
  every.set("link", AttributeType::kUriReference, "../x");
  every.set_data(DataKind::kJson, "null");
  events.emplace_back("every_type", every);
  return events;
}

TEST(Frame, TheBytesAreThoseOfTheFormatPage) {
  const auto rows = golden_rows("event_frame_v2.tsv");
  const auto events = golden_events();
  ASSERT_EQ(rows.size(), events.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][0], events[i].first);
    const std::string bytes = from_hex(rows[i][1]);
    EXPECT_EQ(framed(events[i].second), bytes) << rows[i][0];
    const auto back = decode_frame(bytes);
    ASSERT_TRUE(back) << back.error().detail;
    EXPECT_EQ(*back, events[i].second) << rows[i][0];
  }
}

TEST(Frame, AViewReadsAttributesAndDataWithoutACopy) {
  const std::string bytes = framed(golden_events()[4].second);
  const auto view = FrameView::open(as_bytes(bytes));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->get("id"), "1");
  EXPECT_EQ(view->get("specversion"), "1.0");
  EXPECT_EQ(view->get("partitionkey"), "EUR");
  EXPECT_EQ(view->get("nothere"), "");
  EXPECT_FALSE(view->find("nothere"));
  EXPECT_EQ(view->find("count")->type, AttributeType::kInteger);
  EXPECT_EQ(view->time(), WallMs(1'795'953'600'500));
  EXPECT_EQ(view->data_kind(), DataKind::kJson);
  EXPECT_EQ(view->data(), "null");
  EXPECT_EQ(view->attribute_count(), 10U);
  EXPECT_GE(view->get("type").data(), bytes.data());
  EXPECT_LT(view->get("type").data(), bytes.data() + bytes.size());
}

TEST(Frame, EveryEventRoundTripsWithItsTypes) {
  EventMaker maker(41);
  for (int i = 0; i < 5'000; ++i) {
    const CloudEvent event = maker.make(false);
    const std::string bytes = framed(event);
    const auto back = decode_frame(bytes);
    ASSERT_TRUE(back) << back.error().detail;
    ASSERT_EQ(*back, event);
  }
}

TEST(Frame, AFrameAndItsEventWriteTheSameJson) {
  EventMaker maker(43);
  for (int i = 0; i < 3'000; ++i) {
    const CloudEvent event = maker.make(false);
    std::string text;
    append_json(event, text);
    ASSERT_EQ(json_of(framed(event)), text);
    ASSERT_EQ(text.find_first_of("\r\n"), std::string::npos);
  }
}

TEST(Frame, EveryCutIsCorrupt) {
  const std::string bytes = framed(golden_events()[4].second);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto view = FrameView::open(std::string_view(bytes).substr(0, length));
    ASSERT_FALSE(view) << length;
    ASSERT_EQ(view.error().code, ErrorCode::kCorrupt);
    ASSERT_FALSE(view.error().detail.empty());
  }
  EXPECT_FALSE(FrameView::open(bytes + "x"));
}

// Only what the log has vouched for is taken unread: its lengths are looked at all the same.
TEST(Frame, AStoredFrameIsCheckedButForTheLettersOfItsNames) {
  CloudEvent event;
  event.set("id", "1");
  event.set("source", "/s");
  event.set("type", "t");
  std::string bytes;
  append_frame(event, bytes);
  ASSERT_TRUE(FrameView::open_stored(as_bytes(bytes)));
  EXPECT_EQ(FrameView::open_stored(as_bytes(bytes))->get("type"), "t");
  std::string named = bytes;
  named[kFrameHeaderBytes + 2] = 'I';
  EXPECT_FALSE(FrameView::open(named));
  EXPECT_TRUE(FrameView::open_stored(as_bytes(named)));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(FrameView::open_stored(as_bytes(std::string_view(bytes).substr(0, cut)))) << cut;
  }
}

TEST(Frame, WrongHeadersAndLengthsAreCorrupt) {
  const std::string good = framed(golden_events()[1].second);
  const auto changed = [&good](std::size_t at, unsigned char byte) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(byte);
    return FrameView::open(bytes);
  };
  EXPECT_FALSE(changed(0, 0xEE));
  EXPECT_FALSE(changed(1, 1));
  EXPECT_THAT(changed(1, 1).error().detail, HasSubstr("version 1"));
  EXPECT_FALSE(changed(1, 3));
  EXPECT_FALSE(changed(2, 1));
  EXPECT_FALSE(changed(3, 0x11));
  EXPECT_FALSE(changed(3, 0x50));
  EXPECT_FALSE(changed(3, 0x00)) << "data without a kind";
  EXPECT_FALSE(changed(7, 1)) << "sequence number of an event";
  EXPECT_FALSE(changed(8, 0xFF)) << "key count";
  EXPECT_FALSE(changed(9, 2)) << "key count too small";
  EXPECT_FALSE(changed(10, 0xFF)) << "data length";
  EXPECT_FALSE(changed(14, 0xFF)) << "name length";
  EXPECT_FALSE(changed(15, 0)) << "empty name";
  EXPECT_FALSE(changed(16, 'I')) << "name character";
  EXPECT_FALSE(changed(18, 7)) << "type";
  EXPECT_FALSE(changed(19, 0xFF)) << "value length";
  EXPECT_TRUE(changed(23, 'x'));
}

TEST(Frame, DecodingChecksWhatAViewTakesOnTrust) {
  const auto refused = [](const CloudEvent& event) {
    const std::string bytes = framed(event);
    EXPECT_TRUE(FrameView::open(bytes));
    const auto decoded = decode_frame(bytes);
    return !decoded && decoded.error().code == ErrorCode::kCorrupt;
  };
  CloudEvent event = base_event();
  event.remove("id");
  EXPECT_TRUE(refused(event));
  event = base_event();
  event.set("n", AttributeType::kInteger, "five");
  EXPECT_TRUE(refused(event));
  event.set("n", AttributeType::kInteger, "007");
  EXPECT_TRUE(refused(event));
  event.set("n", AttributeType::kBoolean, "yes");
  EXPECT_TRUE(refused(event));
  event.set("n", AttributeType::kTimestamp, "now");
  EXPECT_TRUE(refused(event));
  event.set("n", AttributeType::kString, "\xFF");
  EXPECT_TRUE(refused(event));
  event = base_event();
  event.set("id", AttributeType::kInteger, "5");
  EXPECT_TRUE(refused(event));
  event = base_event();
  event.set("specversion", "1.0");
  EXPECT_TRUE(refused(event));
  event = base_event();
  event.set_data(DataKind::kJson, "{");
  EXPECT_TRUE(refused(event));
  event.set_data(DataKind::kJson, "");
  EXPECT_TRUE(refused(event));
  event.set_data(DataKind::kText, "text without a media type");
  EXPECT_TRUE(refused(event));
  event.set("datacontenttype", "text/plain");
  EXPECT_FALSE(refused(event));
  event.set_data(DataKind::kText, "\xFF");
  EXPECT_TRUE(refused(event));
  event.set_data(DataKind::kJson, "\"a JSON string that is said to be text\"");
  EXPECT_TRUE(refused(event));
  event.set_data(DataKind::kJson, "{}");
  EXPECT_FALSE(refused(event));
  event = base_event();
  event.set("emttl", AttributeType::kBinary, "5000");
  EXPECT_TRUE(refused(event));
  event = base_event();
  for (int i = 0; i < 600; ++i) {
    event.set("x" + std::to_string(i), "v");
  }
  EXPECT_TRUE(refused(event));
}

TEST(Frame, DecodingDropsInternalAttributes) {
  CloudEvent event = base_event();
  event.set("empopck", "not from a backend");
  const std::string bytes = framed(event);
  EXPECT_EQ(decode_frame(bytes).value(), base_event());
  EXPECT_EQ(FrameView::open(bytes)->get("empopck"), "not from a backend");
}

TEST(Frame, ARepeatedKeyIsCorruptWhenDecoded) {
  std::string bytes = framed(base_event());
  const std::size_t source = bytes.find("source");
  const std::size_t type = bytes.find("type");
  ASSERT_NE(source, std::string::npos);
  ASSERT_NE(type, std::string::npos);
  bytes.replace(type, 4, "abcd");
  EXPECT_FALSE(decode_frame(bytes));
  bytes.replace(type - 2, 6, std::string("\0\2id\0\0", 6));
  EXPECT_FALSE(decode_frame(bytes));
}

TEST(Frame, MutilatedBytesNeverDoMoreThanFail) {
  EventMaker maker(47);
  int opened = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::string bytes = framed(maker.make(false));
    for (std::uint64_t edits = 1 + maker.random().below(3); edits > 0; --edits) {
      bytes[maker.random().below(bytes.size())] = static_cast<char>(maker.random().below(256));
    }
    if (maker.random().chance(1, 8)) {
      bytes.resize(maker.random().below(bytes.size()));
    }
    const auto view = FrameView::open(bytes);
    if (view) {
      ++opened;
      std::string text;
      append_json(*view, text);
      (void)view->time();
      const auto event = decode_frame(bytes);
      if (event) {
        ASSERT_TRUE(check_event(*event));
        ASSERT_EQ(framed(*event), bytes);
      }
    }
  }
  EXPECT_GT(opened, 1'000);
}

TEST(Frame, RandomBytesAreCorrupt) {
  EventMaker maker(53);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = maker.bytes(80);
    if (bytes.size() >= 4 && maker.random().chance(1, 2)) {
      bytes.replace(0, 4, std::string("\xEF\x02\x03\x10", 4));
    }
    const auto event = decode_frame(bytes);
    ASSERT_FALSE(event);
    ASSERT_EQ(event.error().code, ErrorCode::kCorrupt);
  }
}

TEST(Frame, AnIntegerThatIsNoneStillGivesValidJson) {
  CloudEvent event = base_event();
  event.set("n", AttributeType::kInteger, "1,\"x\":2");
  event.set("z", AttributeType::kInteger, "012");
  event.set("b", AttributeType::kBoolean, "TRUE");
  EXPECT_THAT(json_of(framed(event)), HasSubstr(R"("n":"1,\"x\":2","z":"012","b":"TRUE"})"));
}

TEST(Frame, InternalAttributesNeverLeave) {
  CloudEvent event = base_event();
  event.set("empopck", "check key");
  event.set("emmqoffset", "7");
  event.set("emmqpartition", "1");
  event.set("emttl", "1000");
  const std::string text = json_of(framed(event));
  EXPECT_THAT(text, Not(HasSubstr("empopck")));
  EXPECT_THAT(text, Not(HasSubstr("emmq")));
  EXPECT_THAT(text, HasSubstr("\"emttl\":\"1000\""));
}

TEST(Frame, ADeadLetterGainsItsExtensionsAndARedriveDropsThem) {
  CloudEvent event = base_event();
  event.set("dlqmine", "the user's own");
  event.set_data(DataKind::kJson, R"({"n":3})");
  const std::string original = framed(event);
  const std::vector<Attribute> extensions = {
      {"dlqreason", AttributeType::kString, "max_attempts"},
      {"dlqattempts", AttributeType::kInteger, "6"},
      {"dlqerror", AttributeType::kString, "lease expired"},
      {"dlqtopic", AttributeType::kString, "orders"},
      {"dlqpartition", AttributeType::kInteger, "0"},
      {"dlqoffset", AttributeType::kString, "4294967296"},
      {"dlqgroup", AttributeType::kString, "billing"},
      {"dlqtime", AttributeType::kTimestamp, "2026-11-29T12:00:00.000Z"},
      {"dlqkey", AttributeType::kString, "billing/orders@1/0/4294967296/1"}};
  const std::string dead = with_extensions(FrameView::open(original).value(), extensions);
  ASSERT_TRUE(decode_frame(dead));
  EXPECT_THAT(json_of(dead), HasSubstr(R"("dlqattempts":6)"));
  EXPECT_THAT(json_of(dead), HasSubstr(R"("dlqoffset":"4294967296")"));
  JsonOptions redriven;
  redriven.drop_dlq = true;
  EXPECT_EQ(json_of(dead, redriven), json_of(original));
  const std::string again =
      with_extensions(FrameView::open(dead).value(),
                      std::vector<Attribute>{{"dlqattempts", AttributeType::kInteger, "9"}});
  EXPECT_EQ(FrameView::open(again)->attribute_count(), FrameView::open(dead)->attribute_count());
  EXPECT_EQ(FrameView::open(again)->get("dlqattempts"), "9");
}

TEST(Frame, AFullEventStillFitsTheExtensionsOfADeadLetter) {
  CloudEvent event = base_event();
  for (std::size_t i = event.attributes().size(); i < kMaxAttributes; ++i) {
    event.set("x" + std::to_string(i), "v");
  }
  const std::string dead =
      with_extensions(FrameView::open(framed(event)).value(),
                      std::vector<Attribute>{{"dlqreason", AttributeType::kString, "rejected"}});
  EXPECT_TRUE(decode_frame(dead));
  EXPECT_TRUE(parse_event(json_of(dead)));
  event.set("onemore", "v");
  EXPECT_FALSE(decode_frame(framed(event)));
}

TEST(Frame, APredicateSkipsAttributes) {
  CloudEvent event = base_event();
  event.set("secret", "x");
  JsonOptions options;
  options.skip = [](std::string_view name) { return name == "secret"; };
  EXPECT_EQ(json_of(framed(event), options), json_of(framed(base_event())));
}

TEST(Frame, AppendsToWhatIsThere) {
  std::string out = "head";
  append_frame(base_event(), out);
  EXPECT_EQ(out, "head" + framed(base_event()));
}

TEST(Frame, AnEmptyViewHasNothing) {
  const FrameView view;
  EXPECT_EQ(view.begin(), view.end());
  EXPECT_EQ(view.get("id"), "");
  EXPECT_EQ(view.data(), "");
}

}  // namespace
}  // namespace ackline::event

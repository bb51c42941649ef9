#include "ackline/event/filter.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/unit/event/event_maker.h"

namespace ackline::event {
namespace {

using testing::HasSubstr;

std::string sample_frame() {
  CloudEvent event;
  event.set("id", "7");
  event.set("source", "/shop/eu");
  event.set("type", "order.created");
  event.set_integer("count", 5);
  event.set_boolean("paid", true);
  event.set("bin", AttributeType::kBinary, std::string("\0\xFF", 2));
  std::string out;
  append_frame(event, out);
  return out;
}

FilterResult evaluate(std::string_view json, const std::string& frame = sample_frame()) {
  const auto filter = Filter::parse(json);
  EXPECT_TRUE(filter) << json << ": " << filter.error().detail;
  return filter ? filter->evaluate(FrameView::open(frame).value()) : FilterResult::kError;
}

TEST(Filter, EveryDialectMatchesAsTheSpecificationSays) {
  struct Case {
    std::string_view json;
    FilterResult want;
  };
  const Case cases[] = {
      {R"({"exact":{"type":"order.created"}})", FilterResult::kMatch},
      {R"({"exact":{"type":"order"}})", FilterResult::kNoMatch},
      {R"({"exact":{"type":"ORDER.CREATED"}})", FilterResult::kNoMatch},
      {R"({"exact":{"type":"order.created","id":"7"}})", FilterResult::kMatch},
      {R"({"exact":{"type":"order.created","id":"8"}})", FilterResult::kNoMatch},
      {R"({"exact":{"specversion":"1.0"}})", FilterResult::kMatch},
      {R"({"exact":{"subject":"x"}})", FilterResult::kNoMatch},
      {R"({"exact":{"count":"5"}})", FilterResult::kMatch},
      {R"({"exact":{"paid":"true"}})", FilterResult::kMatch},
      {R"({"exact":{"bin":"AP8="}})", FilterResult::kMatch},
      {R"({"prefix":{"type":"order."}})", FilterResult::kMatch},
      {R"({"prefix":{"type":"created"}})", FilterResult::kNoMatch},
      {R"({"suffix":{"type":".created"}})", FilterResult::kMatch},
      {R"({"suffix":{"source":"/us"}})", FilterResult::kNoMatch},
      {R"({"not":{"exact":{"type":"x"}}})", FilterResult::kMatch},
      {R"({"not":{"exact":{"type":"order.created"}}})", FilterResult::kNoMatch},
      {R"({"not":{"exact":{"subject":"x"}}})", FilterResult::kMatch},
      {R"({"all":[{"prefix":{"type":"order"}},{"suffix":{"source":"eu"}}]})", FilterResult::kMatch},
      {R"({"all":[{"prefix":{"type":"order"}},{"suffix":{"source":"us"}}]})",
       FilterResult::kNoMatch},
      {R"({"any":[{"exact":{"id":"1"}},{"exact":{"id":"7"}}]})", FilterResult::kMatch},
      {R"({"any":[{"exact":{"id":"1"}},{"exact":{"id":"2"}}]})", FilterResult::kNoMatch},
      {R"([{"prefix":{"type":"order"}},{"exact":{"id":"7"}}])", FilterResult::kMatch},
      {R"([{"prefix":{"type":"order"}},{"exact":{"id":"8"}}])", FilterResult::kNoMatch},
      {R"([])", FilterResult::kMatch},
      {R"({"exact":{"t\u0079pe":"order\u002ecreated"}})", FilterResult::kMatch},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(evaluate(each.json), each.want) << each.json;
  }
}

TEST(Filter, Invariant21AnErrorIsReportedUnlessTheRestDecides) {
  CloudEvent event;
  event.set("id", "7");
  event.set("source", "/s");
  event.set("type", "t");
  event.set("n", AttributeType::kInteger, "not a number");
  event.set("b", AttributeType::kBoolean, "perhaps");
  std::string frame;
  append_frame(event, frame);
  constexpr std::string_view kBroken = R"({"exact":{"n":"5"}})";
  constexpr std::string_view kYes = R"({"exact":{"id":"7"}})";
  constexpr std::string_view kNo = R"({"exact":{"id":"8"}})";
  const auto list = [](std::string_view dialect, std::string_view a, std::string_view b) {
    return "{\"" + std::string(dialect) + "\":[" + std::string(a) + "," + std::string(b) + "]}";
  };
  EXPECT_EQ(evaluate(kBroken, frame), FilterResult::kError);
  EXPECT_EQ(evaluate(R"({"prefix":{"b":"t"}})", frame), FilterResult::kError);
  EXPECT_EQ(evaluate(R"({"not":{"exact":{"n":"5"}}})", frame), FilterResult::kError);
  EXPECT_EQ(evaluate(list("all", kBroken, kYes), frame), FilterResult::kError);
  EXPECT_EQ(evaluate(list("all", kBroken, kNo), frame), FilterResult::kNoMatch);
  EXPECT_EQ(evaluate(list("any", kBroken, kYes), frame), FilterResult::kMatch);
  EXPECT_EQ(evaluate(list("any", kBroken, kNo), frame), FilterResult::kError);
  EXPECT_EQ(evaluate(R"({"exact":{"id":"8","n":"5"}})", frame), FilterResult::kNoMatch);
}

TEST(Filter, EveryBadFilterHasItsWordAndItsPlace) {
  struct Case {
    std::string json;
    std::string_view word;
    std::string_view field;
  };
  const Case cases[] = {
      {"", "bad_json", "filter"},
      {"{", "bad_json", "filter"},
      {"\"\xFF\"", "bad_utf8", "filter"},
      {"5", "bad_value", "filter"},
      {"null", "bad_value", "filter"},
      {"{}", "bad_value", "filter"},
      {"[5]", "bad_value", "filter[0]"},
      {"[[]]", "bad_value", "filter[0]"},
      {R"({"exakt":{"type":"x"}})", "unknown_field", "exakt"},
      {R"({"exact":{"type":"x"},"prefix":{"type":"y"}})", "bad_value", "filter"},
      {R"({"exact":{"type":"x"},"exact":{"type":"y"}})", "duplicate_key", "filter"},
      {R"({"exact":{"type":"x","type":"y"}})", "duplicate_key", "filter.exact"},
      {R"({"exact":5})", "bad_value", "filter.exact"},
      {R"({"exact":{}})", "bad_value", "filter.exact"},
      {R"({"exact":{"type":5}})", "bad_value", "filter.exact.type"},
      {R"({"exact":{"type":""}})", "bad_value", "filter.exact.type"},
      {R"({"exact":{"Type":"x"}})", "bad_value", "filter.exact"},
      {R"({"prefix":{"type":"\ud800"}})", "bad_value", "filter.prefix.type"},
      {R"({"all":[]})", "bad_value", "filter.all"},
      {R"({"any":{}})", "bad_value", "filter.any"},
      {R"({"all":[{"exact":{"id":"1"}},{"any":[7]}]})", "bad_value", "filter.all[1].any[0]"},
      {R"({"not":[]})", "bad_value", "filter.not"},
      {R"({"not":{}})", "bad_value", "filter.not"},
      {R"({"sql":"type = 'x'"})", "unsupported", "filter.sql"},
      {R"({"not":{"sql":"true"}})", "unsupported", "filter.not.sql"},
  };
  for (const Case& bad : cases) {
    const auto filter = Filter::parse(bad.json);
    ASSERT_FALSE(filter) << bad.json;
    EXPECT_EQ(filter.error().word(), bad.word) << bad.json << ": " << filter.error().detail;
    EXPECT_EQ(filter.error().field, bad.field) << bad.json;
  }
  EXPECT_EQ(Filter::parse(R"({"exakt":{"type":"x"}})").error().remedy, "Did you mean exact?");
  EXPECT_THAT(Filter::parse(R"({"sql":""})").error().detail, HasSubstr("sql"));
}

TEST(Filter, DepthAndSizeAreLimited) {
  const auto nested = [](std::size_t depth) {
    std::string text = R"({"exact":{"id":"7"}})";
    for (std::size_t i = 1; i < depth; ++i) {
      text = R"({"not":)" + text + "}";
    }
    return text;
  };
  EXPECT_TRUE(Filter::parse(nested(kMaxFilterDepth)));
  EXPECT_EQ(Filter::parse(nested(kMaxFilterDepth + 1)).error().word(), "bad_value");
  std::string wide = "[";
  for (std::size_t i = 0; i < kMaxFilterNodes; ++i) {
    wide += (i > 0 ? "," : "") + std::string(R"({"exact":{"id":"7"}})");
  }
  EXPECT_EQ(Filter::parse(wide + "]").error().word(), "bad_value");
  EXPECT_EQ(Filter::parse(R"({"exact":{"id":")" + std::string(kMaxFilterBytes, 'x') + "\"}}")
                .error()
                .word(),
            "bad_value");
}

TEST(Filter, TheCanonicalTextComparesFilters) {
  const auto text = [](std::string_view json) { return Filter::parse(json)->to_json(); };
  EXPECT_EQ(text(R"( { "exact" : { "type":"x" , "id":"7" } } )"),
            R"({"exact":{"id":"7","type":"x"}})");
  EXPECT_EQ(text(R"([{"exact":{"type":"x"}}])"), R"({"exact":{"type":"x"}})");
  EXPECT_EQ(text(" [ ] "), "[]");
  EXPECT_TRUE(Filter::parse("[]")->matches_everything());
  EXPECT_EQ(Filter().to_json(), "[]");
  EXPECT_EQ(text(R"([{"not":{"any":[{"prefix":{"type":"a\u002f"}}]}},{"suffix":{"id":"\""}}])"),
            R"([{"not":{"any":[{"prefix":{"type":"a/"}}]}},{"suffix":{"id":"\""}}])");
  EXPECT_EQ(Filter::parse(R"({"exact":{"id":"7","type":"x"}})").value(),
            Filter::parse(R"([{"exact":{"type":"x","id":"7"}}])").value());
  EXPECT_FALSE(*Filter::parse(R"({"exact":{"id":"7"}})") ==
               *Filter::parse(R"({"prefix":{"id":"7"}})"));
}

std::string random_filter(EventMaker& maker, int depth) {
  constexpr std::string_view kNames[] = {"id", "type", "source", "subject", "count", "paid"};
  constexpr std::string_view kValues[] = {"7",    "order", "order.created", "/shop", "eu",
                                          "true", "5"};
  constexpr std::string_view kLeaves[] = {"exact", "prefix", "suffix"};
  Random& random = maker.random();
  if (depth == 0 || random.chance(1, 3)) {
    return "{\"" + std::string(kLeaves[random.below(3)]) + "\":{\"" +
           std::string(kNames[random.below(6)]) + "\":\"" + std::string(kValues[random.below(7)]) +
           "\"}}";
  }
  if (random.chance(1, 3)) {
    return "{\"not\":" + random_filter(maker, depth - 1) + "}";
  }
  std::string out = random.chance(1, 2) ? "{\"all\":[" : "{\"any\":[";
  for (std::uint64_t i = 0, count = 1 + random.below(3); i < count; ++i) {
    out += (i > 0 ? "," : "") + random_filter(maker, depth - 1);
  }
  return out + "]}";
}

TEST(Filter, TheCanonicalTextIsTheSameFilterAndNotNegates) {
  EventMaker maker(61);
  const std::string frame = sample_frame();
  const FrameView view = FrameView::open(frame).value();
  int matched = 0;
  for (int i = 0; i < 3'000; ++i) {
    const std::string json = random_filter(maker, 4);
    const auto filter = Filter::parse(json);
    ASSERT_TRUE(filter) << json << ": " << filter.error().detail;
    ASSERT_EQ(filter->to_json(), json);
    ASSERT_EQ(Filter::parse(filter->to_json()).value(), *filter);
    const auto opposite = Filter::parse("{\"not\":" + json + "}");
    ASSERT_NE(filter->evaluate(view), opposite->evaluate(view)) << json;
    matched += filter->evaluate(view) == FilterResult::kMatch ? 1 : 0;
  }
  EXPECT_GT(matched, 300);
}

TEST(Filter, MutilatedTextNeverDoesMoreThanFail) {
  EventMaker maker(67);
  for (int i = 0; i < 20'000; ++i) {
    std::string json = random_filter(maker, 3);
    json[maker.random().below(json.size())] = static_cast<char>(maker.random().below(256));
    const auto filter = Filter::parse(json);
    if (filter) {
      ASSERT_EQ(Filter::parse(filter->to_json()).value(), *filter) << json;
    }
  }
}

}  // namespace
}  // namespace ackline::event

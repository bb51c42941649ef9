#include <gmock/gmock.h>

#include "ackline/event/frame.h"
#include "tests/support/api/api_driver.h"

namespace ackline::api {
namespace {

using namespace std::string_literals;
using testing::Answer;
using testing::ApiDriver;
using testing::event_json;
using ::testing::HasSubstr;

TEST(Publish, StructuredEventIsAcceptedWithItsPlace) {
  ApiDriver api;
  const Answer answer = api.publish(event_json(R"(,"partitionkey":"k7","data":{"n":1})"));
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(answer.body, R"({"status":"accepted","topic":"orders","partition":0,"offset":7})");
  ASSERT_EQ(api.traffic.published.size(), 1U);
  const PublishRequest& request = api.traffic.published[0];
  EXPECT_EQ(request.topic, "orders");
  EXPECT_FALSE(request.partition);
  EXPECT_EQ(request.events.at(0).partition_key, "k7");
  const auto frame = event::FrameView::open(request.events[0].frame);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->get("type"), "order.created");
  EXPECT_EQ(frame->data(), R"({"n":1})");
}

TEST(Publish, PartitionOfTheQueryIsHandedOn) {
  ApiDriver api;
  EXPECT_EQ(api.publish(event_json(), "application/cloudevents+json", "topic=orders&partition=2")
                .at("/partition"),
            "2");
  EXPECT_EQ(api.traffic.published[0].partition, 2U);
}

TEST(Publish, BinaryModeReadsHeaders) {
  ApiDriver api;
  const Answer answer =
      api.ask(http::ListenerKind::kTraffic, "POST", "/events/publish?topic=orders", R"({"n":1})",
              {{"Content-Type", "application/json"},
               {"ce-specversion", "1.0"},
               {"ce-id", "1"},
               {"ce-source", "/shop"},
               {"ce-type", "t"},
               {"ce-partitionkey", "k"}});
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(api.traffic.published.at(0).events.at(0).partition_key, "k");
}

TEST(Publish, PlainJsonIsOneEventOrABatch) {
  ApiDriver api;
  EXPECT_EQ(api.publish(event_json(), "application/json").at("/offset"), "7");
  const Answer batch =
      api.publish("[" + event_json() + "," + event_json() + "]", "application/json; charset=utf-8");
  EXPECT_EQ(batch.status, 202);
  EXPECT_EQ(batch.at("/status"), "accepted");
  EXPECT_EQ(batch.at("/results/1/offset"), "8");
}

TEST(Publish, OneBadEventSpoilsOnlyItself) {
  ApiDriver api;
  const std::string bad = R"({"specversion":"1.0","id":"2","type":"t"})";
  const Answer answer =
      api.publish("[" + bad + "," + event_json() + "]", "application/cloudevents-batch+json");
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(answer.at("/status"), "partial");
  EXPECT_EQ(answer.at("/accepted"), "1");
  EXPECT_EQ(answer.at("/rejected"), "1");
  EXPECT_EQ(answer.at("/results/0/error"), "missing_attribute");
  EXPECT_EQ(answer.at("/results/0/attribute"), "source");
  EXPECT_EQ(answer.at("/results/1/index"), "1");
  EXPECT_EQ(answer.at("/results/1/offset"), "7");
}

TEST(Publish, BatchWithNothingGoodHasTheStatusOfItsFirstError) {
  ApiDriver api;
  const Answer answer = api.post("/events/publish-batch?topic=orders", R"([{"id":"1"},3])");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error(), "missing_attribute");
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  EXPECT_EQ(answer.at("/accepted"), "0");
  EXPECT_EQ(answer.at("/rejected"), "2");
  EXPECT_EQ(answer.at("/results/1/error"), "bad_json");
  EXPECT_TRUE(api.traffic.published.empty());
}

TEST(Publish, BatchThatTheLogRefusesIsThatProblem) {
  ApiDriver api;
  api.traffic.on_publish = [](const PublishRequest& request) {
    return PublishResults(request.events.size(),
                          fail(ErrorCode::kFull, "the disk is full", "Free some space."));
  };
  const Answer answer = api.publish("[" + event_json() + "]", "application/json");
  EXPECT_EQ(answer.status, 507);
  EXPECT_EQ(answer.at("/results/0/error"), "full");
  EXPECT_EQ(api.publish(event_json()).status, 507);
}

TEST(Publish, WholeRefusalIsAProblemWithRetryAfter) {
  ApiDriver api;
  api.traffic.on_publish = [](const PublishRequest&) -> Result<PublishResults> {
    return fail(ErrorCode::kDraining, "the server is draining", "Go elsewhere.");
  };
  const Answer answer = api.publish(event_json());
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.error(), "draining");
  EXPECT_EQ(answer.header("retry-after"), "1");
  EXPECT_EQ(api.publish("[" + event_json() + "]", "application/json").error(), "draining");
}

TEST(Publish, BadTopicNamesAreNamed) {
  ApiDriver api;
  for (const std::string& name : {"a%23b"s, "a%2Fb"s, "a%40b"s, "a%20b"s, "a+b"s, "orders_DLQ"s,
                                  std::string(124, 'a'), "."s, ".."s, ""s, "t%C3%A4"s, "a%0Ab"s}) {
    const Answer answer =
        api.publish(event_json(), "application/cloudevents+json", "topic=" + name);
    EXPECT_EQ(answer.status, 400) << name;
    EXPECT_EQ(answer.error(), "bad_name") << name;
    EXPECT_EQ(answer.at("/field"), "topic") << name;
    EXPECT_NE(answer.at("/remedy"), "<none>") << name;
  }
  EXPECT_TRUE(api.traffic.published.empty());
  EXPECT_EQ(
      api.publish(event_json(), "application/cloudevents+json", "topic=" + std::string(123, 'a'))
          .status,
      202);
}

struct BadEvent {
  std::string body;
  std::string word;
  std::string field;
};
TEST(Publish, BadEventsAreToldApart) {
  const std::vector<BadEvent> cases = {
      {R"({"specversion":"1.0","source":"/s","type":"t"})", "missing_attribute", "id"},
      {R"({"specversion":"1.0","id":"1","type":"t"})", "missing_attribute", "source"},
      {R"({"specversion":"1.0","id":"1","source":"/s"})", "missing_attribute", "type"},
      {event_json(R"(,"time":"yesterday")"), "bad_attribute", "time"},
      {event_json(",\"subject\":\"\xff\""), "bad_utf8", ""},
      {event_json(R"(,"id":"2")"), "duplicate_key", "id"},
      {event_json(R"(,"ext":1.5)"), "bad_attribute", "ext"},
      {event_json(R"(,"Bad-Name":"x")"), "bad_attribute", ""},
      {"{", "bad_json", ""},
      {"", "bad_json", ""},
      {"3", "bad_json", ""},
      {"[]x", "bad_json", ""},
  };
  ApiDriver api;
  for (const BadEvent& one : cases) {
    const Answer answer = api.publish(one.body);
    EXPECT_EQ(answer.status, 400) << one.body;
    EXPECT_EQ(answer.error(), one.word) << one.body;
    if (!one.field.empty()) {
      EXPECT_EQ(answer.at("/field"), one.field) << one.body;
    }
  }
  EXPECT_TRUE(api.traffic.published.empty());
}

TEST(Publish, BatchesOfNoneOrTooManyAreRefusedWhole) {
  ApiDriver api;
  EXPECT_EQ(api.publish("[]", "application/json").error(), "bad_value");
  std::string many = "[" + event_json();
  for (int i = 0; i < 1000; ++i) {
    many += "," + event_json();
  }
  const Answer answer = api.publish(many + "]", "application/cloudevents-batch+json");
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.error(), "too_large");
  EXPECT_THAT(answer.at("/detail"), HasSubstr("1000"));
  EXPECT_TRUE(api.traffic.published.empty());
}

TEST(Publish, EventOverTheLimitIsTooLargeAndSaysTheLimit) {
  ApiDriver api;
  const Answer answer =
      api.publish(event_json(R"(,"data":")" + std::string(1U << 20U, 'x') + "\""));
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(answer.at("/detail"), HasSubstr("1048576"));
}

TEST(Publish, OtherMediaTypesAreRefused) {
  ApiDriver api;
  EXPECT_EQ(api.publish(event_json(), "text/plain").status, 415);
  EXPECT_EQ(api.publish(event_json(), "").error(), "media_type");
  EXPECT_EQ(
      api.post("/events/publish-batch?topic=orders", event_json(), "application/cloudevents+json")
          .error(),
      "media_type");
  EXPECT_EQ(api.post("/events/publish-batch?topic=orders", event_json()).error(), "bad_json");
}

TEST(Publish, ParametersAreChecked) {
  ApiDriver api;
  const auto with = [&](const std::string& query) {
    return api.publish(event_json(), "application/cloudevents+json", query);
  };
  EXPECT_EQ(with("").error(), "missing_field");
  const Answer unknown = with("topic=orders&partitoin=1");
  EXPECT_EQ(unknown.error(), "unknown_field");
  EXPECT_THAT(unknown.body, HasSubstr("partition"));
  for (const char* bad : {"-1", "99999999999999999999", "1.5", "x", "", "4294967295", "0x1"}) {
    const Answer answer = with("topic=orders&partition=" + std::string(bad));
    EXPECT_EQ(answer.error(), "bad_value") << bad;
    EXPECT_EQ(answer.at("/field"), "partition") << bad;
  }
  EXPECT_EQ(with("topic=orders&topic=other").error(), "duplicate_key");
}

}  // namespace
}  // namespace ackline::api

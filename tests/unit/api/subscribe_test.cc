#include <gmock/gmock.h>

#include "tests/support/api/api_driver.h"

namespace ackline::api {
namespace {

using testing::Answer;
using testing::ApiDriver;
using ::testing::HasSubstr;

constexpr std::string_view kPath = "/events/subscribe";

TEST(Subscribe, WholeRequestReachesTheRuntime) {
  ApiDriver api;
  const Answer answer = api.post(
      kPath,
      R"({"clientId":"c1","topic":"orders","mode":"CLUSTERING","group":"billing",)"
      R"("partitions":[1,0,1],)"
      R"("start":"earliest","filter":{"exact":{"type":"order.created"}},"ordering":"key",)"
      R"("maxInFlight":1000,"maxInFlightBytes":67108864,"ackTimeoutMs":30000,"maxLeaseMs":600000,)"
      R"("maxAttempts":6,"backoffMs":[1000,2000],"deadLetterExpired":false})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body,
            R"({"subscriptionId":"s-1f0c","clientId":"c1","topic":"orders","group":"billing",)"
            R"("mode":"CLUSTERING","created":true,"start":{"0":0},)"
            R"("instanceUrl":"http://127.0.0.1:10105"})");
  const SubscribeRequest& request = api.traffic.subscribed.at(0);
  EXPECT_EQ(request.partitions, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(std::holds_alternative<Earliest>(*request.start));
  EXPECT_EQ(request.filter_json, R"({"exact":{"type":"order.created"}})");
  EXPECT_EQ(request.ordering, delivery::Ordering::kKey);
  EXPECT_EQ(request.max_in_flight, 1000U);
  EXPECT_EQ(request.backoff_ms, (std::vector<std::int64_t>{1000, 2000}));
  EXPECT_EQ(request.dead_letter_expired, false);
}

TEST(Subscribe, LeftOutAndNullStayUnset) {
  ApiDriver api;
  EXPECT_EQ(api.post(kPath, R"({"clientId":"c1","topic":"orders","filter":null,"group":null})")
                .at("/group"),
            "default");
  const SubscribeRequest& request = api.traffic.subscribed.at(0);
  EXPECT_FALSE(request.mode || request.start || request.filter_json || request.group ||
               request.max_attempts || request.ack_timeout_ms);
}

TEST(Subscribe, OldNamesOfModesAreUnderstood) {
  ApiDriver api;
  (void)api.post(kPath, R"({"clientId":"c1","topic":"t","mode":"LOAD_BALANCE"})");
  const Answer answer = api.post(kPath, R"({"clientId":"c1","topic":"t","mode":"BROADCAST"})");
  EXPECT_EQ(answer.at("/mode"), "BROADCASTING");
  EXPECT_EQ(api.traffic.subscribed[0].mode, delivery::Mode::kClustering);
}

TEST(Subscribe, EveryKindOfPositionIsRead) {
  ApiDriver api;
  const auto start = [&](const std::string& position) {
    const Answer answer =
        api.post(kPath, R"({"clientId":"c1","topic":"t","start":)" + position + "}");
    EXPECT_EQ(answer.status, 200) << answer.body;
    return *api.traffic.subscribed.back().start;
  };
  EXPECT_TRUE(std::holds_alternative<Latest>(start("\"latest\"")));
  EXPECT_EQ(std::get<AtOffsets>(start(R"({"offset":5})")).all, Offset(5));
  EXPECT_EQ(std::get<AtOffsets>(start(R"({"offsets":{"2":7}})")).some.at(2), Offset(7));
  EXPECT_EQ(std::get<AtTime>(start(R"({"time":"1970-01-01T00:00:01Z"})")).time, WallMs(1000));
}

TEST(Subscribe, AnEmptyFilterMatchesEverything) {
  ApiDriver api;
  (void)api.post(kPath, R"({"clientId":"c1","topic":"t","filter":[]})");
  EXPECT_EQ(api.traffic.subscribed.at(0).filter_json, "");
}

struct Bad {
  std::string members;  // after clientId and topic
  std::string word;
  std::string field;
  int status = 400;
};
TEST(Subscribe, BadFieldsAreNamed) {
  const std::vector<Bad> cases = {
      {R"(,"mode":"CLUSTER")", "bad_value", "mode"},
      {R"(,"mode":5)", "bad_value", "mode"},
      {R"(,"mode":"A2A_DISPATCH")", "unsupported", "mode", 501},
      {R"(,"webhook":{"url":"http://x"})", "unsupported", "webhook", 501},
      {R"(,"filter":{"sql":"a=1"})", "unsupported", "", 501},
      {R"(,"filter":{"exakt":{}})", "unknown_field", ""},
      {R"(,"filter":3)", "bad_value", "filter"},
      {R"(,"group":"a/b")", "bad_name", "group"},
      {R"(,"group":"")", "bad_name", "group"},
      {R"(,"mode":"BROADCASTING","group":"g")", "bad_value", "group"},
      {R"(,"maxAttempts":-3)", "bad_value", "maxAttempts"},
      {R"(,"maxAttempts":0)", "bad_value", "maxAttempts"},
      {R"(,"maxAttempts":1001)", "bad_value", "maxAttempts"},
      {R"(,"maxAttempts":"6")", "bad_value", "maxAttempts"},
      {R"(,"maxAttempts":6.0)", "bad_value", "maxAttempts"},
      {R"(,"maxAttempts":99999999999999999999)", "bad_value", "maxAttempts"},
      {R"(,"ackTimeoutMs":0)", "bad_value", "ackTimeoutMs"},
      {R"(,"ackTimeoutMs":5000,"maxLeaseMs":1000)", "bad_value", "maxLeaseMs"},
      {R"(,"maxInFlight":0)", "bad_value", "maxInFlight"},
      {R"(,"backoffMs":[])", "bad_value", "backoffMs"},
      {R"(,"backoffMs":[1,-1])", "bad_value", "backoffMs[1]"},
      {R"(,"backoffMs":1000)", "bad_value", "backoffMs"},
      {R"(,"partitions":[-1])", "bad_value", "partitions[0]"},
      {R"(,"partitions":[])", "bad_value", "partitions"},
      {R"(,"start":"sometime")", "bad_value", "start"},
      {R"(,"start":{"offset":-1})", "bad_value", "start.offset"},
      {R"(,"start":{"offset":1,"time":"1970-01-01T00:00:00Z"})", "bad_value", "start"},
      {R"(,"start":{})", "bad_value", "start"},
      {R"(,"start":{"offsets":{"x":1}})", "bad_value", "start.offsets"},
      {R"(,"start":{"offsets":{"0":1,"0":2}})", "duplicate_key", "start.offsets"},
      {R"(,"start":{"time":"noon"})", "bad_value", "start.time"},
      {R"(,"deadLetterExpired":"yes")", "bad_value", "deadLetterExpired"},
      {R"(,"ordering":"strict")", "bad_value", "ordering"},
      {R"(,"ordernig":"key")", "unknown_field", "ordernig"},
      {R"(,"topic":"other")", "duplicate_key", "topic"},
  };
  ApiDriver api;
  for (const Bad& one : cases) {
    const Answer answer =
        api.post(kPath, R"({"clientId":"c1","topic":"orders")" + one.members + "}");
    EXPECT_EQ(answer.status, one.status) << one.members << answer.body;
    EXPECT_EQ(answer.error(), one.word) << one.members << answer.body;
    if (!one.field.empty()) {
      EXPECT_EQ(answer.at("/field"), one.field) << one.members;
    }
  }
  EXPECT_TRUE(api.traffic.subscribed.empty());
}

TEST(Subscribe, ProblemSaysTheRangeAndTheNearestName) {
  ApiDriver api;
  const Answer range = api.post(kPath, R"({"clientId":"c1","topic":"t","maxAttempts":-3})");
  EXPECT_EQ(range.body, R"({"type":"urn:ackline:error:bad_value","title":"Bad value","status":400,)"
                        R"("error":"bad_value","field":"maxAttempts",)"
                        R"("detail":"maxAttempts is -3; allowed are 1 to 1000",)"
                        R"("remedy":"Leave it out for the default of 6."})");
  EXPECT_THAT(api.post(kPath, R"({"clientID":"c1","topic":"t"})").body, HasSubstr("clientId"));
}

TEST(Subscribe, BodiesThatAreNoObjectAreToldApart) {
  ApiDriver api;
  EXPECT_EQ(api.post(kPath, "").error(), "bad_json");
  EXPECT_EQ(api.post(kPath, "[]").error(), "bad_json");
  EXPECT_EQ(api.post(kPath, "{\"clientId\":").error(), "bad_json");
  EXPECT_EQ(api.post(kPath, "{\"clientId\":\"\xff\"}").error(), "bad_utf8");
  EXPECT_EQ(api.post(kPath, R"({"clientId":"\ud800","topic":"t"})").error(), "bad_utf8");
  EXPECT_EQ(api.post(kPath, R"({"topic":"t"})").error(), "missing_field");
  EXPECT_EQ(api.post(kPath, R"({"clientId":null,"topic":"t"})").at("/field"), "clientId");
  EXPECT_EQ(api.post(kPath, R"({"clientId":"c1"})").at("/field"), "topic");
  EXPECT_EQ(api.post(kPath, R"({"clientId":"c 1","topic":"t"})").error(), "bad_name");
  EXPECT_EQ(api.post(kPath, R"({"clientId":"c","topic":"t_DLQ"})").error(), "bad_name");
  EXPECT_EQ(api.post(kPath, "{}", "application/x-www-form-urlencoded").error(), "media_type");
  EXPECT_EQ(api.post("/events/subscribe?topic=t", "{}").error(), "unknown_field");
}

TEST(Subscribe, ConflictShowsBothPolicies) {
  ApiDriver api;
  api.traffic.on_subscribe = [](const SubscribeRequest& request) {
    Subscribed answer;
    answer.topic = request.topic;
    answer.group = "billing";
    answer.conflicts.push_back({"maxAttempts", "6", "9"});
    answer.conflicts.push_back({"filter", "", R"({"exact":{"type":"x"}})"});
    return answer;
  };
  const Answer answer = api.post(kPath, R"({"clientId":"c1","topic":"t","maxAttempts":9})");
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.error(), "group_conflict");
  EXPECT_EQ(answer.at("/conflicts/0"), R"({"key":"maxAttempts","have":6,"want":9})");
  EXPECT_EQ(answer.at("/conflicts/1/have"), "null");
}

TEST(Unsubscribe, TopicIsOptional) {
  ApiDriver api;
  EXPECT_EQ(api.post("/events/unsubscribe", R"({"clientId":"c1","topic":"orders"})").body,
            R"({"removed":true,"topics":["orders"]})");
  EXPECT_EQ(api.post("/events/unsubscribe", R"({"clientId":"c1"})").status, 200);
  EXPECT_FALSE(api.traffic.unsubscribed[1].second);
  EXPECT_EQ(api.post("/events/unsubscribe", R"({})").error(), "missing_field");
}

}  // namespace
}  // namespace ackline::api

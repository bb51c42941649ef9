#include <gmock/gmock.h>

#include "tests/support/api/api_driver.h"

namespace ackline::api {
namespace {

using delivery::SettleStatus;
using delivery::Verb;
using testing::Answer;
using testing::ApiDriver;
using ::testing::HasSubstr;

TEST(Settle, OneIdAnswersItsStatus) {
  ApiDriver api;
  EXPECT_EQ(api.post("/events/ack", R"({"clientId":"c1","deliveryId":"d-1"})").body,
            R"({"status":"acked","deliveryId":"d-1"})");
  EXPECT_EQ(api.traffic.settled[0].verb, Verb::kAck);
  api.traffic.on_settle = [](const SettleCall& call) {
    return SettleResults{Settled{
        call.verb == Verb::kExtend ? SettleStatus::kExtended : SettleStatus::kAlready, 17'600}};
  };
  EXPECT_EQ(api.post("/events/extend", R"({"clientId":"c1","deliveryId":"d","extendMs":5})").body,
            R"({"status":"extended","deliveryId":"d","leaseMs":17600})");
  EXPECT_EQ(api.traffic.settled[1].extend_ms, 5);
  EXPECT_EQ(api.post("/events/nack", R"({"clientId":"c1","deliveryId":"d","delayMs":0})").body,
            R"({"status":"already","deliveryId":"d"})");
  EXPECT_EQ(api.traffic.settled[2].delay_ms, 0);
  (void)api.post("/events/reject", R"({"clientId":"c1","deliveryId":"d","reason":"bad price"})");
  EXPECT_EQ(api.traffic.settled[3].reason, "bad price");
  EXPECT_EQ(api.traffic.settled[3].verb, Verb::kReject);
}

TEST(Settle, ManyIdsAnswerEachInOrderWithStatus200) {
  ApiDriver api;
  api.traffic.on_settle = [](const SettleCall&) {
    return SettleResults{Settled{SettleStatus::kAcked, 0}, Settled{SettleStatus::kAlready, 0},
                         fail(ErrorCode::kStale, "offered again"),
                         fail(ErrorCode::kSettled, "it is dead", "", "jobs_DLQ:0:17")};
  };
  const Answer answer =
      api.post("/events/ack", R"({"clientId":"c1","deliveryIds":["a","b","c","d"]})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body,
            R"({"acked":2,"failed":2,"results":[{"deliveryId":"a","status":"acked"},)"
            R"({"deliveryId":"b","status":"already"},)"
            R"({"deliveryId":"c","status":"error","error":"stale","detail":"offered again"},)"
            R"({"deliveryId":"d","status":"error","error":"settled","entry":"jobs_DLQ:0:17",)"
            R"("detail":"it is dead"}]})");
}

TEST(Settle, EachVerbCountsUnderItsOwnWord) {
  ApiDriver api;
  const std::string body = R"({"clientId":"c1","deliveryIds":["a"]})";
  EXPECT_EQ(api.post("/events/nack", body).at("/nacked"), "1");
  EXPECT_EQ(api.post("/events/reject", body).at("/rejected"), "1");
  EXPECT_EQ(api.post("/events/extend", body).at("/extended"), "1");
}

struct Failure {
  ErrorCode code;
  int status;
};
TEST(Settle, EveryFailureOfOneIdIsItsProblem) {
  ApiDriver api;
  for (const Failure& one :
       {Failure{ErrorCode::kDeliveryUnknown, 404}, Failure{ErrorCode::kNotOwner, 403},
        Failure{ErrorCode::kStale, 409}, Failure{ErrorCode::kFenced, 409},
        Failure{ErrorCode::kSettled, 409}, Failure{ErrorCode::kLeaseLimit, 409},
        Failure{ErrorCode::kUnavailable, 503}, Failure{ErrorCode::kPoisoned, 503},
        Failure{ErrorCode::kQuarantined, 503}, Failure{ErrorCode::kOwnerElsewhere, 503},
        Failure{ErrorCode::kFull, 507}}) {
    api.traffic.on_settle = [&](const SettleCall&) {
      return SettleResults{fail(one.code, "because", "do this", "jobs_DLQ:0:17")};
    };
    const Answer answer = api.post("/events/ack", R"({"clientId":"c1","deliveryId":"d"})");
    EXPECT_EQ(answer.status, one.status);
    EXPECT_EQ(answer.error(), error_word(one.code));
    EXPECT_EQ(answer.header("retry-after").empty(), one.status != 503);
    const bool settled = one.code == ErrorCode::kSettled;
    EXPECT_EQ(answer.at("/entry"), settled ? "jobs_DLQ:0:17" : "<none>");
  }
}

TEST(Settle, BadRequestsAreNamed) {
  struct Bad {
    std::string verb;
    std::string body;
    std::string word;
    std::string field;
  };
  const std::string two = R"({"clientId":"c1","deliveryId":"d")";
  std::string many = R"({"clientId":"c1","deliveryIds":["a")";
  for (int i = 0; i < 1000; ++i) {
    many += ",\"a\"";
  }
  const std::vector<Bad> cases = {
      {"ack", "", "bad_json", ""},
      {"ack", "[]", "bad_json", ""},
      {"ack", R"({"deliveryId":"d"})", "missing_field", "clientId"},
      {"ack", R"({"clientId":"c1"})", "missing_field", "deliveryId"},
      {"ack", two + R"(,"deliveryIds":["e"]})", "bad_value", "deliveryIds"},
      {"ack", R"({"clientId":"c1","deliveryIds":[]})", "bad_value", "deliveryIds"},
      {"ack", R"({"clientId":"c1","deliveryIds":[1]})", "bad_value", "deliveryIds[0]"},
      {"ack", R"({"clientId":"c1","deliveryIds":"d"})", "bad_value", "deliveryIds"},
      {"ack", R"({"clientId":"c1","deliveryId":7})", "bad_value", "deliveryId"},
      {"ack", many + "]}", "bad_value", "deliveryIds"},
      {"ack", two + R"(,"delayMs":1})", "unknown_field", "delayMs"},
      {"ack", two + R"(,"deliveryId":"d"})", "duplicate_key", "deliveryId"},
      {"nack", two + R"(,"delayMs":-1})", "bad_value", "delayMs"},
      {"nack", two + R"(,"delayMs":86400001})", "bad_value", "delayMs"},
      {"nack", two + R"(,"reason":3})", "bad_value", "reason"},
      {"reject", two + R"(,"reason":")" + std::string(1025, 'x') + "\"}", "bad_value", "reason"},
      {"extend", two + R"(,"extendMs":0})", "bad_value", "extendMs"},
      {"extend", two + R"(,"extendMs":1e3})", "bad_value", "extendMs"},
  };
  ApiDriver api;
  for (const Bad& one : cases) {
    const Answer answer = api.post("/events/" + one.verb, one.body);
    EXPECT_EQ(answer.status, 400) << one.body;
    EXPECT_EQ(answer.error(), one.word) << one.body;
    if (!one.field.empty()) {
      EXPECT_EQ(answer.at("/field"), one.field) << one.body;
    }
  }
  EXPECT_TRUE(api.traffic.settled.empty());
}

TEST(Settle, GarbageIdsGoToTheRuntimeWhichKnowsNoneOfThem) {
  ApiDriver api;
  for (const std::string& id : {std::string(), std::string(5000, 'a'), std::string("../../etc"),
                                std::string("\\u0000"), std::string("ü")}) {
    EXPECT_EQ(api.post("/events/ack", R"({"clientId":"c1","deliveryId":")" + id + "\"}").status,
              200)
        << id;
  }
  EXPECT_EQ(api.traffic.settled[3].delivery_ids[0], std::string(1, '\0'));
}

}  // namespace
}  // namespace ackline::api

#include <gmock/gmock.h>

#include "ackline/event/frame.h"
#include "tests/support/api/api_driver.h"

namespace ackline::api {
namespace {

using testing::Answer;
using testing::ApiDriver;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::Wire;

channel::Delivery delivery_of(const std::string& frame) {
  channel::Delivery delivery;
  delivery.delivery_id = "1k3v8z-9f2c-42";
  delivery.topic = "orders";
  delivery.group = "billing";
  delivery.offset = Offset(3);
  delivery.max_attempts = 6;
  delivery.lease_ms = 30'000;
  delivery.frame = as_bytes(frame);
  return delivery;
}

std::string frame_of() {
  event::CloudEvent event;
  event.set("id", "3");
  event.set("source", "/shop");
  event.set("type", "order.created");
  std::string frame;
  event::append_frame(event, frame);
  return frame;
}

TEST(Poll, AnswersABareArray) {
  ApiDriver api;
  const std::string frame = frame_of();
  api.traffic.on_poll = [&] { return std::vector{delivery_of(frame)}; };
  const Answer answer = api.get("/events/poll?clientId=c1&max=5&timeoutMs=100");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.at("/0/deliveryId"), "1k3v8z-9f2c-42");
  EXPECT_EQ(answer.at("/0/event/id"), "3");
  EXPECT_EQ(api.traffic.polls[0].max, 5U);
  EXPECT_EQ(api.traffic.polls[0].timeout_ms, 100);
  api.traffic.on_poll = [] { return std::vector<channel::Delivery>(); };
  EXPECT_EQ(api.get("/events/poll?clientId=c1").body, "[]");
  EXPECT_EQ(api.traffic.polls[1].max, 100U);
}

TEST(Deliveries, TheCallersAddressComesFromTheConnection) {
  constexpr std::string_view kRemote = "192.0.2.1:4711";
  ApiDriver api;
  api.traffic.on_poll = [] { return std::vector<channel::Delivery>(); };
  static_cast<void>(api.get("/events/poll?clientId=c1"));
  EXPECT_EQ(api.traffic.polls.at(0).caller.remote, kRemote);
  Wire wire = api.wire();
  wire.send(ApiDriver::request("GET", "/events/stream?clientId=c1", "", {}));
  EXPECT_EQ(api.traffic.streams.at(0).caller.remote, kRemote);
  static_cast<void>(api.post("/events/subscribe", R"({"clientId":"c1","topic":"t"})"));
  EXPECT_EQ(api.traffic.subscribed.at(0).caller.remote, kRemote);
  static_cast<void>(api.post("/events/ack", R"({"clientId":"c1","deliveryId":"x"})"));
  EXPECT_EQ(api.traffic.settled.at(0).caller.remote, kRemote);
}

TEST(Poll, ErrorsAreProblems) {
  ApiDriver api;
  api.traffic.on_poll = []() -> Result<std::vector<channel::Delivery>> {
    return fail(ErrorCode::kStreamOpen, "c1 has a stream open", "Close it.");
  };
  EXPECT_EQ(api.get("/events/poll?clientId=c1").status, 409);
  EXPECT_EQ(api.get("/events/poll").error(), "missing_field");
  EXPECT_EQ(api.get("/events/poll?clientId=").error(), "bad_name");
  EXPECT_EQ(api.get("/events/poll?clientId=c1&max=0").error(), "bad_value");
  EXPECT_EQ(api.get("/events/poll?clientId=c1&max=1001").error(), "bad_value");
  EXPECT_EQ(api.get("/events/poll?clientId=c1&timeoutMs=60001").error(), "bad_value");
  EXPECT_EQ(api.get("/events/poll?clientId=c1&timeoutMs=-1").error(), "bad_value");
  EXPECT_EQ(api.get("/events/poll?clientId=c1&timeout=1").error(), "unknown_field");
}

TEST(Poll, GoesWithItsConnection) {
  ApiDriver api;
  Wire wire = api.wire();
  wire.send(ApiDriver::request("GET", "/events/poll?clientId=c1&timeoutMs=60000", "", {}));
  ASSERT_EQ(api.traffic.polls.size(), 1U);
  EXPECT_FALSE(api.traffic.polls[0].state->gone);
  wire.lose();
  EXPECT_TRUE(api.traffic.polls[0].state->gone);
  api.traffic.polls[0].done(std::vector<channel::Delivery>());  // too late, and no harm
}

class Stream : public ::testing::Test {
 protected:
  void open() {
    wire.send(ApiDriver::request("GET", "/events/stream?clientId=c1", "",
                                 {{"Last-Event-ID", "1k3v8z-9f2c-1"}}));
  }
  std::string read() {
    wire.round();
    return wire.take();
  }
  ApiDriver api;
  Wire wire = api.wire();
};

TEST_F(Stream, CarriesDeliveriesAndHeartbeats) {
  open();
  const std::string head = read();
  EXPECT_THAT(head, HasSubstr("200 OK"));
  EXPECT_THAT(head, HasSubstr("text/event-stream"));
  EXPECT_THAT(head, HasSubstr("retry: 2000\n\n"));
  const std::string frame = frame_of();
  api.traffic.streams.at(0).channel->deliver(std::vector{delivery_of(frame)});
  EXPECT_THAT(read(), HasSubstr("id: 1k3v8z-9f2c-42\ndata: {"));
  api.executor.advance(15'000);
  EXPECT_THAT(read(), HasSubstr(": hb\n\n"));
}

TEST_F(Stream, GoesWithItsConnection) {
  open();
  (void)read();
  EXPECT_FALSE(api.traffic.streams.at(0).state->gone);
  wire.lose();
  EXPECT_TRUE(api.traffic.streams[0].state->gone);
  EXPECT_EQ(api.executor.timers(), 0U);
}

TEST_F(Stream, ThatTheServerEndsSaysWhyAndLetsGo) {
  open();
  (void)read();
  api.traffic.streams.at(0).channel->end(channel::EndReason::kUnsubscribed);
  EXPECT_FALSE(api.traffic.streams[0].state->gone) << "not within the runtime's own call";
  const std::string out = read();
  EXPECT_THAT(out, HasSubstr("event: end\ndata: {\"error\":\"unsubscribed\"}"));
  EXPECT_TRUE(api.traffic.streams[0].state->gone);
}

TEST_F(Stream, RefusedIsAProblem) {
  api.traffic.on_stream = []() -> Result<void> {
    return fail(ErrorCode::kClientUnknown, "c1 has no subscription", "Subscribe first.");
  };
  open();
  EXPECT_THAT(read(), HasSubstr("client_unknown"));
  EXPECT_TRUE(api.traffic.streams.at(0).state->gone);
}

TEST_F(Stream, ConnectionThatGoesBeforeTheStreamIsOpenLeavesNothing) {
  wire.send("GET /events/stream?clientId=c1 HTTP/1.1\r\nHost: localhost\r\n");
  http::RequestHandler& handler = api.handler(http::ListenerKind::kTraffic);
  auto connection = http::ServerConnection::make(api.executor.clock().mono(), handler, {}, [] {});
  connection->on_bytes(api.executor.clock().mono(),
                       ApiDriver::request("GET", "/events/stream?clientId=c1", "", {}));
  connection->on_lost();
  api.executor.drain();
  EXPECT_TRUE(api.traffic.streams.at(0).state->gone);
  EXPECT_EQ(api.executor.timers(), 0U);
}

TEST(StreamParameters, AreChecked) {
  ApiDriver api;
  EXPECT_EQ(api.get("/events/stream").error(), "missing_field");
  EXPECT_EQ(api.get("/events/stream?clientId=a%2Fb").error(), "bad_name");
  const Answer upgrade = api.ask(http::ListenerKind::kTraffic, "GET", "/events/stream?clientId=c1",
                                 "", {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}});
  EXPECT_EQ(upgrade.status, 501);
  EXPECT_THAT(upgrade.at("/detail"), HasSubstr("WebSocket"));
}

}  // namespace
}  // namespace ackline::api

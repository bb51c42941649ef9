#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ackline/channel/poll_render.h"
#include "ackline/channel/sse_channel.h"
#include "ackline/event/frame.h"
#include "tests/support/manual_executor.h"
#include "tests/unit/http/recording_handler.h"

namespace ackline::channel {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string frame_of(bool dead_letter = false) {
  event::CloudEvent event;
  event.set("id", "3");
  event.set("source", "/shop");
  event.set("type", "order.created");
  if (dead_letter) {
    event.set("dlqreason", "rejected");
  }
  event.set_data(event::DataKind::kJson, R"({"n":3})");
  std::string frame;
  event::append_frame(event, frame);
  return frame;
}

Delivery delivery_of(const std::string& frame) {
  Delivery delivery;
  delivery.delivery_id = "1k3v8z-9f2c-42";
  delivery.topic = "orders";
  delivery.group = "billing";
  delivery.offset = Offset(3);
  delivery.max_attempts = 6;
  delivery.lease_ms = 30'000;
  delivery.frame = as_bytes(frame);
  return delivery;
}

TEST(Delivery, HasTheShapeOfTheContract) {
  const std::string frame = frame_of();
  std::string out;
  append_delivery_json(delivery_of(frame), out);
  EXPECT_EQ(out,
            R"({"deliveryId":"1k3v8z-9f2c-42","topic":"orders","group":"billing","partition":0,)"
            R"("offset":3,"attempt":1,"maxAttempts":6,"leaseMs":30000,"lane":null,"resent":false,)"
            R"("event":{"specversion":"1.0","id":"3","source":"/shop","type":"order.created",)"
            R"("data":{"n":3}}})");
}

TEST(Delivery, OfALaneNamesItsEntryAndCarriesNoDlqExtensions) {
  const std::string frame = frame_of(true);
  Delivery delivery = delivery_of(frame);
  delivery.lane_id = "r-7";
  delivery.lane_entry = "jobs_DLQ:0:17";
  delivery.resent = true;
  std::string out;
  append_delivery_json(delivery, out);
  EXPECT_THAT(out,
              HasSubstr(R"("lane":{"laneId":"r-7","kind":"redrive","entry":"jobs_DLQ:0:17"})"));
  EXPECT_THAT(out, HasSubstr(R"("resent":true)"));
  EXPECT_THAT(out, Not(HasSubstr("dlqreason")));
}

TEST(Delivery, OfAReplayHasNoEntryAndKeepsItsEventAsItIs) {
  const std::string frame = frame_of(true);
  Delivery delivery = delivery_of(frame);
  delivery.lane_id = "r-8";
  delivery.replay = true;
  std::string out;
  append_delivery_json(delivery, out);
  EXPECT_THAT(out, HasSubstr(R"("lane":{"laneId":"r-8","kind":"replay","entry":null})"));
  EXPECT_THAT(out, HasSubstr("dlqreason"));  // it was published so
}

TEST(Poll, IsABareArray) {
  EXPECT_EQ(poll_json({}), "[]");
  const std::string frame = frame_of();
  const std::vector<Delivery> two{delivery_of(frame), delivery_of(frame)};
  const std::string out = poll_json(two);
  EXPECT_TRUE(out.starts_with("[{\"deliveryId\"") && out.ends_with("}]"));
  EXPECT_THAT(out, HasSubstr("},{"));
}

class Stream : public ::testing::Test {
 protected:
  Stream() {
    driver.feed("GET /events/stream HTTP/1.1\r\nHost: h\r\n\r\n");
    channel =
        std::make_shared<SseChannel>(std::move(driver.last().responder), executor, SseOptions{});
  }
  std::string read() {
    driver.round();
    return driver.take();
  }
  ackline::testing::ManualExecutor executor;
  http::testing::Driver driver;
  std::shared_ptr<SseChannel> channel;
  const std::string frame = frame_of();
};

TEST_F(Stream, BeginsWithRetryAndCarriesDeliveriesByTheirId) {
  channel->open();
  EXPECT_THAT(read(), HasSubstr("retry: 2000\n\n"));
  channel->deliver(std::vector{delivery_of(frame)});
  EXPECT_THAT(read(), HasSubstr("id: 1k3v8z-9f2c-42\ndata: {\"deliveryId\""));
}

TEST_F(Stream, SaysThatItLivesWhenItHasNothingToSay) {
  channel->open();
  (void)read();
  executor.advance(14'999);
  EXPECT_EQ(read(), "");
  executor.advance(1);
  EXPECT_THAT(read(), HasSubstr(": hb\n\n"));
  executor.advance(10'000);
  channel->deliver(std::vector{delivery_of(frame)});
  (void)read();
  executor.advance(14'000);
  EXPECT_EQ(read(), "") << "a delivery is as good as a heartbeat";
  executor.advance(1'000);
  EXPECT_THAT(read(), HasSubstr(": hb\n\n"));
}

TEST_F(Stream, EndsWithItsReasonAndSaysNothingAfter) {
  channel->open();
  (void)read();
  bool told = false;
  channel->on_ended([&] { told = true; });
  channel->end(EndReason::kReplaced);
  const std::string out = read();
  EXPECT_THAT(out, HasSubstr("event: end\ndata: {\"error\":\"replaced\"}\n\n"));
  EXPECT_THAT(out, EndsWith("0\r\n\r\n"));
  EXPECT_TRUE(told);
  channel->deliver(std::vector{delivery_of(frame)});
  channel->end(EndReason::kDraining);
  EXPECT_EQ(read(), "");
  EXPECT_EQ(executor.timers(), 0U);
}

TEST_F(Stream, TellsOnceThatThePeerHasGone) {
  channel->open();
  (void)read();
  int gone = 0;
  channel->on_gone([&] { ++gone; });
  driver.connection->on_lost();
  EXPECT_EQ(gone, 1);
  channel->deliver(std::vector{delivery_of(frame)});
  executor.advance(60'000);
  EXPECT_EQ(executor.timers(), 0U) << "no heartbeat for nobody";
}

TEST_F(Stream, ThatWasRefusedAnswersTheProblem) {
  channel->refuse({ErrorCode::kClientUnknown, "no such client", {}, {}});
  EXPECT_THAT(read(), HasSubstr("HTTP/1.1 404"));
  channel->open();
  EXPECT_EQ(read(), "");
}

TEST_F(Stream, ThatIsDroppedLeavesNoTimer) {
  channel->open();
  channel.reset();
  EXPECT_EQ(executor.timers(), 0U);
}

TEST(EndReason, HasAWordForEach) {
  EXPECT_EQ(end_word(EndReason::kDraining), "draining");
  EXPECT_EQ(end_word(EndReason::kReplaced), "replaced");
  EXPECT_EQ(end_word(EndReason::kUnsubscribed), "unsubscribed");
  EXPECT_EQ(end_word(EndReason::kTopicDeleted), "topic_deleted");
  EXPECT_EQ(end_word(EndReason::kRejected), "rejected");
}

}  // namespace
}  // namespace ackline::channel

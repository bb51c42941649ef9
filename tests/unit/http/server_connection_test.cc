#include "ackline/http/server_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/http/recording_handler.h"

namespace ackline::http {
namespace {

using testing::Driver;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::text_response;

std::string get(std::string_view path, std::string_view fields = {}) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n";
}

std::string post(std::string_view fields, std::string_view body = {}) {
  return "POST /p HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

TEST(ServerConnection, AnswersARequestAndStaysOpen) {
  Driver driver;
  driver.feed_each(post("Content-Length: 2\r\n", "hi"));
  ASSERT_EQ(driver.handler.asked.size(), 1U);
  EXPECT_EQ(driver.last().request.body, "hi");
  EXPECT_EQ(driver.last().request.remote, "192.0.2.1:4711");
  EXPECT_FALSE(driver.connection->idle());
  driver.last().responder.respond(json_response(202, "{}"));
  EXPECT_EQ(driver.wakes, 1);
  driver.round();
  EXPECT_EQ(driver.take(),
            "HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n"
            "{}");
  EXPECT_TRUE(driver.connection->idle());
  EXPECT_FALSE(driver.connection->wants_close());
}

TEST(ServerConnection, WritesPipelinedAnswersInTheOrderOfTheRequests) {
  Driver driver;
  driver.feed(get("/a") + get("/b") + get("/c"));
  ASSERT_EQ(driver.handler.asked.size(), 3U);
  driver.handler.asked[2].responder.respond(text_response("third"));
  driver.handler.asked[1].responder.respond(text_response("second"));
  driver.round();
  EXPECT_EQ(driver.take(), "");
  EXPECT_GT(driver.connection->pending_bytes(), 0U);
  driver.handler.asked[0].responder.respond(text_response("first"));
  driver.round();
  const std::string out = driver.take();
  EXPECT_LT(out.find("first"), out.find("second"));
  EXPECT_LT(out.find("second"), out.find("third"));
  EXPECT_EQ(driver.connection->pending_bytes(), 0U);
}

TEST(ServerConnection, WakesOnceForManyAnswersOfOneTurn) {
  Driver driver;
  driver.feed(get("/a") + get("/b") + get("/c"));
  for (auto& asked : driver.handler.asked) {
    asked.responder.respond(text_response("x"));
  }
  EXPECT_EQ(driver.wakes, 1);
}

TEST(ServerConnection, StopsReadingWhenTooManyAreUnansweredAndGoesOnAfter) {
  Limits limits;
  limits.pipelined = 2;
  Driver driver(limits);
  driver.feed(get("/1") + get("/2") + get("/3") + get("/4") + get("/5"));
  EXPECT_EQ(driver.handler.asked.size(), 2U);
  EXPECT_FALSE(driver.connection->wants_read());
  driver.handler.asked[0].responder.respond(text_response("x"));
  driver.round();
  EXPECT_EQ(driver.handler.asked.size(), 3U);
  for (std::size_t i = 1; i < 5; ++i) {
    driver.handler.asked.at(i).responder.respond(text_response("x"));
    driver.round();
  }
  EXPECT_EQ(driver.handler.asked.size(), 5U);
  EXPECT_TRUE(driver.connection->wants_read());
}

TEST(ServerConnection, StopsReadingWhileThePeerTakesNoOutput) {
  Limits limits;
  limits.output_soft_bytes = 1000;
  Driver driver(limits);
  driver.stuck = true;
  driver.feed(get("/a"));
  driver.last().responder.respond(text_response(std::string(2000, 'x')));
  driver.round();
  EXPECT_FALSE(driver.connection->wants_read());
  driver.stuck = false;
  driver.unstick(driver.in_flight.size());
  driver.round();
  EXPECT_TRUE(driver.connection->wants_read());
}

TEST(ServerConnection, CutsAPeerOffThatNeverReadsItsStream) {
  Limits limits;
  limits.output_hard_bytes = 1000;
  Driver driver(limits);
  driver.stuck = true;
  driver.feed(get("/s"));
  driver.last().responder.start_stream({});
  driver.round();
  while (driver.last().responder.open()) {
    driver.last().responder.write(std::string(100, 'x'));
  }
  EXPECT_TRUE(driver.connection->wants_close());
  EXPECT_LE(driver.connection->pending_bytes(), 1200U);
}

// The answer of 50 000 bytes waits; the peer takes `first` of it in one window, `second` in the
// next.
bool holds(std::size_t first, std::size_t second) {
  Driver driver;
  driver.stuck = true;
  driver.feed(get("/a"));
  driver.last().responder.respond(text_response(std::string(50'000, 'x')));
  driver.round();
  driver.unstick(first);
  driver.pass(9'999);
  EXPECT_FALSE(driver.connection->wants_close());
  driver.pass(1);
  if (driver.connection->wants_close()) return false;
  driver.unstick(second);
  driver.pass(10'000);
  return !driver.connection->wants_close();
}

TEST(ServerConnection, CutsAPeerOffThatReadsBelowOneKibPerSecond) {
  EXPECT_TRUE(holds(10'240, 10'240));
  EXPECT_FALSE(holds(10'239, 20'000));
  EXPECT_FALSE(holds(30'000, 10'239));
}

TEST(ServerConnection, AStreamWithNothingToSayIsNotSlow) {
  Driver driver;
  driver.feed(get("/s"));
  driver.last().responder.start_stream({});
  driver.round();
  for (int i = 0; i < 100; ++i) {
    driver.pass(15'000);
    driver.last().responder.write(": hb\n\n");
    driver.round();
  }
  driver.pass(10'000);
  EXPECT_FALSE(driver.connection->wants_close());
  EXPECT_EQ(driver.connection->next_deadline(), std::nullopt);
}

TEST(ServerConnection, CutsAStreamOffWhoseBytesTheSystemCannotDeliver) {
  std::size_t unconfirmed = 0;
  Driver driver({}, [&unconfirmed] { return unconfirmed; });
  driver.feed(get("/s"));
  driver.last().responder.start_stream({});
  driver.round();
  driver.pass(10'000);
  EXPECT_FALSE(driver.connection->wants_close());
  unconfirmed = 6;  // the peer's side has no room for this heartbeat
  driver.last().responder.write("\n");
  driver.round();
  driver.pass(10'000);
  EXPECT_TRUE(driver.connection->wants_close());
}

TEST(ServerConnection, ASlowLineThatIsReadStaysOpen) {
  std::size_t unconfirmed = 100'000;
  Driver driver({}, [&unconfirmed] { return unconfirmed; });
  driver.feed(get("/s"));
  driver.last().responder.start_stream({});
  driver.last().responder.write(std::string(200'000, 'x'));
  driver.round();
  for (int i = 0; i < 9; ++i) {
    driver.pass(9'999);
    unconfirmed -= 10'240;
    driver.pass(1);
    ASSERT_FALSE(driver.connection->wants_close()) << i;
  }
}

TEST(ServerConnection, StreamsInChunks) {
  Driver driver;
  driver.feed(get("/s"));
  Responder responder = std::move(driver.last().responder);
  Response head;
  head.headers.add("content-type", "text/event-stream");
  responder.start_stream(std::move(head));
  responder.write("retry: 2000\n\n");
  EXPECT_GT(driver.connection->pending_bytes(), 0U);
  driver.round();
  EXPECT_EQ(driver.connection->pending_bytes(), 0U);
  EXPECT_EQ(driver.take(),
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
            "\r\nd\r\nretry: 2000\n\n\r\n");
  responder.write("");
  responder.end();
  driver.round();
  EXPECT_EQ(driver.take(), "0\r\n\r\n");
  EXPECT_TRUE(driver.connection->idle());
}

TEST(ServerConnection, HoldsAStreamBackUntilItsTurn) {
  Driver driver;
  driver.feed(get("/a") + get("/s") + get("/c"));
  driver.handler.asked[1].responder.start_stream({});
  driver.handler.asked[1].responder.write("one");
  driver.handler.asked[2].responder.respond(text_response("after"));
  driver.round();
  EXPECT_EQ(driver.take(), "");
  driver.handler.asked[0].responder.respond(text_response("first"));
  driver.round();
  EXPECT_THAT(driver.take(), EndsWith("3\r\none\r\n"));
  driver.handler.asked[1].responder.write("two");
  driver.round();
  EXPECT_EQ(driver.take(), "3\r\ntwo\r\n");
  driver.handler.asked[1].responder.end();
  driver.round();
  EXPECT_THAT(driver.take(), StartsWith("0\r\n\r\nHTTP/1.1 200 OK"));
}

TEST(ServerConnection, TellsAStreamThatItsPeerIsGone) {
  Driver driver;
  driver.feed(get("/s"));
  int gone = 0;
  Responder responder = std::move(driver.last().responder);
  responder.start_stream({});
  responder.on_gone([&] { ++gone; });
  driver.round();
  driver.connection->on_lost();
  EXPECT_EQ(gone, 1);
  EXPECT_FALSE(responder.open());
  responder.write("into the void");
  responder.on_gone([&] { ++gone; });
  EXPECT_EQ(gone, 2);
}

TEST(ServerConnection, StillAnswersAPeerThatOnlyEndedItsSending) {
  Driver driver;
  driver.feed(get("/a"));
  int gone = 0;
  driver.last().responder.on_gone([&] { ++gone; });
  driver.eof();
  EXPECT_EQ(gone, 1);
  EXPECT_FALSE(driver.connection->wants_close());
  driver.last().responder.respond(text_response("late"));
  driver.round();
  EXPECT_THAT(driver.take(), EndsWith("late"));
  EXPECT_TRUE(driver.connection->wants_close());
}

TEST(ServerConnection, DropsATruncatedRequestWhenThePeerLeaves) {
  Driver driver;
  driver.feed(post("Content-Length: 10\r\n", "half"));
  driver.eof();
  EXPECT_TRUE(driver.connection->wants_close());
  EXPECT_TRUE(driver.handler.asked.empty());
  EXPECT_EQ(driver.take(), "");
}

TEST(ServerConnection, AnswersHeadWithTheLengthAndNoBody) {
  Driver driver;
  driver.feed("HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n");
  driver.last().responder.respond(text_response("12345"));
  driver.round();
  EXPECT_EQ(driver.take(), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
}

TEST(ServerConnection, PassesAnyMethodOnAndWritesNoBodyFor204) {
  Driver driver;
  driver.feed("PURGE /x HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(driver.last().request.method, "PURGE");
  driver.last().responder.respond(text_response("no", 204));
  driver.round();
  EXPECT_EQ(driver.take(), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(ServerConnection, SpeaksHttp10) {
  Driver driver;
  driver.feed("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  driver.last().responder.respond(text_response("x"));
  driver.round();
  EXPECT_THAT(driver.take(), HasSubstr("connection: keep-alive\r\n"));
  driver.feed("GET /s HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  driver.last().responder.start_stream({});
  driver.last().responder.write("plain");
  driver.round();
  EXPECT_EQ(driver.take(), "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nplain");
  driver.last().responder.end();
  driver.round();
  EXPECT_TRUE(driver.connection->wants_close());
}

TEST(ServerConnection, ClosesAfterTheAnswerWhenAskedTo) {
  Driver driver;
  driver.feed(get("/a", "Connection: close\r\n"));
  driver.last().responder.respond(text_response("x"));
  driver.round();
  EXPECT_THAT(driver.take(), HasSubstr("connection: close\r\n"));
  EXPECT_TRUE(driver.connection->wants_close());
}

TEST(ServerConnection, TellsTheClientToGoOnWithItsBody) {
  Driver driver;
  driver.feed(post("Content-Length: 2\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(driver.take(), "HTTP/1.1 100 Continue\r\n\r\n");
  driver.feed("hi");
  EXPECT_EQ(driver.last().request.body, "hi");
}

TEST(ServerConnection, TellsToGoOnOnlyAfterTheAnswersBefore) {
  Driver driver;
  driver.feed(get("/a") + post("Content-Length: 2\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(driver.take(), "");
  driver.last().responder.respond(text_response("x"));
  driver.round();
  EXPECT_THAT(driver.take(), EndsWith("xHTTP/1.1 100 Continue\r\n\r\n"));
}

TEST(ServerConnection, RefusesAHugeClaimWithoutAskingForItAndReadsOnForASecond) {
  Driver driver;
  driver.feed(post("Content-Length: 2147483648\r\nExpect: 100-continue\r\n"));
  const std::string out = driver.take();
  EXPECT_THAT(out, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(out, HasSubstr(R"("error":"too_large")"));
  EXPECT_THAT(out, HasSubstr("16777216"));
  EXPECT_THAT(out, HasSubstr("connection: close"));
  EXPECT_TRUE(driver.connection->wants_shutdown());
  EXPECT_TRUE(driver.connection->wants_read());
  driver.pass(999);
  driver.feed(std::string(50'000, 'x'));
  EXPECT_FALSE(driver.connection->wants_close());
  driver.pass(1);
  EXPECT_TRUE(driver.connection->wants_close());
  EXPECT_TRUE(driver.handler.asked.empty());
}

TEST(ServerConnection, ClosesEarlierWhenTheRefusedPeerHangsUp) {
  Driver driver;
  driver.feed("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(40'000, 'a'));
  EXPECT_THAT(driver.take(), StartsWith("HTTP/1.1 431 "));
  driver.eof();
  EXPECT_TRUE(driver.connection->wants_close());
}

TEST(ServerConnection, RefusesAMalformedRequestAfterTheAnswersBefore) {
  Driver driver;
  driver.feed(get("/a") + "NONSENSE\r\n\r\n" + get("/b"));
  ASSERT_EQ(driver.handler.asked.size(), 1U);
  EXPECT_EQ(driver.take(), "");
  driver.last().responder.respond(text_response("first"));
  driver.round();
  const std::string out = driver.take();
  EXPECT_THAT(out, HasSubstr("firstHTTP/1.1 400 Bad Request"));
  EXPECT_THAT(out, HasSubstr(R"("error":"bad_request")"));
}

TEST(ServerConnection, GivesASlowHeaderTenSecondsFromItsFirstByte) {
  Driver driver;
  driver.pass(50'000);
  for (int i = 0; i < 9; ++i) {
    driver.feed("G");
    driver.pass(1'000);
  }
  EXPECT_EQ(driver.take(), "");
  driver.pass(1'000);
  EXPECT_THAT(driver.take(), StartsWith("HTTP/1.1 408 "));
  driver.pass(1'000);
  EXPECT_TRUE(driver.connection->wants_close());
}

TEST(ServerConnection, GivesUpABodyBelowOneKibPerSecond) {
  Driver driver;
  driver.feed(post("Content-Length: 100000\r\n"));
  for (int i = 0; i < 10; ++i) {
    driver.feed(std::string(900, 'x'));
    driver.pass(1'000);
  }
  const std::string out = driver.take();
  EXPECT_THAT(out, StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(out, HasSubstr(R"("error":"request_timeout")"));
}

TEST(ServerConnection, GivesABodyThirtySecondsInAll) {
  Driver driver;
  driver.feed(post("Content-Length: 1000000\r\n"));
  for (int i = 0; i < 29; ++i) {
    driver.feed(std::string(2'000, 'x'));
    driver.pass(1'000);
  }
  EXPECT_EQ(driver.take(), "");
  driver.pass(1'000);
  EXPECT_THAT(driver.take(), HasSubstr("30000 ms"));
}

TEST(ServerConnection, ClosesAnIdleConnectionWithoutAWord) {
  Driver driver;
  driver.handler.echo = true;
  driver.pass(30'000);
  driver.feed(get("/a"));
  driver.take();
  driver.pass(59'999);
  EXPECT_FALSE(driver.connection->wants_close());
  driver.pass(1);
  EXPECT_TRUE(driver.connection->wants_close());
  EXPECT_EQ(driver.take(), "");
}

TEST(ServerConnection, SetsNoTimeForTheHandler) {
  Driver driver;
  driver.feed(get("/poll"));
  EXPECT_EQ(driver.connection->next_deadline(), std::nullopt);
  driver.last().responder.start_stream({});
  driver.round();
  driver.pass(10'000);  // what was written is looked after once
  EXPECT_EQ(driver.connection->next_deadline(), std::nullopt);
}

TEST(ServerConnection, AnswersForAHandlerThatForgot) {
  Driver driver;
  driver.feed(get("/a"));
  driver.handler.asked.clear();
  driver.round();
  EXPECT_THAT(driver.take(), StartsWith("HTTP/1.1 503 "));
}

TEST(ServerConnection, DrainsByFinishingWhatWasAsked) {
  Driver idle;
  idle.connection->drain();
  EXPECT_TRUE(idle.connection->wants_close());

  Driver busy;
  busy.feed(get("/a") + "GET /half HTTP/1.1\r\n");
  busy.connection->drain();
  EXPECT_FALSE(busy.connection->wants_close());
  busy.last().responder.respond(text_response("a"));
  busy.round();
  EXPECT_THAT(busy.take(), Not(HasSubstr("connection: close")));
  busy.feed("Host: h\r\n\r\n");
  busy.last().responder.respond(text_response("half"));
  busy.round();
  EXPECT_THAT(busy.take(), HasSubstr("connection: close"));
  EXPECT_TRUE(busy.connection->wants_close());
}

TEST(ServerConnection, LetsNoValueEndItsHeaderLine) {
  Driver driver;
  driver.feed(get("/a"));
  Response response;
  response.headers.add("x-note", "a\r\nset-cookie: b");
  driver.last().responder.respond(std::move(response));
  driver.round();
  EXPECT_THAT(driver.take(), HasSubstr("x-note: aset-cookie: b\r\n"));
}

}  // namespace
}  // namespace ackline::http

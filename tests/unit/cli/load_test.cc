#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "ackline/cli/load/cycle.h"
#include "ackline/cli/load/http_answers.h"
#include "ackline/cli/load/in_process.h"

namespace ackline::cli::load {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Shows `text` to `take` in pieces of `size` bytes, each time with what was left before.
template <class Reader>
void feed(Reader& reader, std::string_view text, std::size_t size) {
  std::string kept;
  for (std::size_t at = 0; at < text.size(); at += size) {
    kept.append(text.substr(at, size));
    kept.erase(0, reader.take(kept));
  }
}

TEST(LoadHttpAnswers, AreTakenWholeHoweverTheirBytesAreCut) {
  const std::string text =
      "HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nfirst"
      "HTTP/1.1 200 OK\r\nX: content-length\r\ncontent-length:0\r\n\r\n"
      "HTTP/1.1 404 Not Found\r\nCONTENT-LENGTH: 6\r\n\r\nthi\r\nd";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::vector<std::string> seen;
    HttpAnswers answers([&](int status, std::string_view body) {
      seen.push_back(std::to_string(status) + " " + std::string(body));
    });
    feed(answers, text, size);
    EXPECT_THAT(seen, ElementsAre("202 first", "200 ", "404 thi\r\nd")) << size;
    EXPECT_EQ(answers.problem(), "");
  }
}

TEST(LoadHttpAnswers, WithoutALengthAreAProblem) {
  HttpAnswers answers([](int, std::string_view) { FAIL(); });
  EXPECT_EQ(answers.take("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"), 0U);
  EXPECT_THAT(answers.problem(), HasSubstr("content-length"));
}

// One chunk of a stream.
std::string chunk(std::string_view text) {
  const char digits[] = "0123456789abcdef";
  std::string size;
  for (std::size_t left = text.size(); left > 0; left /= 16) size.insert(0, 1, digits[left % 16]);
  return size + "\r\n" + std::string(text) + "\r\n";
}

constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

TEST(LoadHttpStream, EventsAreTakenWholeHoweverBytesAndChunksAreCut) {
  const std::string events =
      "retry: 2000\n\nid: a-1\ndata: {\"n\":1}\n\n: hb\n\nid: b\ndata: x\n\n";
  for (std::size_t piece = 1; piece <= events.size(); ++piece) {
    std::string text(kHead);
    for (std::size_t at = 0; at < events.size(); at += piece) {
      text += chunk(std::string_view(events).substr(at, piece));
    }
    for (const std::size_t size : {1UL, 2UL, 7UL, text.size()}) {
      std::vector<std::string> seen;
      HttpStream stream([&](std::string_view id, std::string_view data) {
        seen.push_back(std::string(id) + " " + std::string(data));
      });
      feed(stream, text, size);
      EXPECT_THAT(seen, ElementsAre("a-1 {\"n\":1}", "b x")) << piece << " " << size;
      EXPECT_EQ(stream.problem(), "");
      EXPECT_TRUE(stream.open());
    }
  }
}

TEST(LoadHttpStream, TheServersLastWordIsAProblem) {
  HttpStream stream([](std::string_view, std::string_view) { FAIL(); });
  feed(stream, std::string(kHead) + chunk("event: end\ndata: {\"error\":\"replaced\"}\n\n"), 1000);
  EXPECT_THAT(stream.problem(), HasSubstr("replaced"));
}

TEST(LoadHttpStream, AnotherStatusIsAProblemAndNoStream) {
  HttpStream stream([](std::string_view, std::string_view) { FAIL(); });
  feed(stream, "HTTP/1.1 409 Conflict\r\ncontent-length: 4\r\n\r\nopen", 1000);
  EXPECT_FALSE(stream.open());
  EXPECT_THAT(stream.problem(), HasSubstr("409"));
}

// Confirms, delivers and acks what was published at the next flush, each event `copies` times and
// every seventh once more.
class EchoTarget final : public Target {
 public:
  explicit EchoTarget(std::uint64_t copies = 1) : copies_(copies) {}
  void begin(Account& account) override { account_ = &account; }
  void publish(std::uint64_t first, std::size_t count) override {
    queued_.push_back({first, count});
    outstanding_ += count;
    most_outstanding = std::max(most_outstanding, outstanding_);
  }
  void flush() override {
    for (const auto& [first, count] : std::exchange(queued_, {})) {
      outstanding_ -= count;
      account_->confirmed(first, count);
      for (std::uint64_t n = first; n < first + count; ++n) {
        for (std::uint64_t i = 0; i < copies_ + (n % 7 == 0 ? 1 : 0); ++i) {
          account_->delivered(n + shift);
          account_->acked(1);
        }
      }
    }
  }
  [[nodiscard]] double next_due() const override { return 0; }
  void all_delivered() override { ++ends; }

  std::size_t most_outstanding = 0;
  std::uint64_t shift = 0;
  int ends = 0;

 private:
  struct Publish {
    std::uint64_t first;
    std::size_t count;
  };
  std::uint64_t copies_;
  Account* account_ = nullptr;
  std::size_t outstanding_ = 0;
  std::vector<Publish> queued_;
};

TEST(LoadCycle, EndsWhenEachEventIsConfirmedDeliveredAndAckedAndCountsRepetitions) {
  Loop loop;
  EchoTarget target;
  const auto report = run_cycle(loop, target, {.events = 1000, .batch = 10, .unanswered = 35});
  ASSERT_TRUE(report.has_value()) << report.error().detail;
  EXPECT_EQ(report->events, 1000U);
  EXPECT_EQ(report->repeated, 143U);
  EXPECT_EQ(report->publish_us.size(), 100U);
  EXPECT_EQ(report->end_to_end_us.size(), 1000U);
  EXPECT_EQ(target.most_outstanding, 30U);
  EXPECT_EQ(target.ends, 1);
}

TEST(LoadCycle, WaitsForEveryGroupsCopyOfAnEvent) {
  Loop loop;
  EchoTarget target(3);
  const auto report = run_cycle(loop, target, {.events = 70, .copies = 3});
  ASSERT_TRUE(report.has_value()) << report.error().detail;
  EXPECT_EQ(report->end_to_end_us.size(), 210U);
  EXPECT_EQ(report->repeated, 10U);
}

TEST(LoadCycle, ABatchAboveTheWindowGoesAlone) {
  Loop loop;
  EchoTarget target;
  const auto report = run_cycle(loop, target, {.events = 300, .batch = 100, .unanswered = 10});
  ASSERT_TRUE(report.has_value()) << report.error().detail;
  EXPECT_EQ(target.most_outstanding, 100U);
}

TEST(LoadCycle, AnEventOfNoRoundEndsTheRun) {
  Loop loop;
  EchoTarget target;
  target.shift = 50;
  const auto report = run_cycle(loop, target, {.events = 60});
  ASSERT_FALSE(report.has_value());
  EXPECT_THAT(report.error().detail, HasSubstr("of no round"));
}

TEST(LoadCycle, WhatBreaksAConnectionEndsTheRunWithItsReason) {
  Loop loop;
  loop.fail("the server closed the connection");
  loop.fail("something later");
  EchoTarget target;
  const auto report = run_cycle(loop, target, {.events = 10});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().detail, "the server closed the connection");
}

TEST(LoadCycle, ARunThatGetsNoAnswerTimesOutWithItsCounts) {
  class Silent final : public Target {
   public:
    void begin(Account& /*account*/) override {}
    void publish(std::uint64_t /*first*/, std::size_t /*count*/) override {}
    void flush() override {}
    [[nodiscard]] double next_due() const override { return 0; }
    void all_delivered() override {}
  };
  Loop loop;
  Silent target;
  const auto report = run_cycle(loop, target, {.events = 10}, 0);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(report.error().detail, HasSubstr("0 of 10 events were confirmed"));
}

TEST(LoadCycle, QuantilesAreOfSortedValues) {
  const std::vector<double> values{1, 2, 3, 4, 5};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 1), 5);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

TEST(LoadInProcess, EveryDeliveryThatIsCountedWasAcked) {
  for (const bool keys : {false, true}) {
    const InProcessRate rate = deliver_and_ack(5000, keys);
    EXPECT_GE(rate.counted, 5000U) << keys;
    EXPECT_EQ(rate.acked, rate.counted) << keys;
    EXPECT_GT(rate.per_second, 0) << keys;
    EXPECT_GT(rate.cpu_us, 0) << keys;
  }
}

}  // namespace
}  // namespace ackline::cli::load

// What the checker holds a server to, and what it must not: histories that a sound server makes,
// and beside each the one that breaks the promise.
#include "tests/simulation/checker.h"

#include <gtest/gtest.h>

namespace ackline::sim {
namespace {

constexpr Ms kSlackMs = 5;
constexpr Ms kGraceMs = 1000;

struct CheckerTest : ::testing::Test {
  Checker checker{kSlackMs, kGraceMs, {}};
  GroupFacts group{.topic = "t", .name = "g", .filter_type = {}};

  // One event, for a group of the clients a and b.
  void SetUp() override {
    at(1);
    checker.topic_made("t");
    EventFacts event;
    event.number = 1;
    event.topic = "t";
    event.payload = "1:";
    checker.publishing(event);
    checker.published(1, {}, false, 0, 0);
    checker.subscribing(group);
    checker.subscribed(group, "a", 1, true, {{0, 0}});
    checker.subscribed(group, "b", 1, false, {});
  }
  void at(Ms now) { checker.set_time(now, now); }
  void got(const std::string& client, const std::string& id, std::uint32_t attempt,
           const std::string& lane = {}) {
    DeliverySeen seen;
    seen.lane = lane;
    seen.id = id;
    seen.client = client;
    seen.topic = "t";
    seen.group = "g";
    seen.attempt = attempt;
    seen.max_attempts = 6;
    seen.lease_ms = 5000;
    seen.event = 1;
    seen.payload = "1:";
    checker.delivered(seen);
  }
  void acks(const std::string& client, const std::string& id, Ms now,
            const std::string& error = {}) {
    at(now);
    checker.settling(Verb::kAck, client, id);
    SettleSeen seen;
    seen.client = client;
    seen.id = id;
    seen.invoked = now;
    seen.error = error;
    checker.settled(seen);
  }
};

// They waited for one sync, and went to clients of two home shards.
TEST_F(CheckerTest, OfTwoOffersThatCrossAfterAResetEitherMayBeTheCurrentOne) {
  at(200);
  checker.reopening("t", "g", true, {{0, 0}});
  at(210);
  got("b", "younger", 2);
  got("a", "older", 1);
  checker.reopened("t", "g", 0, 200, Checker::Reopen::kDone, 2);
  acks("a", "older", 300, "stale");
  acks("b", "younger", 320);
  EXPECT_EQ(checker.broken(), std::nullopt);
}

TEST_F(CheckerTest, OneThatComesLongAfterAResetIsTheYounger) {
  at(200);
  checker.reopening("t", "g", true, {{0, 0}});
  at(210);
  got("b", "first", 1);
  checker.reopened("t", "g", 0, 200, Checker::Reopen::kDone, 2);
  at(5300);
  got("a", "second", 2);
  acks("b", "first", 5400);
  ASSERT_TRUE(checker.broken());
  EXPECT_NE(checker.broken()->find("a superseded id is stale (12)"), std::string::npos);
}

// The older one was on its way to a client that left; the younger went to another home shard.
TEST_F(CheckerTest, AnOfferOfALaneThatALaterOneOvertookDoesNoHarm) {
  got("a", "live", 1);
  acks("a", "live", 100);
  at(200);
  got("b", "younger", 4, "r-1");
  at(200 + kSlackMs);
  got("a", "older", 3, "r-1");
  EXPECT_EQ(checker.broken(), std::nullopt);
}

TEST_F(CheckerTest, AnOfferOfALaneThatComesLongAfterALaterOneBreaksItsLease) {
  got("a", "live", 1);
  acks("a", "live", 100);
  at(200);
  got("b", "younger", 4, "r-1");
  at(300);
  got("a", "older", 3, "r-1");
  ASSERT_TRUE(checker.broken());
  EXPECT_NE(checker.broken()->find("a lease is exclusive (11)"), std::string::npos);
}

// The answer was lost with the process.
TEST_F(CheckerTest, ALaneMayTakeWhatTheLastOneHadOnceItsClientHasAcked) {
  got("a", "live", 1);
  acks("a", "live", 100);
  at(200);
  got("a", "first", 1, "r-1");
  checker.settling(Verb::kAck, "a", "first");
  at(300);
  got("b", "second", 1, "r-2");
  EXPECT_EQ(checker.broken(), std::nullopt);
}

TEST_F(CheckerTest, ALaneThatTakesWhatTheLastOneStillHasBreaksItsLease) {
  got("a", "live", 1);
  acks("a", "live", 100);
  at(200);
  got("a", "first", 1, "r-1");
  at(300);
  got("b", "second", 1, "r-2");
  ASSERT_TRUE(checker.broken());
  EXPECT_NE(checker.broken()->find("a lease is exclusive (11)"), std::string::npos);
}

// The process stood still: the client left its stream before that was open.
TEST_F(CheckerTest, WhatLeftToAStreamBeforeTheServerSawItsClientGoIsLostWithIt) {
  at(100);
  checker.stream_closed("a", false);
  at(500);
  got("a", "one", 1);
  checker.stream_gone("a");
  at(500 + kGraceMs);
  got("b", "two", 2);
  EXPECT_EQ(checker.broken(), std::nullopt);
}

TEST_F(CheckerTest, WhatAPollGetsAfterAStreamWasLostIsNot) {
  at(100);
  checker.stream_closed("a", true);
  checker.stream_gone("a");
  at(500);
  got("a", "one", 1);
  at(500 + kGraceMs);
  got("b", "two", 2);
  ASSERT_TRUE(checker.broken());
  EXPECT_NE(checker.broken()->find("a lease is exclusive (11)"), std::string::npos);
}

}  // namespace
}  // namespace ackline::sim

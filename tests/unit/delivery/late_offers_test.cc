// Offers that come back late from the edge: what they undo, and what they must not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct LateOffersTest : testing::Test, Rig {
  LateOffersTest() {
    boot();
    c1 = client("c1", 1);
  }
  ClientNumber c1;
};

// The client's poll ended before its offer came, and its stream got the same delivery.
TEST_F(LateOffersTest, Invariant11APollsOfferThatComesBackDoesNotEndWhatAStreamWasSentAgain) {
  client("c2");
  append();
  d->set_demand(c1, 1);
  run();
  const Offer polled = take().at(0);
  const std::string holder = polled.client == c1 ? "c1" : "c2";
  d->connected(polled.client, now);
  run();
  const std::vector<Offer> streamed = take();
  ASSERT_EQ(streamed.size(), 1U);
  EXPECT_TRUE(streamed[0].resent);
  ASSERT_EQ(streamed[0].id, polled.id);
  d->withdraw(polled.id, now);
  run();
  EXPECT_THAT(take(), IsEmpty()) << "two hold one event";
  EXPECT_EQ(progress().in_flight, 1U);
  EXPECT_TRUE(ack(streamed[0], holder));
}

TEST_F(LateOffersTest, Invariant14TheNextAttemptOfWhatWasSentAgainCanComeBack) {
  append();
  run();
  const Offer polled = take().at(0);
  d->connected(c1, now);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  ASSERT_TRUE(settle(Verb::kNack, take().at(0).id, "c1", 0));
  run();
  const Offer second = take().at(0);
  EXPECT_EQ(second.attempt, 2U);
  d->set_demand(c1, 0);
  d->withdraw(second.id, now);
  EXPECT_EQ(progress().in_flight, 0U);
  d->set_demand(c1, 1);
  run();
  EXPECT_EQ(take().at(0).attempt, 2U);
}

// Its stream broke while the offer waited for its sync: it comes back, and a poll gets the next.
TEST_F(LateOffersTest, Invariant14AnOfferMadeForAStreamThatBrokeComesBackAndAPollGetsAnother) {
  append();
  d->connected(c1, now);
  run();
  const Offer offer = take().at(0);
  EXPECT_TRUE(offer.streamed);
  advance(100);
  d->disconnected(c1, now);
  advance(100);
  EXPECT_GT(d->leave(offer.id, false, now), 0);
  d->withdraw(offer.id, now);
  d->set_demand(c1, 1);
  run();
  const Offer polled = take().at(0);
  EXPECT_FALSE(polled.streamed);
  EXPECT_EQ(polled.attempt, 1U);
  advance(10'000);  // the grace is over
  EXPECT_EQ(progress().in_flight, 1U);
  EXPECT_TRUE(ack(polled));
}

// The stream broke once more while what is sent again waited: the break counts, and so does the
// time since the first sending.
TEST_F(LateOffersTest, Invariant14And23WhatIsSentAgainKeepsItsClockAndTheMarkOfTheBreak) {
  clients[c1].max_lease_ms = 60'000;
  d->add_client(clients[c1], now);
  append();
  d->connected(c1, now);
  run();
  const Offer offer = take().at(0);
  advance(20'000);
  d->disconnected(c1, now);
  d->connected(c1, now);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  const Offer again = take().at(0);
  EXPECT_TRUE(again.resent);
  EXPECT_TRUE(again.after_sync);
  d->disconnected(c1, now);
  EXPECT_GT(d->leave(again.id, true, now), 0);
  EXPECT_EQ(settle(Verb::kExtend, offer.id, "c1", 40'001).error().word(), "lease_limit");
  advance(5'000);
  EXPECT_EQ(progress().in_flight, 0U);
  EXPECT_EQ(counts[DeliveryEvent::kLostClient], 1U);
}

TEST_F(LateOffersTest, AStreamThatComesTwiceBeforeItIsServedIsSentEachOnce) {
  append_many(3);
  d->connected(c1, now);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  ASSERT_EQ(take().size(), 3U);
  d->connected(c1, now);
  d->connected(c1, now);
  run();
  EXPECT_EQ(take().size(), 3U);
}

TEST_F(LateOffersTest, AClientWhoseOfferDidNotLeaveHasRoomForAnother) {
  append_many(3);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(0));
  EXPECT_EQ(d->demand(c1), 0U);
  d->give_back_demand(c1);
  EXPECT_EQ(d->demand(c1), 1U);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(1));
  d->set_demand(c1, Dispatcher::kUnlimited);
  d->give_back_demand(c1);
  EXPECT_EQ(d->demand(c1), Dispatcher::kUnlimited);
  d->give_back_demand(ClientNumber(999));  // gone meanwhile
}

}  // namespace
}  // namespace ackline::delivery

// Attempts, leases, retries, clients that go, restarts and dead letters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct AttemptsTest : testing::Test, Rig {
  AttemptsTest() {
    boot();
    c1 = client("c1");
  }
  ClientNumber c1;
  Offer one() {
    append();
    run();
    std::vector<Offer> got = take();
    EXPECT_EQ(got.size(), 1U);
    return got.at(0);
  }
  void again(std::uint32_t epoch, bool clean = false) {
    boot(epoch, clean);
    for (const auto& [number, spec] : clients) d->set_demand(number, Dispatcher::kUnlimited);
  }
};

TEST_F(AttemptsTest, Invariant9AnEventIsOfferedUntilItIsTerminal) {
  groups[kGroup].policy.max_attempts = 100;
  d->update_group(kGroup, groups[kGroup].policy);
  Offer offer = one();
  for (std::uint32_t attempt = 1; attempt < 20; ++attempt) {
    EXPECT_EQ(offer.attempt, attempt);
    ASSERT_TRUE(settle(Verb::kNack, offer.id, "c1", 10));
    advance(10);
    std::vector<Offer> got = take();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_TRUE(got[0].after_sync);
    offer = got[0];
  }
}

TEST_F(AttemptsTest, Invariant14ExpiryUsesTheAttemptAndWaitsTheBackoff) {
  const Offer offer = one();
  EXPECT_FALSE(offer.after_sync);
  advance(29'999);
  EXPECT_EQ(progress().in_flight, 1U);
  advance(1);
  EXPECT_EQ(progress().in_flight, 0U);
  EXPECT_EQ(withdrawn_ids.size(), 1U);
  advance(799);
  EXPECT_THAT(take(), IsEmpty());
  advance(401);
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].attempt, 2U);
}

TEST_F(AttemptsTest, Invariant14AWithdrawnOfferGivesItsAttemptBack) {
  const Offer offer = one();
  d->set_demand(c1, 0);
  d->withdraw(offer.id, now);
  EXPECT_EQ(progress().waiting, 1U);
  d->set_demand(c1, 1);
  run();
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].attempt, 1U);
  EXPECT_TRUE(got[0].after_sync);
  EXPECT_NE(got[0].id, offer.id);
}

TEST_F(AttemptsTest, Invariant14AfterTheLastAttemptTheEventIsADeadLetter) {
  groups[kGroup].policy.max_attempts = 2;
  d->update_group(kGroup, groups[kGroup].policy);
  Offer offer = one();
  ASSERT_TRUE(settle(Verb::kNack, offer.id, "c1", 0, "first"));
  run();
  offer = take().at(0);
  ASSERT_TRUE(settle(Verb::kNack, offer.id, "c1", 0, "second"));
  ASSERT_EQ(dead_requests.size(), 1U);
  EXPECT_EQ(dead_requests[0].reason, DeadReason::kMaxAttempts);
  EXPECT_EQ(dead_requests[0].attempts, 2U);
  EXPECT_EQ(dead_requests[0].error, "second");
  run();
  EXPECT_EQ(frontier(), 0);  // invariant 17: a dead letter is terminal
  EXPECT_EQ(progress().dead, 1U);
}

TEST_F(AttemptsTest, Invariant16WithTheDiskFullItStaysDeadLetteringAndSaysSo) {
  groups[kGroup].policy.max_attempts = 1;
  d->update_group(kGroup, groups[kGroup].policy);
  dlq_full = true;
  const Offer offer = one();
  advance(30'000);
  EXPECT_EQ(d->blocker(kKey, now).state, BlockerState::kDeadLettering);
  EXPECT_NE(d->blocker(kKey, now).last_error.find("full"), std::string::npos);
  advance(5'000);
  EXPECT_EQ(frontier(), -1);
  again(2);
  dlq_full = false;
  advance(1'100);
  EXPECT_EQ(frontier(), 0);
  EXPECT_EQ(logs[kDlq].size(), 1U);
}

// Upstream 5290: a delivery was retired although persisting had failed; 5292: the dead letter comes
// before the delivery is retired.
TEST_F(AttemptsTest, Upstream5290And5292TheDeadLetterIsWrittenBeforeTheDeliveryIsRetired) {
  groups[kGroup].policy.max_attempts = 1;
  d->update_group(kGroup, groups[kGroup].policy);
  auto_dlq = false;
  one();
  advance(30'000);
  ASSERT_EQ(dead_requests.size(), 1U);
  EXPECT_EQ(records_of(state::RecordType::kSettle), 0U);
  EXPECT_EQ(frontier(), -1);
  boot(2);  // killed in between: nothing is lost
  for (int i = 0; i < 3 && dead_requests.empty(); ++i) advance(1'000);
  answer_dead_letters();
  EXPECT_EQ(frontier(), 0);
  EXPECT_EQ(logs[kDlq].size(), 1U);
}

TEST_F(AttemptsTest, Invariant14ADisconnectKeepsTheLeaseForTheGraceAndAResendKeepsItsClock) {
  d->connected(c1, now);
  const Offer offer = one();
  advance(10'000);
  d->disconnected(c1, now);
  advance(4'999);
  d->connected(c1, now);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(got[0].resent);
  EXPECT_EQ(got[0].id, offer.id);
  EXPECT_EQ(got[0].lease_ms, 15'001);
  d->disconnected(c1, now);
  advance(5'000);
  EXPECT_EQ(progress().in_flight, 0U);
  EXPECT_EQ(counts[DeliveryEvent::kLostClient], 1U);
  EXPECT_EQ(d->clients()[0].in_flight, 0U);
}

// All in one millisecond: what the stream had is lost with it, what a poll got after it is not.
TEST_F(AttemptsTest, Invariant14TheBreakOfAStreamTellsItsLeasesFromThoseOfThePollThatFollows) {
  d->connected(c1, now);
  one();
  d->disconnected(c1, now);
  d->set_demand(c1, 1);
  const Offer polled = one();
  advance(4'999);
  EXPECT_EQ(progress().in_flight, 2U);
  advance(1);
  EXPECT_EQ(counts[DeliveryEvent::kLostClient], 1U);
  EXPECT_EQ(progress().in_flight, 1U);
  run();
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_TRUE(ack(polled));
  EXPECT_EQ(progress().in_flight, 0U);
}

TEST_F(AttemptsTest, Invariant14ADrainLosesNoClientAndGracesBeginAnewAtItsEnd) {
  d->connected(c1, now);
  one();
  advance(1'000);
  d->disconnected(c1, now);
  advance(1'000);
  d->set_draining(true, now);  // from here on it cannot come back
  advance(10'000);
  EXPECT_EQ(progress().in_flight, 1U);
  d->set_draining(false, now);
  advance(4'999);
  EXPECT_EQ(progress().in_flight, 1U);
  EXPECT_EQ(counts[DeliveryEvent::kLostClient], 0U);
  advance(1);
  EXPECT_EQ(progress().in_flight, 0U);
  EXPECT_EQ(counts[DeliveryEvent::kLostClient], 1U);
}

TEST_F(AttemptsTest, Invariant14TheServersOwnRestartEndsNoLeaseAndUsesNoAttempt) {
  const Offer offer = one();
  advance(10'000);
  now = now.plus(3'600'000);  // down for an hour
  again(2);
  EXPECT_EQ(progress().in_flight, 1U);
  EXPECT_EQ(d->blocker(kKey, now).lease_left_ms, 20'000);
  EXPECT_EQ(d->blocker(kKey, now).attempt, 1U);
  EXPECT_TRUE(ack(offer));
}

TEST_F(AttemptsTest, Invariant14AStallMovesEveryLease) {
  one();
  advance(20'000);
  now = now.plus(60'000);
  d->stand_still(now.plus(-60'000));
  d->go_on(now);
  advance(9'999);
  EXPECT_EQ(progress().in_flight, 1U);
  advance(1);
  EXPECT_EQ(progress().in_flight, 0U);
}

TEST_F(AttemptsTest, Invariant14TwentyUncleanStartsMakeADeadLetter) {
  one();
  for (std::uint32_t epoch = 2; epoch < 21; ++epoch) {
    if (epoch == 7) checkpoint();  // counts neither twice nor not at all
    again(epoch);
  }
  EXPECT_EQ(progress().in_flight, 1U);
  again(21);
  ASSERT_EQ(dead_requests.size(), 1U);
  EXPECT_EQ(dead_requests[0].reason, DeadReason::kMaxRestarts);
  run();
  EXPECT_EQ(frontier(), 0);
}

TEST_F(AttemptsTest, Invariant14ACleanStartIsNotCountedWhenAKillFollows) {
  options.restarts_max = 3;
  again(2);
  one();
  again(3, true);
  again(4);  // 1
  again(5, true);
  again(6);  // 2
  checkpoint();
  again(7, true);
  EXPECT_EQ(progress().in_flight, 1U);
  again(8);  // 3
  EXPECT_EQ(dead_requests.size(), 1U);
}

TEST_F(AttemptsTest, Invariant14StartsAreCountedForOneOffer) {
  const Offer first = one();
  for (std::uint32_t epoch = 2; epoch < 16; ++epoch) again(epoch);
  EXPECT_TRUE(settle(Verb::kNack, first.id, "c1"));
  advance(60'000);
  run();
  EXPECT_EQ(progress().in_flight, 1U);  // the second offer
  for (std::uint32_t epoch = 16; epoch < 35; ++epoch) {
    if (epoch == 20) checkpoint();
    again(epoch);
  }
  EXPECT_EQ(progress().in_flight, 1U);
  EXPECT_TRUE(dead_requests.empty());
  again(35);
  EXPECT_EQ(dead_requests.size(), 1U);
}

TEST_F(AttemptsTest, Invariant14AClientHoldsOneSuspectAtATime) {
  append_many(3);
  run();
  EXPECT_EQ(take().size(), 3U);
  for (int i = 0; i < 2; ++i) {  // lose two attempts of each
    advance(30'000);
    advance(1'300);
  }
  // All three are suspects now; one client, so one at a time, beside other work.
  EXPECT_EQ(progress().in_flight, 1U);
  append();
  take();
  run();
  const std::vector<Offer> other = take();
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(other[0].offset, Offset(3));
  client("c2");
  run();
  EXPECT_EQ(take().size(), 1U);
  EXPECT_EQ(progress().in_flight, 3U);
}

TEST_F(AttemptsTest, Invariant15AWaitStandsStillWhileTheProcessIsDown) {
  const Offer offer = one();
  ASSERT_TRUE(settle(Verb::kNack, offer.id, "c1", 10'000));
  advance(7'000);
  now = now.plus(1'000'000);
  again(2);
  advance(2'000);
  EXPECT_THAT(take(), IsEmpty());
  advance(1'100);
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(AttemptsTest, Invariant15AnAliveMarkBoundsWhatARestartDoesNotKnow) {
  advance(1'000'000);  // nothing armed, no marks
  EXPECT_EQ(records_of(state::RecordType::kAlive), 0U);
  one();
  advance(500);
  again(2);
  const std::int64_t left = *d->blocker(kKey, now).lease_left_ms;
  EXPECT_GE(left, 29'000);
  EXPECT_LE(left, 30'000);
}

TEST_F(AttemptsTest, Invariant20AWindowOfEventsAndBytesHoldsAndIsGivenBack) {
  d->set_window(c1, 3, 1'000);
  append_many(10, {.data_bytes = 300});
  run();
  std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 2U);  // 2 × about 360 bytes
  EXPECT_TRUE(ack(got[0]));
  run();
  EXPECT_EQ(take().size(), 1U);
  d->remove_client(c1, now);
  const ClientNumber c2 = client("c2");
  d->set_window(c2, 2, 100'000);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(1, 2));
}

TEST_F(AttemptsTest, Invariant20AnEventLargerThanTheWindowGoesToAClientThatHoldsNothing) {
  d->set_window(c1, 10, 1'000);
  append({.data_bytes = 5'000});
  append();
  run();
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].offset, Offset(0));
  EXPECT_TRUE(ack(got[0]));
  run();
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(AttemptsTest, Invariant20CreditOfALostClientComesBack) {
  d->set_window(c1, 2, 1'000'000);
  append_many(5);
  run();
  EXPECT_EQ(take().size(), 2U);
  d->disconnected(c1, now);
  advance(5'000);
  d->connected(c1, now);
  d->set_demand(c1, Dispatcher::kUnlimited);
  advance(1'300);
  EXPECT_EQ(take().size(), 2U);
}

TEST_F(AttemptsTest, APollTakesWhatItAskedForAndNoMore) {
  d->set_demand(c1, 3);
  append_many(10);
  run();
  EXPECT_EQ(take().size(), 3U);
  EXPECT_EQ(d->demand(c1), 0U);
}

TEST_F(AttemptsTest, ClientsTakeTurnsAndOwnTheirPartitions) {
  partitions[3] = 4;
  boot(2);
  clients[c1].partitions = {PartitionIndex(0)};
  d->add_client(clients[c1], now);
  d->set_demand(c1, Dispatcher::kUnlimited);
  const ClientNumber c2 = client("c2");
  append_many(100);
  for (int i = 0; i < 100; ++i) append({}, PartitionNumber(3));
  run();
  std::map<std::pair<ClientNumber, PartitionNumber>, int> seen;
  for (const Offer& offer : take()) ++seen[{offer.client, offer.partition}];
  EXPECT_EQ((seen[{c1, kPartition}]), 50);
  EXPECT_EQ((seen[{c2, kPartition}]), 50);
  EXPECT_EQ((seen[{c1, PartitionNumber(3)}]), 0);
  EXPECT_EQ((seen[{c2, PartitionNumber(3)}]), 100);
}

TEST_F(AttemptsTest, PausedOffersNothingNewAndSettlesGoOn) {
  const Offer offer = one();
  d->set_paused(true);
  append();
  run();
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_TRUE(ack(offer));
  d->set_paused(false);
  run();
  EXPECT_EQ(take().size(), 1U);
}

// Upstream 5379: recovery acknowledged what was in flight; it has to deliver it.
TEST_F(AttemptsTest, Upstream5379RecoveryDeliversAgainAndDoesNotAck) {
  append_many(3);
  run();
  take();
  again(2);
  EXPECT_EQ(frontier(), -1);
  EXPECT_EQ(progress().in_flight, 3U);
  advance(30'000);
  advance(1'300);
  EXPECT_THAT(take_offsets(), testing::UnorderedElementsAre(0, 1, 2));
}

// Upstream 5294: two broadcast clients at 10 and 5; after a restart the second gets 6 to 10.
TEST_F(AttemptsTest, Upstream5294EachBroadcastClientGoesOnWhereItWas) {
  const ProgressNumber one_group(11);
  const ProgressNumber two_group(12);
  for (const ProgressNumber number : {one_group, two_group}) {
    groups[number] = groups[kGroup];
    groups[number].number = number;
    groups[number].policy.mode = Mode::kBroadcasting;
    d->add_group(groups[number]);
    d->open_progress({number, kPartition}, Offset(0));
  }
  const ClientNumber b1 = client("b1", Dispatcher::kUnlimited, one_group);
  const ClientNumber b2 = client("b2", Dispatcher::kUnlimited, two_group);
  append_many(11);
  run();
  for (const Offer& offer : take()) {
    if (offer.client == b1) EXPECT_TRUE(ack(offer, "b1"));
    if (offer.client == b2 && offer.offset <= Offset(5)) EXPECT_TRUE(ack(offer, "b2"));
  }
  again(2);
  EXPECT_EQ(frontier({one_group, kPartition}), 10);
  EXPECT_EQ(frontier({two_group, kPartition}), 5);
  advance(30'000);
  advance(1'300);
  std::vector<std::int64_t> second;
  for (const Offer& offer : take()) {
    EXPECT_NE(offer.client, b1);
    if (offer.client == b2) second.push_back(offer.offset.value());
  }
  EXPECT_THAT(second, testing::UnorderedElementsAre(6, 7, 8, 9, 10));
}

TEST_F(AttemptsTest, Invariant20ASlowGroupsReplayDoesNotHoldAFastGroup) {
  const ProgressNumber fast(11);
  groups[fast] = groups[kGroup];
  groups[fast].number = fast;
  d->add_group(groups[fast]);
  d->open_progress({fast, kPartition}, Offset(0));
  const ClientNumber f1 = client("f1", Dispatcher::kUnlimited, fast);
  d->set_window(c1, 5, 1'000'000);
  append_many(200);
  run();
  for (const Offer& offer : take()) {
    if (offer.client == f1) EXPECT_TRUE(ack(offer, "f1"));
  }
  EXPECT_EQ(frontier({fast, kPartition}), 199);
  ASSERT_TRUE(d->replay(kKey, Offset(0), false, now));
  append_many(50);
  run();
  int fast_ones = 0;
  for (const Offer& offer : take()) fast_ones += offer.client == f1 ? 1 : 0;
  EXPECT_EQ(fast_ones, 50);
}

}  // namespace
}  // namespace ackline::delivery

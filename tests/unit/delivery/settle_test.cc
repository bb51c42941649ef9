// Ids and settles: which answer, in which order of looking (api.md), and what is journaled.
#include <gtest/gtest.h>

#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

struct SettleTest : testing::Test, Rig {
  SettleTest() {
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
  Offer expire(const Offer& offer) {
    advance(offer.lease_ms);
    advance(1'300);
    std::vector<Offer> got = take();
    EXPECT_EQ(got.size(), 1U);
    return got.at(0);
  }
};

TEST_F(SettleTest, Invariant11OneEventOfOneGroupIsHeldByOneClient) {
  client("c2");
  append_many(100);
  run();
  std::map<Offset, int> times;
  for (const Offer& offer : take()) ++times[offer.offset];
  EXPECT_EQ(times.size(), 100U);
  for (const auto& [offset, count] : times) EXPECT_EQ(count, 1);
}

TEST_F(SettleTest, Invariant12EveryOfferHasAFreshIdAndOnlyTheNewestIsCurrent) {
  const Offer first = one();
  const Offer second = expire(first);
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(first.id.slot, second.id.slot);
  EXPECT_EQ(word(ack(first)), "stale");
  EXPECT_EQ(counts[DeliveryEvent::kStaleAck], 1U);
  const auto done = ack(second);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->status, SettleStatus::kAcked);
  EXPECT_EQ(ack(first)->status, SettleStatus::kAlready);
  EXPECT_EQ(ack(second)->status, SettleStatus::kAlready);
  EXPECT_EQ(word(settle(Verb::kNack, second.id)), "settled");
}

TEST_F(SettleTest, Invariant12ARestoredDeliveryKeepsItsIdUntilItIsOfferedAgain) {
  const Offer offer = one();
  boot(2);
  EXPECT_TRUE(ack(offer));
  EXPECT_EQ(frontier(), 0);
}

TEST_F(SettleTest, Invariant12AnIdOfALostOfferIsStaleThoughTheCounterStartsAgain) {
  append();
  run();
  const Offer lost = take().at(0);
  std::erase_if(journal_records,
                [](const Record& record) { return record.type == state::RecordType::kOffer; });
  boot(2);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  const Offer again = take().at(0);
  EXPECT_EQ(again.id.offer, lost.id.offer);
  EXPECT_EQ(again.id.slot, lost.id.slot);
  EXPECT_EQ(again.attempt, 1U);  // a lost offer is not an attempt
  EXPECT_EQ(word(ack(lost)), "stale");
}

TEST_F(SettleTest, IdsThatCannotBeAreUnknownAndThoseOfDeletedGroupsStale) {
  const Offer offer = one();
  DeliveryId id = offer.id;
  id.epoch = Epoch(9);
  EXPECT_EQ(word(settle(Verb::kAck, id)), "delivery_unknown");
  id = offer.id;
  id.offset = Offset(77);
  EXPECT_EQ(word(settle(Verb::kAck, id)), "stale");
  d->remove_group(kGroup);
  EXPECT_EQ(word(ack(offer)), "stale");
}

TEST_F(SettleTest, OnlyTheHolderSettlesAndOnlyThePrincipalOfTheGroup) {
  const Offer offer = one();
  EXPECT_EQ(word(ack(offer, "c2")), "not_owner");
  EXPECT_EQ(word(ack(offer, "")), "not_owner");
  EXPECT_EQ(counts[DeliveryEvent::kForeignAck], 2U);
  groups[kGroup].principal = "alice";
  d->add_group(groups[kGroup]);
  EXPECT_EQ(word(ack(offer)), "not_owner");
}

TEST_F(SettleTest, WhenTheLeaseIsOverAckAndRejectCountNackIsAlreadyExtendStale) {
  const Offer offer = one();
  advance(30'000);
  EXPECT_EQ(progress().waiting, 1U);
  EXPECT_EQ(settle(Verb::kNack, offer.id)->status, SettleStatus::kAlready);
  EXPECT_EQ(word(settle(Verb::kExtend, offer.id)), "stale");
  EXPECT_EQ(ack(offer)->status, SettleStatus::kAcked);
  EXPECT_EQ(frontier(), 0);
  const Offer other = one();
  advance(30'000);
  const auto rejected = settle(Verb::kReject, other.id);
  ASSERT_TRUE(rejected);
  EXPECT_TRUE(rejected->pending);
  run();
  EXPECT_EQ(frontier(), 1);
}

TEST_F(SettleTest, Invariant13TheSettleRecordIsHandedOverBeforeTheAnswer) {
  const Offer offer = one();
  EXPECT_EQ(records_of(state::RecordType::kSettle), 0U);
  ASSERT_TRUE(ack(offer));
  ASSERT_EQ(records_of(state::RecordType::kSettle), 1U);
  const auto record = state::SettleRecord::decode(as_bytes(journal_records.back().body));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->ranges, (std::vector<OffsetRange>{{Offset(0), Offset(0)}}));
}

TEST_F(SettleTest, Invariant16ARejectIsAnsweredWhenItsDeadLetterIsWritten) {
  const Offer offer = one();
  auto_dlq = false;
  const auto rejected = settle(Verb::kReject, offer.id, "c1", {}, "bad price");
  ASSERT_TRUE(rejected);
  EXPECT_TRUE(rejected->pending);
  EXPECT_EQ(frontier(), -1);
  ASSERT_EQ(dead_requests.size(), 1U);
  EXPECT_EQ(dead_requests[0].id, offer.id);
  EXPECT_EQ(dead_requests[0].error, "bad price");
  // Whoever comes meanwhile is asked again when its outcome is known.
  for (const Verb verb : {Verb::kReject, Verb::kAck, Verb::kNack, Verb::kExtend}) {
    const auto waits = settle(verb, offer.id);
    ASSERT_TRUE(waits);
    EXPECT_TRUE(waits->pending && waits->again);
  }
  EXPECT_FALSE(rejected->again);
  answer_dead_letters();
  EXPECT_EQ(frontier(), 0);
  EXPECT_EQ(settle(Verb::kReject, offer.id)->status, SettleStatus::kAlready);
  EXPECT_EQ(word(ack(offer)), "settled");
  EXPECT_EQ(d->dead_entry(kKey, Offset(0))->dlq, Offset(0));
}

TEST_F(SettleTest, Invariant16ARefusedRejectLeavesTheDeliveryInFlight) {
  const Offer offer = one();
  dlq_full = true;
  ASSERT_TRUE(settle(Verb::kReject, offer.id));
  run();
  EXPECT_EQ(progress().in_flight, 1U);
  EXPECT_EQ(d->blocker(kKey, now).state, BlockerState::kLeased);
  EXPECT_EQ(ack(offer)->status, SettleStatus::kAcked);
}

TEST_F(SettleTest, ARefusedRejectOfAClientThatUnsubscribedMeanwhileGoesToAnother) {
  const Offer offer = one();
  const ClientNumber c2 = client("c2");
  auto_dlq = false;
  dlq_full = true;
  ASSERT_TRUE(settle(Verb::kReject, offer.id));
  d->remove_client(c1, now);
  run();
  EXPECT_TRUE(take().empty());  // its dead letter is on its way
  answer_dead_letters();
  run();
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].client, c2);
  EXPECT_EQ(got[0].attempt, 2U);
}

TEST_F(SettleTest, Invariant14ARefusedRejectOfAClientThatWasLostMeanwhileIsLostWithIt) {
  d->connected(c1, now);
  const Offer offer = one();
  const ClientNumber c2 = client("c2");
  auto_dlq = false;
  dlq_full = true;
  ASSERT_TRUE(settle(Verb::kReject, offer.id));
  d->disconnected(c1, now);
  advance(5'000);
  EXPECT_EQ(progress().in_flight, 1U);
  answer_dead_letters();
  EXPECT_EQ(progress().in_flight, 0U);
  EXPECT_EQ(counts[DeliveryEvent::kLostClient], 1U);
  advance(1'300);
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].client, c2);
}

TEST_F(SettleTest, Invariant14ARefusedRejectWithinTheGraceOrADrainKeepsItsLease) {
  d->connected(c1, now);
  const Offer offer = one();
  auto_dlq = false;
  dlq_full = true;
  ASSERT_TRUE(settle(Verb::kReject, offer.id));
  d->disconnected(c1, now);
  advance(4'000);
  answer_dead_letters();
  EXPECT_EQ(progress().in_flight, 1U);  // it may come back
  d->set_draining(true, now);
  ASSERT_TRUE(settle(Verb::kReject, offer.id));
  advance(5'000);
  answer_dead_letters();
  EXPECT_EQ(progress().in_flight, 1U);  // nobody is lost in a drain
  d->set_draining(false, now);
  advance(5'000);
  EXPECT_EQ(progress().in_flight, 0U);
}

TEST_F(SettleTest, Invariant23ExtendingHasAHardTotal) {
  clients[c1].max_lease_ms = 60'000;
  d->add_client(clients[c1], now);
  const Offer offer = one();
  advance(20'000);
  const auto extended = settle(Verb::kExtend, offer.id, "c1", 30'000);
  ASSERT_TRUE(extended);
  EXPECT_EQ(extended->lease_ms, 30'000);
  advance(25'000);
  EXPECT_EQ(word(settle(Verb::kExtend, offer.id, "c1", 15'001)), "lease_limit");
  EXPECT_EQ(d->blocker(kKey, now).lease_left_ms, 5'000);  // the old end stands
  EXPECT_TRUE(settle(Verb::kExtend, offer.id, "c1", 15'000));
  advance(14'999);
  EXPECT_EQ(progress().in_flight, 1U);
  advance(1);
  EXPECT_EQ(progress().in_flight, 0U);
}

TEST_F(SettleTest, ALastHolderThatUnsubscribedStillSettlesUntilItIsOfferedAgain) {
  const Offer offer = one();
  d->remove_client(c1, now);
  EXPECT_EQ(ack(offer)->status, SettleStatus::kAcked);
}

// Upstream apache/eventmesh 5291: a late ack matched a delivery that used the same id again.
TEST_F(SettleTest, Upstream5291AStaleAckNeverMatchesAReusedSlot) {
  const Offer first = one();
  ASSERT_TRUE(ack(first));
  const Offer second = one();
  EXPECT_EQ(first.id.slot, second.id.slot);
  EXPECT_EQ(ack(first)->status, SettleStatus::kAlready);
  EXPECT_EQ(progress().in_flight, 1U);
  EXPECT_EQ(frontier(), 0);
}

}  // namespace
}  // namespace ackline::delivery

// Progress: frontier, gaps, holes, explain, retention, replay and reset, as a dispatcher keeps
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct ProgressTest : testing::Test, Rig {
  ProgressTest() {
    boot();
    client("c1");
  }
};

TEST_F(ProgressTest, Invariant1TheFrontierNeverPassesAHoleAndWalksInOneStep) {
  append_many(5);
  run();
  std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 5U);
  for (const int i : {0, 2, 3, 4}) EXPECT_TRUE(ack(got[static_cast<std::size_t>(i)]));
  EXPECT_EQ(frontier(), 0);
  EXPECT_EQ(progress().settled_ahead, 3U);
  EXPECT_TRUE(ack(got[1]));
  EXPECT_EQ(frontier(), 4);
  EXPECT_EQ(progress().settled_ahead, 0U);
}

TEST_F(ProgressTest, Invariant2AGapIsNotWaitedFor) {
  append();
  gap(3);
  append();
  run();
  std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_TRUE(ack(got[0]));
  EXPECT_TRUE(ack(got[1]));
  EXPECT_EQ(frontier(), 4);
  gap(2);
  run();
  EXPECT_EQ(frontier(), 6);
}

TEST_F(ProgressTest, Invariant3SettledPastAHoleIsKnownAfterAKill) {
  append_many(200);
  run();
  std::vector<Offer> got = take();
  for (std::size_t i = 1; i < got.size(); i += 2) EXPECT_TRUE(ack(got[i]));
  boot(2);
  d->set_demand(clients.begin()->first, Dispatcher::kUnlimited);
  EXPECT_EQ(progress().settled_ahead, 100U);
  EXPECT_EQ(progress().holes, 100U);  // before anything is read again
  run();
  EXPECT_THAT(take(), IsEmpty());
  for (std::size_t i = 0; i < got.size(); i += 2) EXPECT_TRUE(ack(got[i]));
  EXPECT_EQ(frontier(), 199);
}

TEST_F(ProgressTest, Invariant4TheStartIsJournaledOnceAndKept) {
  append_many(10);
  const ProgressNumber other(11);
  groups[other] = groups[kGroup];
  groups[other].number = other;
  d->add_group(groups[other]);
  starts[{other, kPartition}] = Offset(7);
  d->open_progress({other, kPartition}, Offset(7));
  EXPECT_EQ(frontier({other, kPartition}), 6);
  starts[{other, kPartition}] = Offset(10);  // "latest" resolved anew would be this
  boot(2);
  EXPECT_EQ(frontier({other, kPartition}), 6);
}

TEST_F(ProgressTest, Invariant5ReplayIsANewGenerationAndKeepsWhatIsInFlight) {
  append_many(6);
  run();
  std::vector<Offer> got = take();
  for (const std::size_t i : {0U, 1U, 2U, 4U}) EXPECT_TRUE(ack(got[i]));
  const auto dry = d->replay(kKey, Offset(1), true, now);
  ASSERT_TRUE(dry);
  EXPECT_EQ(dry->reopened, 3U);
  EXPECT_EQ(frontier(), 2);
  const auto done = d->replay(kKey, Offset(1), false, now);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->generation, Generation(2));
  EXPECT_EQ(frontier(), 0);
  run();
  const std::vector<Offer> again = take();
  ASSERT_EQ(again.size(), 3U);
  EXPECT_EQ(again[0].offset, Offset(1));
  EXPECT_EQ(again[0].attempt, 1U);
  EXPECT_TRUE(again[0].after_sync);
  EXPECT_TRUE(ack(got[3]));  // in flight before, its id still counts
  EXPECT_EQ(word(ack(got[4])), "stale");
  for (const Offer& offer : again) EXPECT_TRUE(ack(offer));
  EXPECT_TRUE(ack(got[5]));
  EXPECT_EQ(frontier(), 5);
}

TEST_F(ProgressTest, Invariant5ReplayAboveAHoleLeavesWhatIsSettledBelowIt) {
  append_many(6);
  run();
  std::vector<Offer> got = take();
  for (const std::size_t i : {1U, 2U, 3U, 4U}) EXPECT_TRUE(ack(got[i]));
  ASSERT_TRUE(d->replay(kKey, Offset(3), false, now));
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(3, 4));
  boot(2);
  EXPECT_EQ(progress().settled_ahead, 2U);
  EXPECT_EQ(progress().generation, Generation(2));
}

TEST_F(ProgressTest, AReplaySaysWhereItsEventsLieAndBoundsTheList) {
  const auto count = 2 * static_cast<int>(ReopenReport::kRangesMax) + 10;
  append_many(count);
  for (const auto& [number, client] : clients) d->set_window(number, 5000, 1U << 30U);
  run();
  std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), static_cast<std::size_t>(count));
  for (const std::size_t i : {0U, 1U, 3U, 4U, 6U}) EXPECT_TRUE(ack(got[i]));
  using Ranges = std::vector<OffsetRange>;
  EXPECT_EQ(d->replay(kKey, Offset(1), true, now)->ranges,
            (Ranges{{Offset(1), Offset(1)}, {Offset(3), Offset(4)}, {Offset(6), Offset(6)}}));
  EXPECT_EQ(d->replay(kKey, Offset(4), true, now)->ranges,
            (Ranges{{Offset(4), Offset(4)}, {Offset(6), Offset(6)}}));
  EXPECT_EQ(d->replay(kKey, Offset(7), true, now)->ranges, Ranges{});
  for (std::size_t i = 8; i < got.size(); i += 2) EXPECT_TRUE(ack(got[i]));
  const auto many = d->replay(kKey, Offset(0), true, now);
  ASSERT_EQ(many->ranges.size(), ReopenReport::kRangesMax);
  EXPECT_EQ(many->ranges.back().last, Offset(count - 2));
}

TEST_F(ProgressTest, Invariant5ResetDropsWhatIsInFlight) {
  append_many(6);
  run();
  std::vector<Offer> got = take();
  EXPECT_TRUE(ack(got[0]));
  const auto done = d->reset(kKey, Offset(4), false, now);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->dropped_in_flight, 5U);
  EXPECT_EQ(done->skipped, 3U);
  EXPECT_EQ(frontier(), 3);
  EXPECT_EQ(word(settle(Verb::kNack, got[1].id)), "settled");
  EXPECT_EQ(word(ack(got[5])), "stale");
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(4, 5));
  EXPECT_EQ(word(settle(Verb::kAck, got[5].id)), "stale");  // the slot is used again, the offer not
  EXPECT_FALSE(d->reset(kKey, Offset(7), false, now));
}

TEST_F(ProgressTest, Invariant5AFrontierBeyondTheLogIsNotTrusted) {
  append_many(6);
  run();
  for (const Offer& offer : take()) EXPECT_TRUE(ack(offer));
  logs[kPartition].clear();
  ends[kPartition] = Offset(0);
  boot(2);
  EXPECT_EQ(frontier(), -1);
  EXPECT_EQ(progress().generation, Generation(2));
}

TEST_F(ProgressTest, Invariant7AHoleSaysWhoHoldsItSinceWhenAndWhy) {
  append_many(4);
  run();
  std::vector<Offer> got = take();
  for (const std::size_t i : {0U, 2U, 3U}) EXPECT_TRUE(ack(got[i]));
  advance(12'000);
  BlockerReport blocker = d->blocker(kKey, now);
  EXPECT_EQ(blocker.offset, Offset(1));
  EXPECT_EQ(blocker.state, BlockerState::kLeased);
  EXPECT_EQ(blocker.client_id, "c1");
  EXPECT_EQ(blocker.id, got[1].id);
  EXPECT_EQ(blocker.settled_behind, 2U);
  EXPECT_EQ(blocker.lease_left_ms, 18'000);
  EXPECT_EQ(blocker.since, now.plus(-12'000));
  EXPECT_TRUE(settle(Verb::kNack, got[1].id, "c1", 5'000, "no price"));
  blocker = d->blocker(kKey, now);
  EXPECT_EQ(blocker.state, BlockerState::kWaitingRetry);
  EXPECT_EQ(blocker.next_attempt_in_ms, 5'000);
  EXPECT_EQ(blocker.last_error, "no price");
  const HolePage page = d->holes(kKey, Offset(0), 10);
  ASSERT_EQ(page.holes.size(), 1U);
  EXPECT_EQ(page.holes[0].from, Offset(1));
  EXPECT_EQ(page.holes[0].waiting, 1U);
  EXPECT_EQ(page.total, 1U);
}

TEST_F(ProgressTest, HolesComeInPages) {
  append_many(20);
  run();
  const std::vector<Offer> got = take();
  for (std::size_t i = 1; i < 20; i += 2) EXPECT_TRUE(ack(got[i]));
  const HolePage first = d->holes(kKey, Offset(0), 4);
  ASSERT_EQ(first.holes.size(), 4U);
  EXPECT_EQ(first.total, 10U);
  ASSERT_TRUE(first.next);
  EXPECT_EQ(*first.next, Offset(8));
  EXPECT_EQ(d->holes(kKey, *first.next, 100).holes.size(), 6U);
}

TEST_F(ProgressTest, Invariant20TheBoundPastTheFrontierHoldsAndIsNamed) {
  options.ahead_max = 10;
  boot(2);
  d->set_demand(clients.begin()->first, Dispatcher::kUnlimited);
  append_many(30);
  run();
  std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 10U);
  for (std::size_t i = 1; i < 10; ++i) EXPECT_TRUE(ack(got[i]));
  run();
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_TRUE(d->blocker(kKey, now).ahead_limited);
  EXPECT_TRUE(ack(got[0]));
  run();
  EXPECT_EQ(take().size(), 10U);
}

TEST_F(ProgressTest, Invariant30WhatRetentionTookIsGoneAndCounted) {
  append_many(10);
  run();
  std::vector<Offer> got = take();
  EXPECT_TRUE(ack(got[2]));
  log_starts[kPartition] = Offset(5);
  d->on_log_start(kPartition, Offset(5));
  EXPECT_EQ(frontier(), 4);
  EXPECT_EQ(progress().gone, 4U);
  EXPECT_TRUE(progress().clamped);
  EXPECT_EQ(counts[DeliveryEvent::kGone], 4U);
  const auto late = ack(got[1]);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, SettleStatus::kAlready);
  EXPECT_EQ(d->held_from(kPartition), Offset(5));
  EXPECT_EQ(progress().in_flight, 5U);
  boot(2);
  EXPECT_EQ(frontier(), 4);
  EXPECT_EQ(progress().gone, 4U);
}

TEST_F(ProgressTest, AReadThatPendsIsTakenWhenItComes) {
  reads_pend = true;
  append_many(3);
  run();
  EXPECT_THAT(take(), IsEmpty());
  ASSERT_EQ(pending_reads.size(), 1U);
  reads_pend = false;
  d->on_read(kKey, Offset(0), batch(kPartition, Offset(0), 2), now);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(0, 1, 2));
}

// The page that was missing a moment ago is there when the shard looks once more.
TEST_F(ProgressTest, AReadThatComesWhileItIsAskedForIsNotWaitedForTwice) {
  reads_come_at_once = true;
  append_many(3);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(0, 1, 2));
  append_many(2);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(3, 4));
}

TEST_F(ProgressTest, AReadThatFailsIsTriedAgainAfterAWait) {
  reads_fail = true;
  append_many(3);
  run();
  reads_fail = false;
  run();
  EXPECT_THAT(take(), IsEmpty());
  advance(1'100);
  EXPECT_THAT(take_offsets(), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace ackline::delivery

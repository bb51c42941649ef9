// Lanes: redrive of dead letters beside the group's progress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr ProgressNumber kLane{50};

struct LaneTest : testing::Test, Rig {
  LaneTest() {
    groups[kGroup].policy.max_attempts = 2;
    boot();
    c1 = client("c1");
    // 0 to 3 are dead letters, 4 is in flight, 5 is done.
    append_many(6);
    run();
    const std::vector<Offer> got = take();
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(settle(Verb::kReject, got[i].id));
    EXPECT_TRUE(ack(got[5]));
    run();
    in_flight = got[4];
    EXPECT_EQ(frontier(), 3);
  }
  LanePartReport redrive(std::vector<Offset> sources = {}, std::uint32_t rate = 0,
                         ProgressNumber lane = kLane) {
    for (Offset& one : sources) {
      const auto found = d->dead_entry(kKey, one);
      one = found ? found->dlq : Offset(999);
    }
    const auto report = d->start_lane({.lane = lane,
                                       .group = kGroup,
                                       .partition = kPartition,
                                       .entries = std::move(sources),
                                       .rate_milli = std::uint64_t{rate} * 1000},
                                      now);
    EXPECT_TRUE(report.has_value());
    run();
    return *report;
  }
  EntryState entry(std::int64_t source) { return d->dead_entry(kKey, Offset(source))->state; }
  ClientNumber c1;
  Offer in_flight;
};

TEST_F(LaneTest, Invariant18ARedriveIsDeliveredToTheGroupAndMovesNoFrontier) {
  const LanePartReport report = redrive();
  EXPECT_EQ(report.taken, 4U);
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 4U);
  EXPECT_EQ(got[1].lane, kLane);
  EXPECT_EQ(got[1].group, kGroup);
  EXPECT_EQ(got[1].offset, Offset(1));
  EXPECT_EQ(got[1].lane_entry, d->dead_entry(kKey, Offset(1))->dlq);
  EXPECT_EQ(got[1].attempt, 1U);
  EXPECT_TRUE(got[1].after_sync);  // its group offered it before
  EXPECT_EQ(entry(1), EntryState::kRedriving);
  const ProgressReport before = progress();
  for (const Offer& offer : got) EXPECT_TRUE(ack(offer));
  EXPECT_EQ(progress().frontier, before.frontier);
  EXPECT_EQ(progress().settled_ahead, before.settled_ahead);
  EXPECT_EQ(progress().in_flight, before.in_flight);
  EXPECT_EQ(entry(1), EntryState::kResolved);
  EXPECT_EQ(d->lane(kLane).resolved, 4U);
  EXPECT_THAT(lanes_done, ElementsAre(kLane));
  EXPECT_EQ(ack(got[0])->status, SettleStatus::kAlready);
}

TEST_F(LaneTest, ARedriveThatWentWellIsCountedAsOneThatFailedIs) {
  redrive({Offset(1), Offset(2)});
  std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_TRUE(ack(got[0]));
  ASSERT_TRUE(settle(Verb::kReject, got[1].id, "c1", {}, "no"));
  redrive({Offset(2)}, 0, ProgressNumber(51));
  got = take();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(ack(got[0]));
  for (const std::uint32_t epoch : {1U, 2U, 3U}) {
    if (epoch == 3) checkpoint();
    if (epoch > 1) boot(epoch);
    EXPECT_EQ(d->dead_entry(kKey, Offset(0))->redrives, 0U) << epoch;
    EXPECT_EQ(d->dead_entry(kKey, Offset(1))->redrives, 1U) << epoch;
    EXPECT_EQ(entry(2), EntryState::kResolved);
    EXPECT_EQ(d->dead_entry(kKey, Offset(2))->redrives, 2U) << epoch;
  }
}

TEST_F(LaneTest, Invariant18ARedriveThatFailsUpdatesItsDeadLetter) {
  redrive({Offset(2)});
  Offer offer = take().at(0);
  ASSERT_TRUE(settle(Verb::kNack, offer.id, "c1", 0));
  run();
  offer = take().at(0);
  EXPECT_EQ(offer.attempt, 2U);
  ASSERT_TRUE(settle(Verb::kNack, offer.id, "c1", 0, "still bad"));
  const DeadEntry dead = *d->dead_entry(kKey, Offset(2));
  EXPECT_EQ(dead.state, EntryState::kDead);
  EXPECT_EQ(dead.redrives, 1U);
  EXPECT_EQ(dead.last_error, "still bad");
  EXPECT_EQ(logs[kDlq].size(), 4U);  // the same entry, no new record
  EXPECT_EQ(d->lane(kLane).dead_again, 1U);
  EXPECT_EQ(settle(Verb::kReject, offer.id)->status, SettleStatus::kAlready);
  EXPECT_EQ(word(ack(offer)), "settled");
}

TEST_F(LaneTest, Invariant18ARejectOnALaneIsAnsweredAtOnce) {
  redrive({Offset(2)});
  const auto rejected = settle(Verb::kReject, take().at(0).id, "c1", {}, "no");
  ASSERT_TRUE(rejected);
  EXPECT_FALSE(rejected->pending);
  EXPECT_EQ(d->dead_entry(kKey, Offset(2))->last_error, "no");
}

TEST_F(LaneTest, Invariant18OnlyDeadEntriesAreTakenSoARepeatDoesNothing) {
  EXPECT_EQ(redrive().taken, 4U);
  EXPECT_EQ(redrive({}, 0, ProgressNumber(51)).taken, 0U);
  EXPECT_EQ(redrive().taken, 4U);  // the part is there already
  EXPECT_EQ(take().size(), 4U);
}

TEST_F(LaneTest, Invariant18ALaneGoesOnAfterAKill) {
  redrive();
  const std::vector<Offer> got = take();
  EXPECT_TRUE(ack(got[0]));
  for (const bool with_checkpoint : {false, true}) {
    if (with_checkpoint) checkpoint();
    boot(with_checkpoint ? 3 : 2);
    EXPECT_EQ(entry(0), EntryState::kResolved);
    EXPECT_EQ(entry(1), EntryState::kRedriving);
    EXPECT_EQ(d->lane(kLane).left, 3U);
    EXPECT_EQ(d->lane(kLane).offered, 4U);
  }
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(ack(got[i]));
  EXPECT_EQ(d->lane(kLane).left, 0U);
  EXPECT_EQ(lanes_done.size(), 1U);
}

TEST_F(LaneTest, Invariant18ALanesLossOfItsLeaseIsRetriedThere) {
  redrive({Offset(3)});
  take();
  advance(30'000);
  advance(1'300);
  const std::vector<Offer> got = take();
  int lane_offers = 0;
  for (const Offer& offer : got) lane_offers += offer.lane ? 1 : 0;
  EXPECT_EQ(lane_offers, 1);
}

TEST_F(LaneTest, Invariant18TheRateIsKept) {
  redrive({}, 2);
  EXPECT_EQ(take().size(), 1U);
  advance(499);
  EXPECT_THAT(take(), IsEmpty());
  advance(1);
  EXPECT_EQ(take().size(), 1U);
  advance(500);
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(LaneTest, Invariant18ReplayOverALaneEndsItAndItsEntriesAreDeadAgain) {
  redrive();
  const std::vector<Offer> got = take();
  EXPECT_TRUE(ack(got[0]));
  ASSERT_TRUE(d->replay(kKey, Offset(1), false, now));
  EXPECT_EQ(entry(0), EntryState::kResolved);
  EXPECT_EQ(entry(1), EntryState::kDead);
  EXPECT_EQ(word(ack(got[1])), "stale");
  EXPECT_EQ(lanes_done.size(), 1U);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(1, 2, 3, 5));  // one live slot per event
  EXPECT_EQ(redrive({}, 0, ProgressNumber(51)).taken, 0U);
  boot(2);
  EXPECT_EQ(entry(1), EntryState::kDead);
  EXPECT_EQ(d->lane(kLane).left, 0U);
}

TEST_F(LaneTest, Invariant18EndingALaneMakesItsIdsStale) {
  redrive();
  const std::vector<Offer> got = take();
  d->end_lane(kLane, now);
  EXPECT_EQ(word(ack(got[0])), "stale");
  EXPECT_EQ(entry(0), EntryState::kDead);
  EXPECT_EQ(d->dead_entry(kKey, Offset(0))->redrives, 0U);
  boot(2);
  EXPECT_EQ(entry(0), EntryState::kDead);
  EXPECT_EQ(d->lane(kLane).left, 0U);
}

TEST_F(LaneTest, Invariant18ADoneLaneKeepsItsCountsAndItsAnswersOnly) {
  redrive();
  const std::vector<Offer> got = take();
  EXPECT_TRUE(ack(got[0]));
  EXPECT_THAT(d->reduce_lane(kLane), IsEmpty()) << "it is not done";
  EXPECT_TRUE(ack(got[1]));
  EXPECT_TRUE(ack(got[2]));
  EXPECT_TRUE(settle(Verb::kReject, got[3].id));
  const std::size_t before = d->memory_bytes();
  EXPECT_THAT(d->reduce_lane(kLane), ElementsAre(ProgressKey{kLane, kPartition}));
  EXPECT_LT(d->memory_bytes(), before);
  EXPECT_EQ(d->lane(kLane).resolved, 3U);
  EXPECT_EQ(d->lane(kLane).dead_again, 1U);
  for (std::uint32_t epoch = 1; epoch < 3; ++epoch) {
    if (epoch == 2) {
      checkpoint();
      boot(epoch);
      static_cast<void>(d->reduce_lane(kLane));
    }
    EXPECT_EQ(d->lane(kLane).left, 0U);
    EXPECT_EQ(ack(got[0])->status, SettleStatus::kAlready);
    EXPECT_EQ(settle(Verb::kReject, got[3].id)->status, SettleStatus::kAlready);
    EXPECT_EQ(word(ack(got[3])), "settled");
  }
}

TEST_F(LaneTest, PurgedEntriesAreNeitherDeadNorRedriven) {
  const std::vector<Offset> which = {d->dead_entry(kKey, Offset(0))->dlq,
                                     d->dead_entry(kKey, Offset(1))->dlq, Offset(999)};
  EXPECT_EQ(d->purge_dead(kKey, which), 2U);
  EXPECT_EQ(progress().dead, 2U);
  boot(2);
  EXPECT_EQ(entry(0), EntryState::kPurged);
  d->set_demand(c1, Dispatcher::kUnlimited);
  EXPECT_EQ(redrive().taken, 2U);
}

// Dead letters have no retention but this: what was purged from the beginning on needs no memory.
TEST_F(LaneTest, WhatWasPurgedAndIsGoneFromTheLogIsForgotten) {
  const Offset first = d->dead_entry(kKey, Offset(0))->dlq;
  const Offset second = d->dead_entry(kKey, Offset(1))->dlq;
  ASSERT_EQ(d->purge_dead(kKey, std::vector<Offset>{first}), 1U);
  d->on_log_start(kDlq, second.next());
  EXPECT_FALSE(d->dead_entry(kKey, Offset(0)));
  EXPECT_EQ(entry(1), EntryState::kDead) << "only what was purged";
  EXPECT_EQ(progress().dead, 3U);
  boot(2);
  EXPECT_EQ(entry(1), EntryState::kDead);
}

TEST_F(LaneTest, ADeadLetterOfAnEarlierGenerationNoLongerAnswersForItsEvent) {
  ASSERT_TRUE(d->replay(kKey, Offset(0), false, now));
  run();
  for (const Offer& offer : take()) EXPECT_TRUE(ack(offer));
  EXPECT_TRUE(ack(in_flight));
  EXPECT_EQ(frontier(), 5);
  DeliveryId old = in_flight.id;
  old.offset = Offset(0);
  EXPECT_EQ(settle(Verb::kAck, old)->status, SettleStatus::kAlready);
  EXPECT_EQ(redrive().taken, 4U);  // still dead letters, and terminal
}

// Settled up to 3 and 5; 4 is the hole. A replay from 3 covers the last dead letter alone.
TEST_F(LaneTest, Invariant18AReplayEndsOfALaneExactlyWhatItCovers) {
  redrive();
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 4U);
  ASSERT_TRUE(d->replay(kKey, Offset(3), false, now));
  EXPECT_EQ(word(ack(got[3])), "stale");
  EXPECT_EQ(entry(3), EntryState::kDead);
  for (const std::uint32_t epoch : {1U, 2U}) {
    if (epoch == 2) boot(epoch);  // and after a restart
    EXPECT_EQ(d->lane(kLane).left, 3U);
    EXPECT_EQ(entry(2), EntryState::kRedriving);
  }
  EXPECT_TRUE(ack(got[2]));
  EXPECT_EQ(entry(2), EntryState::kResolved);
  EXPECT_TRUE(ack(got[0]));
  EXPECT_TRUE(ack(got[1]));
  EXPECT_EQ(lanes_done.size(), 1U);
}

// Past the frontier, too: what is settled below the first offset of the replay stays as it is.
TEST_F(LaneTest, Invariant18AReplayFromPastTheFrontierLeavesWhatIsBelowIt) {
  append_many(3);  // 6 to 8
  run();
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 3U);
  for (const Offer& offer : got) ASSERT_TRUE(settle(Verb::kReject, offer.id));
  run();
  redrive({Offset(6), Offset(7)});
  const std::vector<Offer> again = take();
  ASSERT_EQ(again.size(), 2U);
  ASSERT_TRUE(d->replay(kKey, Offset(7), false, now));
  for (const std::uint32_t epoch : {1U, 2U}) {
    if (epoch == 2) boot(epoch);
    EXPECT_EQ(frontier(), 3);
    EXPECT_EQ(progress().settled_ahead, 2U);  // 5 and 6
    EXPECT_EQ(word(settle(Verb::kAck, got[0].id)), "settled");
    EXPECT_EQ(word(ack(again[1])), "stale");
    EXPECT_EQ(entry(6), EntryState::kRedriving);
  }
  EXPECT_TRUE(ack(again[0]));
  EXPECT_EQ(entry(6), EntryState::kResolved);
}

}  // namespace
}  // namespace ackline::delivery

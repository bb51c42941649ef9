// Lanes: replay of chosen events beside the group's progress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr ProgressNumber kLane{50};
constexpr ProgressNumber kOther{51};

struct ReplayLaneTest : testing::Test, Rig {
  ReplayLaneTest() {
    groups[kGroup].policy.max_attempts = 2;
    boot();
    c1 = client("c1");
    // 0 to 3 are done, 4 is a dead letter, 5 is in flight, 6 is done past it.
    append_many(7);
    run();
    const std::vector<Offer> got = take();
    for (const std::size_t i : {0U, 1U, 2U, 3U, 6U}) EXPECT_TRUE(ack(got[i]));
    EXPECT_TRUE(settle(Verb::kReject, got[4].id));
    run();
    in_flight = got[5];
    EXPECT_EQ(frontier(), 4);
  }
  LanePartReport replay(std::vector<std::int64_t> sources, ProgressNumber lane = kLane) {
    LanePart part{.lane = lane,
                  .group = kGroup,
                  .partition = kPartition,
                  .kind = state::LaneKind::kReplay,
                  .entries = {}};
    for (const std::int64_t one : sources) part.entries.emplace_back(one);
    const auto report = d->start_lane(std::move(part), now);
    EXPECT_TRUE(report.has_value());
    run();
    return *report;
  }
  // Until its attempts are used up.
  void fail_all(Offer offer) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(settle(Verb::kNack, offer.id, "c1", 0, "bad again"));
      run();
      const std::vector<Offer> got = take();
      if (got.empty()) return;
      offer = got.front();
    }
    ADD_FAILURE() << "it is still offered";
  }
  ClientNumber c1;
  Offer in_flight;
};

TEST_F(ReplayLaneTest, Invariant18AReplayDeliversEventsAgainAndMovesNoFrontier) {
  const ProgressReport before = progress();
  const LanePartReport report = replay({1, 3, 6});
  EXPECT_EQ(report.taken, 3U);
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].lane, kLane);
  EXPECT_EQ(got[0].group, kGroup);
  EXPECT_EQ(got[0].offset, Offset(1));
  EXPECT_EQ(got[0].event.offset, Offset(1));
  EXPECT_EQ(got[0].lane_entry, Offset(-1));
  EXPECT_EQ(got[0].attempt, 1U);
  for (const Offer& offer : got) EXPECT_TRUE(ack(offer));
  EXPECT_EQ(progress().frontier, before.frontier);
  EXPECT_EQ(progress().settled_ahead, before.settled_ahead);
  EXPECT_EQ(progress().in_flight, before.in_flight);
  EXPECT_EQ(progress().generation, before.generation);
  EXPECT_EQ(d->lane(kLane).resolved, 3U);
  EXPECT_THAT(lanes_done, ElementsAre(kLane));
  EXPECT_EQ(ack(got[0])->status, SettleStatus::kAlready);
  EXPECT_EQ(word(settle(Verb::kNack, got[0].id)), "settled");
}

TEST_F(ReplayLaneTest, Invariant18ItTakesTerminalEventsOnly) {
  EXPECT_THAT(d->replayable(kKey, std::vector{Offset(3), Offset(5), Offset(6), Offset(7)}),
              ElementsAre(Offset(3), Offset(6)));
  EXPECT_EQ(replay({3, 5, 6, 7}).taken, 2U);
  EXPECT_THAT(take_offsets(), ElementsAre(3, 6));
  EXPECT_TRUE(ack(in_flight));
  EXPECT_EQ(frontier(), 6);
}

TEST_F(ReplayLaneTest, Invariant18AnEventIsUnderWayInOneLaneAtMost) {
  EXPECT_EQ(replay({1, 4}).taken, 2U);
  EXPECT_EQ(replay({0, 1, 4}, kOther).taken, 1U);
  EXPECT_EQ(replay({1, 4}).taken, 2U);  // the part is there already
  EXPECT_THAT(take_offsets(), ElementsAre(1, 4, 0));
  // Also not in a redrive: its entry goes along with the replay.
  const auto redriven = d->start_lane(
      {.lane = ProgressNumber(52), .group = kGroup, .partition = kPartition, .entries = {}}, now);
  ASSERT_TRUE(redriven);
  EXPECT_EQ(redriven->taken, 0U);
}

TEST_F(ReplayLaneTest, Invariant18ADeadLetterThatIsReplayedIsItsRedrive) {
  replay({4});
  const Offer offer = take().at(0);
  EXPECT_EQ(offer.offset, Offset(4));
  EXPECT_EQ(offer.lane_entry, d->dead_entry(kKey, Offset(4))->dlq);
  EXPECT_EQ(d->dead_entry(kKey, Offset(4))->state, EntryState::kRedriving);
  EXPECT_TRUE(ack(offer));
  EXPECT_EQ(d->dead_entry(kKey, Offset(4))->state, EntryState::kResolved);
}

TEST_F(ReplayLaneTest, Invariant18AReplayThatFailsMakesADeadLetterOfTheGroup) {
  replay({2});
  const auto dlq_before = logs[kDlq].size();
  const Offer offer = take().at(0);
  fail_all(offer);
  EXPECT_EQ(logs[kDlq].size(), dlq_before + 1);
  for (const std::uint32_t epoch : {1U, 2U, 3U}) {
    if (epoch == 3) checkpoint();
    if (epoch > 1) boot(epoch);
    const auto dead = d->dead_entry(kKey, Offset(2));
    ASSERT_TRUE(dead) << epoch;
    EXPECT_EQ(dead->state, EntryState::kDead);
    EXPECT_EQ(dead->dlq, Offset(static_cast<std::int64_t>(dlq_before)));
    EXPECT_EQ(dead->redrives, 0U);
    EXPECT_EQ(d->lane(kLane).dead_again, 1U);
    EXPECT_EQ(d->lane(kLane).left, 0U);
    EXPECT_EQ(frontier(), 4);
  }
  EXPECT_EQ(word(ack(offer)), "settled");
}

TEST_F(ReplayLaneTest, Invariant16AnEventThatDiesTwiceInOneGenerationIsOneDeadLetter) {
  replay({4});
  EXPECT_TRUE(ack(take().at(0)));  // its redrive went well
  ASSERT_EQ(d->dead_entry(kKey, Offset(4))->state, EntryState::kResolved);
  replay({4}, kOther);
  const Offer offer = take().at(0);
  EXPECT_EQ(offer.lane_entry, Offset(-1));  // the event itself: it is no dead letter now
  const auto rejected = settle(Verb::kReject, offer.id, "c1", {}, "not again");
  ASSERT_TRUE(rejected);
  EXPECT_FALSE(rejected->pending);  // nothing has to be written
  EXPECT_EQ(logs[kDlq].size(), 1U);
  for (const std::uint32_t epoch : {1U, 2U, 3U}) {
    if (epoch == 3) checkpoint();
    if (epoch > 1) boot(epoch);
    const auto dead = d->dead_entry(kKey, Offset(4));
    EXPECT_EQ(dead->state, EntryState::kDead) << epoch;
    EXPECT_EQ(dead->dlq, Offset(0));
    EXPECT_EQ(dead->redrives, 2U);
    EXPECT_EQ(dead->last_error, "not again");
    EXPECT_EQ(d->lane(kOther).dead_again, 1U);
  }
}

TEST_F(ReplayLaneTest, ADeadLetterThatCannotBeWrittenIsAskedForAgain) {
  replay({2});
  Offer offer = take().at(0);
  EXPECT_TRUE(settle(Verb::kNack, offer.id, "c1", 0));
  run();
  offer = take().at(0);
  dlq_full = true;
  EXPECT_TRUE(settle(Verb::kNack, offer.id, "c1", 0));
  run();
  EXPECT_EQ(d->lane(kLane).left, 1U);
  EXPECT_FALSE(d->dead_entry(kKey, Offset(2)));
  dlq_full = false;
  advance(1'000);
  EXPECT_TRUE(d->dead_entry(kKey, Offset(2)));
  EXPECT_EQ(d->lane(kLane).left, 0U);
}

TEST_F(ReplayLaneTest, ARejectInAReplayWaitsForItsDeadLetter) {
  replay({2});
  const Offer offer = take().at(0);
  const auto rejected = settle(Verb::kReject, offer.id, "c1", {}, "never");
  ASSERT_TRUE(rejected);
  EXPECT_TRUE(rejected->pending);
  ASSERT_EQ(dead_requests.size(), 1U);
  EXPECT_EQ(dead_requests[0].group, kGroup);
  EXPECT_EQ(dead_requests[0].generation, progress().generation);
  EXPECT_EQ(dead_requests[0].error, "never");
  run();
  EXPECT_EQ(d->dead_entry(kKey, Offset(2))->state, EntryState::kDead);
  EXPECT_EQ(settle(Verb::kReject, offer.id)->status, SettleStatus::kAlready);
}

TEST_F(ReplayLaneTest, Invariant18AReplayGoesOnAfterAKill) {
  replay({0, 1, 4});
  const std::vector<Offer> got = take();
  EXPECT_TRUE(ack(got[0]));
  for (const std::uint32_t epoch : {2U, 3U}) {
    if (epoch == 3) checkpoint();
    boot(epoch);
    EXPECT_EQ(d->lane(kLane).left, 2U);
    EXPECT_EQ(d->lane(kLane).offered, 3U);
    EXPECT_EQ(d->dead_entry(kKey, Offset(4))->state, EntryState::kRedriving);
  }
  EXPECT_TRUE(ack(got[1]));
  EXPECT_TRUE(ack(got[2]));
  EXPECT_EQ(d->lane(kLane).left, 0U);
  EXPECT_EQ(lanes_done.size(), 1U);
}

TEST_F(ReplayLaneTest, Invariant18ALeaseThatIsLostInAReplayIsRetriedThere) {
  replay({1});
  take();
  advance(30'000);
  advance(1'300);
  std::vector<Offer> got = take();
  std::erase_if(got, [](const Offer& offer) { return !offer.lane; });
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].attempt, 2U);
  EXPECT_EQ(got[0].event.offset, Offset(1));
}

TEST_F(ReplayLaneTest, Invariant18AResetOverItEndsItAndItsIdsAreStale) {
  replay({1, 3});
  const std::vector<Offer> got = take();
  EXPECT_TRUE(ack(got[0]));
  ASSERT_TRUE(d->reset(kKey, Offset(2), false, now));
  EXPECT_EQ(word(ack(got[1])), "stale");
  EXPECT_EQ(lanes_done.size(), 1U);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(2, 3, 4, 5, 6));  // one live slot an event
  EXPECT_EQ(replay({1, 3}, kOther).taken, 1U);              // 3 is open again
  boot(2);
  EXPECT_EQ(d->lane(kLane).left, 0U);
}

TEST_F(ReplayLaneTest, Invariant18EndingItMakesItsIdsStale) {
  replay({1, 4});
  const std::vector<Offer> got = take();
  d->end_lane(kLane, now);
  EXPECT_EQ(word(ack(got[0])), "stale");
  EXPECT_EQ(d->dead_entry(kKey, Offset(4))->state, EntryState::kDead);
  boot(2);
  EXPECT_EQ(d->lane(kLane).left, 0U);
  EXPECT_EQ(d->dead_entry(kKey, Offset(4))->state, EntryState::kDead);
  d->set_demand(c1, Dispatcher::kUnlimited);
  EXPECT_EQ(replay({1, 4}, kOther).taken, 2U);
}

TEST_F(ReplayLaneTest, WhatRetentionTookBeforeItsTurnIsGoneNotADeadLetter) {
  d->set_demand(c1, 0);
  replay({1, 6});
  logs[kPartition].erase(Offset(1));
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(6));
  for (const std::uint32_t epoch : {1U, 2U, 3U}) {
    if (epoch == 3) checkpoint();
    if (epoch > 1) boot(epoch);
    EXPECT_EQ(d->lane(kLane).gone, 1U) << epoch;
    EXPECT_EQ(d->lane(kLane).dead_again, 0U);
    EXPECT_EQ(d->lane(kLane).left, 1U);
    EXPECT_FALSE(d->dead_entry(kKey, Offset(1)));
  }
}

// Its event was offered before, by its group (J5).
TEST_F(ReplayLaneTest, Invariant11AReplaysFirstOfferWaitsForItsSync) {
  append();
  run();
  EXPECT_FALSE(take().at(0).after_sync);  // nobody saw it before
  replay({1, 4});
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 2U);
  for (const Offer& offer : got) {
    EXPECT_EQ(offer.attempt, 1U);
    EXPECT_TRUE(offer.after_sync) << offer.offset.value();
  }
}

// Its last attempt failed or was rejected, and the event is gone when its dead letter is made.
TEST_F(ReplayLaneTest, Invariant18WhatRetentionTookBeforeItsDeadLetterWasWrittenIsGone) {
  for (const bool rejected : {false, true}) {
    const ProgressNumber lane(rejected ? 61 : 60);
    auto_dlq = true;
    replay({rejected ? 1 : 0}, lane);
    Offer offer = take().at(0);
    auto_dlq = false;
    if (rejected) {
      EXPECT_TRUE(settle(Verb::kReject, offer.id));
    } else {
      fail_all(offer);
    }
    ASSERT_EQ(dead_requests.size(), 1U);
    const DeadLetterRequest request = dead_requests.front();
    dead_requests.clear();
    d->dead_lettered(request, fail(ErrorCode::kNotFound, "retention took it"), now);
    EXPECT_EQ(d->lane(lane).left, 0U);
    EXPECT_THAT(lanes_done, testing::Contains(lane));
    EXPECT_FALSE(d->dead_entry(kKey, request.offset));
    advance(10'000);
    EXPECT_THAT(dead_requests, IsEmpty()) << "it is asked for again";
  }
  for (const std::uint32_t epoch : {1U, 2U, 3U}) {
    if (epoch == 3) checkpoint();
    if (epoch > 1) boot(epoch);
    for (const ProgressNumber lane : {ProgressNumber(60), ProgressNumber(61)}) {
      EXPECT_EQ(d->lane(lane).gone, 1U) << epoch;
      EXPECT_EQ(d->lane(lane).dead_again, 0U) << epoch;
      EXPECT_EQ(d->lane(lane).left, 0U) << epoch;
    }
  }
}

TEST_F(ReplayLaneTest, EventsAndDeadLettersOfOneOffsetAreNotTakenForEachOther) {
  // Dead letter 0 is of event 4; event 0 has the same offset in its own partition.
  reads_pend = true;
  replay({0, 4});
  ASSERT_EQ(pending_reads.size(), 1U);
  while (!pending_reads.empty()) {
    const auto [key, from] = pending_reads.back();
    pending_reads.pop_back();
    d->on_read(key, from, batch(key.partition, from, 1), now);
    run();
  }
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].lane_entry, Offset(-1));
  EXPECT_EQ(got[1].offset, Offset(4));
  EXPECT_EQ(got[1].lane_entry, Offset(0));
}

}  // namespace
}  // namespace ackline::delivery

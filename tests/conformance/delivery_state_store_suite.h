// What every DeliveryStateStore does. Include once and instantiate.
//
// A kill comes after `commit`, a power cut after `flush`: before them a backend with a cache may
// lose what it was given, and whoever answers acks waits for them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "ackline/state/delivery_state_store.h"
#include "tests/conformance/delivery_state_home.h"

namespace ackline::testing {

class DeliveryStateStoreSuite : public ::testing::TestWithParam<DeliveryStateFactory> {
 protected:
  static constexpr ProgressNumber kGroup{3};
  static constexpr PartitionNumber kPartition{8};

  state::DeliveryStateStore& store() { return home_->store(); }
  void kill() {
    ASSERT_TRUE(store().commit());
    home_->restart();
  }
  state::DeliveryState leased(std::int64_t offset, std::uint32_t offer,
                              std::uint32_t attempt = 1) const {
    state::DeliveryState out;
    out.epoch = home_->epoch();
    out.ref = {kGroup, kPartition, Offset(offset), static_cast<std::uint32_t>(offset), offer};
    out.leased = true;
    out.attempt = attempt;
    out.client = ClientNumber(4);
    out.due_in_ms = 30'000;
    out.key_hash = 99;
    return out;
  }
  state::DeliveryState waiting(std::int64_t offset, std::uint32_t offer, std::uint32_t attempt,
                               std::uint64_t due_in_ms) const {
    state::DeliveryState out = leased(offset, offer, attempt);
    out.leased = false;
    out.due_in_ms = due_in_ms;
    out.last_error = "handler failed";
    out.losses = 1;
    out.restarts = 2;
    return out;
  }
  static state::DeliveryBatch batch(std::uint32_t generation = 1, std::int64_t frontier = -1) {
    state::DeliveryBatch out;
    out.progress = kGroup;
    out.partition = kPartition;
    out.generation = Generation(generation);
    out.frontier = Offset(frontier);
    return out;
  }
  std::optional<state::DeliveryState> get(const state::DeliveryRef& ref) {
    const auto found = store().get(ref);
    EXPECT_TRUE(found);
    return found.value_or(std::nullopt);
  }
  state::StoredProgress progress() {
    const auto found = store().progress(kGroup, kPartition);
    EXPECT_TRUE(found && *found);
    return found && *found ? **found : state::StoredProgress();
  }
  std::string offsets(ProgressNumber of = kGroup) {
    std::string out;
    EXPECT_TRUE(store().iterate(of, [&](const state::DeliveryState& delivery) {
      out += std::to_string(delivery.ref.offset.value()) + " ";
      return true;
    }));
    return out;
  }

  std::unique_ptr<DeliveryStateHome> home_ = GetParam()();
};

TEST_P(DeliveryStateStoreSuite, NothingIsKnownBeforeTheFirstBatch) {
  EXPECT_FALSE(*store().progress(kGroup, kPartition));
  EXPECT_EQ(get(leased(0, 1).ref), std::nullopt);
  EXPECT_EQ(*store().count(), 0U);
}

TEST_P(DeliveryStateStoreSuite, ADeliveryIsRestoredWithIdAttemptAndDueTime) {
  const auto held = leased(4, 11, 2);
  const auto retry = waiting(5, 12, 3, 3000);
  ASSERT_TRUE(store().put(held));
  ASSERT_TRUE(store().put(retry));
  EXPECT_EQ(get(held.ref), held);
  EXPECT_EQ(get(retry.ref), retry);
  kill();
  EXPECT_EQ(get(held.ref), held);
  EXPECT_EQ(get(retry.ref), retry);
  EXPECT_EQ(*store().count(), 2U);
}

TEST_P(DeliveryStateStoreSuite, Invariant15WhatWasThreeSecondsFromItsRetryStillIsAfterARestart) {
  ASSERT_TRUE(store().put(waiting(5, 12, 2, 5000)));
  home_->advance(2000);
  EXPECT_EQ(get(waiting(5, 12, 2, 0).ref)->due_in_ms, 3000U);
  kill();
  EXPECT_EQ(get(waiting(5, 12, 2, 0).ref)->due_in_ms, 3000U);
  home_->advance(10'000);
  EXPECT_EQ(get(waiting(5, 12, 2, 0).ref)->due_in_ms, 0U);
}

TEST_P(DeliveryStateStoreSuite, Upstream5291AnIdThatWasOfferedAgainIsNotCurrentAndRemovesNothing) {
  ASSERT_TRUE(store().put(leased(4, 11)));
  ASSERT_TRUE(store().put(leased(4, 12, 2)));
  EXPECT_EQ(get(leased(4, 11).ref), std::nullopt);
  EXPECT_FALSE(*store().remove(leased(4, 11).ref, state::Outcome::kAcked));
  EXPECT_TRUE(get(leased(4, 12).ref));
  EXPECT_TRUE(*store().remove(leased(4, 12).ref, state::Outcome::kAcked));
  EXPECT_FALSE(*store().remove(leased(4, 12).ref, state::Outcome::kAcked));
}

TEST_P(DeliveryStateStoreSuite, RemoveWinsOverARetryThatRacesIt) {
  ASSERT_TRUE(store().put(leased(4, 11)));
  ASSERT_TRUE(*store().remove(leased(4, 11).ref, state::Outcome::kAcked));
  ASSERT_TRUE(store().put(waiting(4, 11, 1, 1000)));
  EXPECT_EQ(*store().count(), 0U);
  // In one batch too, and after a restart.
  auto both = batch();
  both.puts.push_back(leased(6, 12));
  both.removes.push_back({Offset(6), state::Outcome::kAcked, {}});
  ASSERT_TRUE(store().apply(both));
  EXPECT_EQ(*store().count(), 0U);
  kill();
  ASSERT_TRUE(store().put(leased(4, 13, 2)));
  ASSERT_TRUE(store().put(leased(6, 14, 2)));
  EXPECT_EQ(*store().count(), 0U);
}

TEST_P(DeliveryStateStoreSuite, OfTwoPutsOfOneOffsetTheLastCounts) {
  auto twice = batch();
  twice.puts = {leased(4, 11), leased(4, 12, 2)};
  ASSERT_TRUE(store().apply(twice));
  EXPECT_EQ(*store().count(), 1U);
  EXPECT_TRUE(get(leased(4, 12).ref));
}

TEST_P(DeliveryStateStoreSuite, Invariant3HolesAndWhatIsSettledPastThemSurviveKillNine) {
  auto one = batch();
  one.settled = {{{Offset(2), Offset(3)}, state::Outcome::kFiltered},
                 {{Offset(7), Offset(7)}, state::Outcome::kAcked},
                 {{Offset(8), Offset(9)}, state::Outcome::kFiltered}};
  one.puts = {leased(0, 1), leased(1, 2)};
  one.removes = {{Offset(5), state::Outcome::kAcked, {}}};
  ASSERT_TRUE(store().apply(one));
  const state::StoredProgress expected{
      Generation(1),
      Offset(-1),
      {{Offset(2), Offset(3)}, {Offset(5), Offset(5)}, {Offset(7), Offset(9)}}};
  EXPECT_EQ(progress(), expected);
  kill();
  EXPECT_EQ(progress(), expected);
  auto close = batch();
  close.removes = {{Offset(0), state::Outcome::kAcked, {}},
                   {Offset(1), state::Outcome::kRejected,
                    state::DeadLetterMark{Offset(70), state::DeadReason::kRejected}}};
  ASSERT_TRUE(store().apply(close));
  EXPECT_EQ(progress().frontier, Offset(3));
  EXPECT_EQ(progress().settled.size(), 2U);
}

TEST_P(DeliveryStateStoreSuite, Invariant2TheFrontierPassesGapsOfTheLogAndStaysThere) {
  auto start = batch(1, 9);
  start.puts = {leased(20, 1)};
  ASSERT_TRUE(store().apply(start));
  EXPECT_EQ(progress().frontier, Offset(9));
  ASSERT_TRUE(store().apply(batch(1, 19)));  // 10 to 19 do not exist
  EXPECT_EQ(progress().frontier, Offset(19));
  kill();
  EXPECT_EQ(progress().frontier, Offset(19));
  EXPECT_EQ(offsets(), "20 ");
  // Within a generation it does not go back.
  ASSERT_TRUE(store().apply(batch(1, 12)));
  EXPECT_EQ(progress().frontier, Offset(19));
}

TEST_P(DeliveryStateStoreSuite, Invariant5ANewGenerationLowersTheFrontierAndDropsWhatWasInFlight) {
  auto first = batch(1, 9);
  first.puts = {leased(20, 1), leased(21, 2)};
  first.settled = {{{Offset(30), Offset(40)}, state::Outcome::kAcked}};
  ASSERT_TRUE(store().apply(first));
  auto reset = batch(2, 4);
  reset.puts = {leased(21, 3)};
  ASSERT_TRUE(store().apply(reset));
  EXPECT_EQ(progress(), (state::StoredProgress{Generation(2), Offset(4), {}}));
  EXPECT_EQ(offsets(), "21 ");
  const auto stale = store().apply(first);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::kStale);
  kill();
  EXPECT_EQ(progress(), (state::StoredProgress{Generation(2), Offset(4), {}}));
  EXPECT_EQ(offsets(), "21 ");
}

TEST_P(DeliveryStateStoreSuite, BadBatchesChangeNothing) {
  const auto refused = [&](const state::DeliveryBatch& bad) {
    const auto applied = store().apply(bad);
    return !applied && applied.error().code == ErrorCode::kBadValue;
  };
  auto below = batch(1, 10);
  below.puts = {leased(20, 1), leased(10, 2)};
  EXPECT_TRUE(refused(below));
  auto foreign = batch();
  foreign.puts = {leased(1, 1)};
  foreign.puts.back().ref.progress = ProgressNumber(99);
  EXPECT_TRUE(refused(foreign));
  auto no_attempt = batch();
  no_attempt.puts = {leased(1, 1, 0)};
  EXPECT_TRUE(refused(no_attempt));
  auto no_range = batch();
  no_range.settled = {{{Offset(5), Offset(4)}, state::Outcome::kAcked}};
  EXPECT_TRUE(refused(no_range));
  EXPECT_TRUE(refused(batch(1, -2)));
  auto negative = batch();
  negative.removes = {{Offset(-1), state::Outcome::kAcked, {}}};
  EXPECT_TRUE(refused(negative));
  EXPECT_EQ(*store().count(), 0U);
  EXPECT_FALSE(*store().progress(kGroup, kPartition));
}

TEST_P(DeliveryStateStoreSuite, WhatWasFlushedSurvivesAPowerCutAndTheRestIsWholeBatchesOrNothing) {
  auto both = batch();
  both.puts = {leased(4, 11), leased(5, 12)};
  ASSERT_TRUE(store().apply(both));
  ASSERT_TRUE(store().flush());
  const auto kept = leased(4, 11);
  for (int round = 0; round < 20; ++round) {
    auto later = batch();
    later.puts = {leased(100 + round, 20), leased(200 + round, 21)};
    ASSERT_TRUE(store().apply(later));
    ASSERT_TRUE(store().commit());
    home_->power_cut();
    EXPECT_EQ(get(kept.ref), kept);
    int of_this_round = 0;
    ASSERT_TRUE(store().iterate(kGroup, [&](const state::DeliveryState& delivery) {
      of_this_round +=
          delivery.ref.offset.value() % 100 == round && delivery.ref.offset.value() >= 100 ? 1 : 0;
      return true;
    }));
    EXPECT_TRUE(of_this_round == 0 || of_this_round == 2) << of_this_round;
  }
}

TEST_P(DeliveryStateStoreSuite, Upstream5290AFailedWriteIsToldAndIsSeenInTheHealth) {
  const auto held = leased(4, 11);
  ASSERT_TRUE(store().put(held));
  ASSERT_TRUE(store().commit());
  home_->fail_writes(true);
  const bool removed = store().remove(held.ref, state::Outcome::kAcked) && store().commit();
  EXPECT_FALSE(removed);
  const bool taken = store().put(leased(5, 12)).has_value();
  EXPECT_FALSE(taken && store().commit());
  EXPECT_FALSE(store().health().ok);
  if (!home_->writes_behind()) {  // nothing changed
    EXPECT_TRUE(get(held.ref));
    EXPECT_EQ(get(leased(5, 12).ref), std::nullopt);
  }
  home_->fail_writes(false);
  if (home_->writes_behind()) {  // kept for the next try
    EXPECT_TRUE(store().commit());
    EXPECT_EQ(get(held.ref), std::nullopt);
    EXPECT_EQ(get(leased(5, 12).ref).has_value(), taken);
  } else {
    EXPECT_TRUE(*store().remove(held.ref, state::Outcome::kAcked));
  }
  EXPECT_TRUE(store().health().ok);
}

TEST_P(DeliveryStateStoreSuite, AKillAfterAFailedWriteFindsWhatWasThereBefore) {
  const auto held = leased(4, 11);
  ASSERT_TRUE(store().put(held));
  ASSERT_TRUE(store().commit());
  home_->fail_writes(true);
  EXPECT_FALSE(store().remove(held.ref, state::Outcome::kAcked) && store().commit());
  home_->fail_writes(false);
  home_->restart();
  EXPECT_EQ(get(held.ref), held);
  EXPECT_EQ(*store().count(), 1U);
}

TEST_P(DeliveryStateStoreSuite, IterationIsByPartitionAndOffsetAndOfOneProgress) {
  auto elsewhere = leased(1, 1);
  elsewhere.ref.partition = PartitionNumber(2);
  auto foreign = leased(9, 1);
  foreign.ref.progress = ProgressNumber(4);
  ASSERT_TRUE(store().put(leased(7, 1)));
  ASSERT_TRUE(store().put(leased(3, 2)));
  ASSERT_TRUE(store().put(elsewhere));
  ASSERT_TRUE(store().put(foreign));
  EXPECT_EQ(offsets(), "1 3 7 ");
  EXPECT_EQ(offsets(ProgressNumber(4)), "9 ");
  EXPECT_EQ(*store().count(), 4U);
  int seen = 0;
  ASSERT_TRUE(store().iterate(kGroup, [&](const state::DeliveryState&) { return ++seen < 2; }));
  EXPECT_EQ(seen, 2);
}

TEST_P(DeliveryStateStoreSuite, AnIdCarriesTheEpochOfItsOfferOverRestarts) {
  const auto first = leased(4, 11);
  ASSERT_TRUE(store().put(first));
  kill();
  EXPECT_GT(home_->epoch(), first.epoch);
  EXPECT_EQ(get(first.ref)->epoch, first.epoch);
  ASSERT_TRUE(store().put(leased(4, 1, 2)));
  kill();
  EXPECT_EQ(get(leased(4, 1).ref)->epoch.next(), home_->epoch());
}

TEST_P(DeliveryStateStoreSuite, AClosedStoreAnswersUnavailable) {
  ASSERT_TRUE(store().put(leased(4, 11)));
  ASSERT_TRUE(store().flush());
  ASSERT_TRUE(store().close());
  EXPECT_TRUE(store().close());
  EXPECT_EQ(store().get(leased(4, 11).ref).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store().put(leased(5, 12)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store().count().error().code, ErrorCode::kUnavailable);
}

}  // namespace ackline::testing

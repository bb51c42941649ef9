// A dispatcher that is made from rows is the one that they were taken from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "ackline/delivery/stored.h"
#include "ackline/state/backend/kv_delivery_state_store.h"
#include "tests/support/kv/memory_key_value.h"
#include "tests/support/manual_clock.h"
#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

using ::testing::ElementsAre;

constexpr ProgressNumber kLane{50};

// Starts come from rows, as those of `delivery.store: rocksdb`.
struct RowsTest : ::testing::Test, Rig {
  RowsTest() {
    boot();
    c1 = client("c1");
    append_many(4);
    run();
    for (const Offer& offer : take()) EXPECT_TRUE(ack(offer));
    d->set_demand(c1, 1);
    EXPECT_TRUE(d->start_lane({.lane = kLane,
                               .group = kGroup,
                               .partition = kPartition,
                               .kind = state::LaneKind::kReplay,
                               .entries = {Offset(1), Offset(3)}},
                              now));
    run();
  }
  void restart_from_rows(std::uint32_t epoch,
                         std::optional<ProgressNumber> without = std::nullopt) {
    ackline::testing::MemoryKeyValueDisk disk;
    const ackline::testing::ManualClock clock;
    const auto kv = disk.open().value();
    const auto store = state::KvDeliveryStateStore::open(*kv, clock, {}).value();
    std::vector<state::DeliveryChange> changes;
    d->capture_all(now, changes);
    for (const state::DeliveryChange& change : changes) EXPECT_TRUE(store->apply(change));
    EXPECT_TRUE(store->commit(true));
    std::vector<StoredRows> all;
    for (const auto& key : store->keys()) {
      if (key.first == without) continue;
      StoredRows& rows = all.emplace_back();
      rows.key = {key.first, key.second};
      rows.generation = (*store->progress(key.first, key.second))->generation;
      store->frontier_bytes(key, rows.frontier);
      rows.deliveries = store->deliveries(key).value();
      rows.notes = store->notes(key).value();
    }
    sections[kPartition] = section_of_rows(options.epoch, now, all).value();
    applied = journal_records.size();
    boot(epoch);
  }
  ClientNumber c1;
};

TEST_F(RowsTest, Invariant18AReplaysOfferThatWasWithdrawnIsOfferedAgainAfterAStart) {
  const Offer offer = take().at(0);
  EXPECT_EQ(offer.offset, Offset(1));
  d->withdraw(offer.id, now);  // it never left: no row of it, but its entry was moved
  restart_from_rows(2);
  EXPECT_EQ(d->lane(kLane).left, 2U);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].offset, Offset(1));
  EXPECT_EQ(got[0].attempt, 1U);
  for (const Offer& one : got) EXPECT_TRUE(ack(one));
  EXPECT_EQ(d->lane(kLane).left, 0U);
  EXPECT_THAT(lanes_done, ElementsAre(kLane));
}

TEST_F(RowsTest, Invariant18WhatAReplayHasInFlightStaysSoAfterAStart) {
  const Offer offer = take().at(0);
  restart_from_rows(2);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(3));
  EXPECT_TRUE(ack(offer));
  EXPECT_EQ(d->lane(kLane).left, 1U);
}

TEST_F(RowsTest, Invariant18ADeadLetterThatNoLaneHasIsDeadAgain) {
  constexpr ProgressNumber kRedrive{51};
  append_many(2);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  for (const Offer& offer : take()) {
    EXPECT_TRUE(offer.lane ? ack(offer) : settle(Verb::kReject, offer.id));
  }
  run();
  EXPECT_EQ(d->start_lane(
                 {.lane = kRedrive, .group = kGroup, .partition = kPartition, .entries = {}}, now)
                ->taken,
            2U);
  const auto all_known = [](ProgressNumber /*lane*/) { return true; };
  restart_from_rows(2);
  d->end_unknown_lanes(all_known, now);
  EXPECT_EQ(d->dead_entry(kKey, Offset(4))->state, EntryState::kRedriving) << "its lane has it";
  restart_from_rows(3, kRedrive);
  EXPECT_EQ(d->dead_entry(kKey, Offset(4))->state, EntryState::kRedriving);
  d->end_unknown_lanes(all_known, now);
  for (std::uint32_t epoch = 3; epoch < 5; ++epoch) {
    if (epoch == 4) boot(epoch);  // and after a start from the records
    EXPECT_EQ(d->dead_entry(kKey, Offset(4))->state, EntryState::kDead);
    EXPECT_EQ(d->dead_entry(kKey, Offset(5))->state, EntryState::kDead);
  }
}

}  // namespace
}  // namespace ackline::delivery

// The stuck detector: what could be offered and is not is found, and nobody who waits for a reason
// is accused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ackline/base/plants.h"
#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

using testing::IsEmpty;

constexpr std::int64_t kAfterMs = 30'000;

struct StuckTest : testing::Test, Rig {
  StuckTest() { boot(); }
  // Looks once a second for so long, as a shard does, with a pump between two looks.
  std::vector<StuckReport> look_for(std::int64_t ms) {
    std::vector<StuckReport> changed;
    for (std::int64_t passed = 0; passed < ms; passed += 1000) {
      advance(1000);
      for (const StuckReport& one : d->look_for_stuck(now, kAfterMs)) changed.push_back(one);
    }
    return changed;
  }
};

TEST_F(StuckTest, AReadThatNeverComesBackIsFoundOnceAndForgottenWhenItMoves) {
  client("c1");
  reads_pend = true;
  append_many(3);
  run();
  ASSERT_EQ(pending_reads.size(), 1U);
  EXPECT_THAT(look_for(kAfterMs - 1000), IsEmpty());
  const std::vector<StuckReport> found = look_for(5000);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, kKey);
  EXPECT_EQ(found[0].group, kGroup);
  EXPECT_TRUE(found[0].stuck);
  EXPECT_GE(found[0].for_ms, kAfterMs);
  ASSERT_EQ(d->stuck().size(), 1U);
  EXPECT_GE(d->blocker(kKey, now).stuck_ms.value_or(0), kAfterMs);

  reads_pend = false;
  d->on_read(kKey, pending_reads[0].second, batch(kPartition, pending_reads[0].second, 10), now);
  run();
  EXPECT_EQ(take().size(), 3U);
  const std::vector<StuckReport> over = look_for(1000);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_FALSE(over[0].stuck);
  EXPECT_THAT(d->stuck(), IsEmpty());
  EXPECT_FALSE(d->blocker(kKey, now).stuck_ms.has_value());
}

TEST_F(StuckTest, AGroupWithoutAClientOrDemandOrWindowWaitsForThem) {
  append_many(3);
  run();
  EXPECT_THAT(look_for(60'000), IsEmpty());
  const ClientNumber c1 = client("c1", 0);
  EXPECT_THAT(look_for(60'000), IsEmpty());
  d->set_window(c1, 0, 1U << 20U);
  d->set_demand(c1, Dispatcher::kUnlimited);
  EXPECT_THAT(look_for(60'000), IsEmpty());
  EXPECT_THAT(take(), IsEmpty());
}

TEST_F(StuckTest, LeasesRetriesAndACaughtUpGroupAreNoStall) {
  client("c1");
  append_many(2);
  run();
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 2U);
  ASSERT_TRUE(settle(Verb::kNack, got[0].id, "c1", 100'000));
  ASSERT_TRUE(settle(Verb::kExtend, got[1].id, "c1", 100'000));
  EXPECT_THAT(look_for(90'000), IsEmpty());
  ASSERT_TRUE(ack(got[1]));
  EXPECT_THAT(look_for(60'000), IsEmpty());
}

TEST_F(StuckTest, RoomThatIsKeptForALargeEventIsNoStall) {
  const ClientNumber c1 = client("c1");
  d->set_window(c1, 1000, 4000);
  append({.data_bytes = 1000});
  run();
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 1U);
  append({.data_bytes = 3500});
  append();
  run();
  EXPECT_THAT(take(), IsEmpty());
  ASSERT_TRUE(settle(Verb::kExtend, got[0].id, "c1", 100'000));
  EXPECT_THAT(look_for(90'000), IsEmpty());
  ASSERT_TRUE(ack(got[0]));
  run();
  EXPECT_EQ(take().size(), 2U);
}

TEST_F(StuckTest, KeysAndPartitionOrderBlockForAReason) {
  groups[kGroup].policy.ordering = Ordering::kKey;
  d->update_group(kGroup, groups[kGroup].policy);
  client("c1");
  append_many(5, {.key = "k"});
  run();
  EXPECT_EQ(take().size(), 1U);
  EXPECT_THAT(look_for(25'000), IsEmpty());
}

TEST_F(StuckTest, APausedShardAndAFailingDiskAreToldElsewhere) {
  client("c1");
  d->set_paused(true);
  append_many(3);
  EXPECT_THAT(look_for(60'000), IsEmpty());
  d->set_paused(false);
  reads_fail = true;
  EXPECT_THAT(look_for(60'000), IsEmpty());
}

TEST_F(StuckTest, ASlowGroupIsNotStuckAsLongAsAnythingMoves) {
  const ClientNumber c1 = client("c1", 0);
  append_many(200);
  for (int i = 0; i < 100; ++i) {
    d->set_demand(c1, 1);  // one a second, more waits all the time
    EXPECT_THAT(look_for(1000), IsEmpty());
    for (const Offer& offer : take()) ASSERT_TRUE(ack(offer));
  }
}

#ifdef ACKLINE_PLANTS
TEST_F(StuckTest, APlantedLostWakeIsFound) {
  active_plant() = Plant::kWakeLost;
  client("c1");
  run();  // it has looked and found nothing: only a wake makes it look again
  append_many(1);
  const std::vector<StuckReport> found = look_for(40'000);
  active_plant().reset();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, kKey);
}
#endif

}  // namespace
}  // namespace ackline::delivery

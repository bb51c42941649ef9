// Time of leases in rows (`delivery.store: rocksdb`): it is the dispatcher's, in whatever place the
// deliveries were before, and it stands still with it (decision 0008).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using delivery::Verb;
using ::testing::IsEmpty;

constexpr std::int64_t kCheckpointMs = 31'000;

struct RowTimeTest : ::testing::Test {
  NodeRig rig;

  // The lease of offset 0, of 30 s: what is left of it, and of which attempt.
  std::pair<std::int64_t, std::uint32_t> lease() {
    const auto told = rig.ask<api::ExplainAnswer>(
        [this](auto done) { rig.admin().explain("t", "g", std::nullopt, std::move(done)); });
    if (!told) {
      ADD_FAILURE() << told.error().detail;
      return {};
    }
    const delivery::BlockerReport& blocker = told->partitions.at(0).blocker;
    return {blocker.lease_left_ms.value_or(-1), blocker.attempt};
  }
  void is_leased_for_about(std::int64_t left_ms) {
    const auto [left, attempt] = lease();
    EXPECT_GE(left, left_ms - 1'500);
    EXPECT_LE(left, left_ms + 1'500);
    EXPECT_EQ(attempt, 1U);
  }
};

TEST_F(RowTimeTest, Invariant14ALeaseOutlivesStartsAfterDeliveriesHaveMovedIntoRows) {
  rig.publish(1);
  ASSERT_TRUE(rig.subscribe("c"));
  ASSERT_TRUE(rig.subscribe("other"));
  for (int i = 0; i < 3; ++i) {  // time goes by, and checkpoints say so
    const auto held = rig.poll("c");
    ASSERT_EQ(held.size(), 1U);
    EXPECT_EQ(rig.settled(Verb::kAck, "c", held[0]), "acked");
    rig.pass(kCheckpointMs);
    rig.publish(1);
  }
  rig.rows = true;
  rig.restart();
  const auto held = rig.poll("c");
  ASSERT_EQ(held.size(), 1U);
  rig.pass(1'000);
  is_leased_for_about(29'000);
  for (int i = 0; i < 2; ++i) {
    rig.restart();
    is_leased_for_about(29'000);
  }
  EXPECT_THAT(rig.poll("other"), IsEmpty());
  rig.pass(20'000);
  EXPECT_THAT(rig.poll("other"), IsEmpty());
  EXPECT_EQ(rig.settled(Verb::kAck, "c", held[0]), "acked");
}

TEST_F(RowTimeTest, Invariant14TheTimeOfAStallIsNotTakenOffALeaseByTheStartAfterIt) {
  rig.rows = true;
  rig.restart();
  rig.publish(2);
  ASSERT_TRUE(rig.subscribe("c"));
  ASSERT_TRUE(rig.subscribe("other"));
  const auto held = rig.poll("c", 1);
  ASSERT_EQ(held.size(), 1U);
  rig.pass(1'000);
  rig.disks.deliveries.set_capacity(0);
  rig.poll("c", 1);  // a row that cannot be written
  rig.pass(20'000);
  // It is written again, and the process dies before anything else is.
  rig.disks.deliveries.set_capacity(UINT64_MAX);
  rig.pass(300);
  for (int i = 0; i < 2; ++i) {
    rig.restart();
    is_leased_for_about(29'000);
  }
  EXPECT_EQ(rig.settled(Verb::kAck, "c", held[0]), "acked");
}

}  // namespace
}  // namespace ackline::runtime

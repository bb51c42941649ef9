#include "ackline/delivery/slot.h"

#include <gtest/gtest.h>

namespace ackline::delivery {
namespace {

TEST(SlotSlab, WhatWasDueLongAgoIsNotDueLaterWhenTheClockLeapsOverFiftyDays) {
  const MonoMs begin(5'000);
  for (const std::int64_t more : {std::int64_t{10}, std::int64_t{1} << 31U}) {
    SlotSlab slab(begin);
    const std::uint32_t index = slab.allocate();
    Slot& slot = slab[index];
    slot.set_state(SlotState::kLeased);
    slab.set_due(slot, begin.plus(30'000));
    slab.set_since(slot, begin);
    const MonoMs now = begin.plus((std::int64_t{1} << 32U) + more);
    slab.follow(now);
    EXPECT_LE(slab.due(slot), now) << more;
    EXPECT_LE(slab.since(slot), now) << more;
    slab.set_due(slot, now.plus(1'000));
    EXPECT_EQ(slab.due(slot), now.plus(1'000));
  }
}

}  // namespace
}  // namespace ackline::delivery

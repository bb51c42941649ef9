#include "ackline/frontier/frontier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ackline/base/random.h"

namespace ackline::frontier {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

Offset at(std::int64_t offset) {
  return Offset(offset);
}

void offer_all(Frontier& frontier, std::int64_t first, std::int64_t last) {
  for (std::int64_t offset = first; offset <= last; ++offset) {
    ASSERT_EQ(frontier.offer(at(offset)).value(), Yield::kNew);
  }
}

TEST(Frontier, StartsJustBelowTheFirstOffsetThatCounts) {
  const Frontier frontier(at(7), 10);
  EXPECT_EQ(frontier.value(), at(6));
  EXPECT_EQ(frontier.committed(), at(7));
  EXPECT_EQ(frontier.cursor(), at(7));
  EXPECT_EQ(frontier.pending(), 0U);
  EXPECT_EQ(frontier.holes_count(), 0U);
  EXPECT_FALSE(frontier.first_hole());
  EXPECT_EQ(Frontier(at(0), 1).value(), at(-1));
}

TEST(Frontier, Invariant1NeverPassesAHole) {
  Frontier frontier(at(0), 100);
  offer_all(frontier, 0, 9);
  for (std::int64_t offset = 1; offset <= 9; ++offset) {
    EXPECT_TRUE(frontier.settle(at(offset)).value());
    EXPECT_EQ(frontier.value(), at(-1));
  }
  EXPECT_EQ(frontier.settled_ahead(), 9U);
  EXPECT_TRUE(frontier.settle(at(0)).value());
  EXPECT_EQ(frontier.value(), at(9));
  EXPECT_EQ(frontier.settled_ahead(), 0U);
}

TEST(Frontier, SettlingTwiceSaysThatItWasTerminalAlready) {
  Frontier frontier(at(0), 100);
  offer_all(frontier, 0, 2);
  EXPECT_TRUE(frontier.settle(at(1)).value());
  EXPECT_FALSE(frontier.settle(at(1)).value());
  EXPECT_TRUE(frontier.settle(at(0)).value());
  EXPECT_FALSE(frontier.settle(at(0)).value());
}

TEST(Frontier, SettlingWhatWasNeverOfferedIsNotFound) {
  Frontier frontier(at(0), 100);
  offer_all(frontier, 0, 0);
  ASSERT_TRUE(frontier.offer(at(5)));
  for (const std::int64_t offset : {3L, 6L, 1L << 40L, -1L}) {
    const Result<bool> result = frontier.settle(at(offset));
    ASSERT_FALSE(result) << offset;
    EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  }
}

TEST(Frontier, Invariant2GapsAreNeverWaitedFor) {
  Frontier frontier(at(0), 100);
  ASSERT_TRUE(frontier.offer(at(5)));
  EXPECT_EQ(frontier.value(), at(4));
  ASSERT_TRUE(frontier.offer(at(9)));
  EXPECT_TRUE(frontier.settle(at(5)).value());
  EXPECT_EQ(frontier.value(), at(8));
  EXPECT_TRUE(frontier.settle(at(9)).value());
  frontier.skip_to(at(1'000'000'000'000));
  EXPECT_EQ(frontier.value(), at(999'999'999'999));
  frontier.skip_to(at(5));
  EXPECT_EQ(frontier.cursor(), at(1'000'000'000'000));
}

TEST(Frontier, Invariant2TheReadersPositionPassesTrailingGapsOnceTheHoleCloses) {
  Frontier frontier(at(0), 100);
  offer_all(frontier, 0, 0);
  frontier.skip_to(at(10'000));
  EXPECT_EQ(frontier.value(), at(-1));
  EXPECT_TRUE(frontier.settle(at(0)).value());
  EXPECT_EQ(frontier.value(), at(9'999));
}

TEST(Frontier, Invariant20TheBoundRefusesAndChangesNothing) {
  Frontier frontier(at(0), 3);
  offer_all(frontier, 0, 2);
  EXPECT_TRUE(frontier.settle(at(2)).value());
  const Result<Yield> refused = frontier.offer(at(3));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFull);
  EXPECT_EQ(frontier.cursor(), at(3));
  EXPECT_EQ(frontier.ahead(), 3U);
  EXPECT_TRUE(frontier.settle(at(0)).value());
  EXPECT_TRUE(frontier.offer(at(3)));
}

TEST(Frontier, Invariant20WhatIsKnownIsNeverRefused) {
  Frontier frontier(at(0), 2);
  ASSERT_TRUE(frontier.restore_settled(at(2), at(9)));
  ASSERT_TRUE(frontier.restore_in_flight(at(10)).value());
  offer_all(frontier, 0, 1);
  for (std::int64_t offset = 2; offset <= 9; ++offset) {
    EXPECT_EQ(frontier.offer(at(offset)).value(), Yield::kSettled);
  }
  EXPECT_EQ(frontier.offer(at(10)).value(), Yield::kInFlight);
  EXPECT_FALSE(frontier.offer(at(11)));
  EXPECT_EQ(frontier.settle_range(at(0), at(10)), 3U);
  EXPECT_EQ(frontier.value(), at(10));
  EXPECT_TRUE(frontier.offer(at(11)));
}

TEST(Frontier, Invariant7FirstLastAndSeveralHolesAreNamed) {
  Frontier frontier(at(0), 1000);
  offer_all(frontier, 0, 99);
  for (std::int64_t offset = 1; offset < 99; ++offset) {
    if (offset != 40 && offset != 41) {
      ASSERT_TRUE(frontier.settle(at(offset)).value());
    }
  }
  const std::vector<Hole> expected = {{at(0), at(0), 1}, {at(40), at(41), 2}, {at(99), at(99), 1}};
  EXPECT_EQ(frontier.holes(at(0), 100), expected);
  EXPECT_EQ(frontier.holes_count(), 3U);
  EXPECT_EQ(frontier.first_hole(), expected[0]);
  EXPECT_EQ(frontier.next_hole_after(at(0)), expected[1]);
  EXPECT_EQ(frontier.next_hole_after(at(41)), expected[2]);
  EXPECT_FALSE(frontier.next_hole_after(at(99)));
  EXPECT_EQ(frontier.holes(at(0), 2).size(), 2U);
  EXPECT_TRUE(frontier.holes(at(0), 0).empty());
}

TEST(Frontier, Invariant7AGapDoesNotSplitAHoleASettledEventDoes) {
  Frontier frontier(at(0), 1000);
  for (const std::int64_t offset : {10L, 20L, 10'000L, 10'001L, 10'002L}) {
    ASSERT_TRUE(frontier.offer(at(offset)));
  }
  EXPECT_EQ(frontier.holes(at(0), 10), (std::vector<Hole>{{at(10), at(10'002), 5}}));
  EXPECT_EQ(frontier.holes_count(), 1U);
  ASSERT_TRUE(frontier.settle(at(10'001)).value());
  EXPECT_EQ(frontier.holes(at(0), 10),
            (std::vector<Hole>{{at(10), at(10'000), 3}, {at(10'002), at(10'002), 1}}));
  EXPECT_EQ(frontier.holes_count(), 2U);
}

TEST(Frontier, Invariant3AMillionDisjointHolesAreKeptAndAreSmall) {
  Frontier frontier(at(0), 4 * kMillion);
  offer_all(frontier, 0, 2 * kMillion - 1);
  for (std::int64_t offset = 1; offset < static_cast<std::int64_t>(2 * kMillion); offset += 2) {
    ASSERT_TRUE(frontier.settle(at(offset)).value());
  }
  EXPECT_EQ(frontier.holes_count(), kMillion);
  EXPECT_EQ(frontier.settled_ahead(), kMillion);
  EXPECT_LE(frontier.memory_bytes(), 2 * kMillion * 2 / 8 * 11 / 10);

  std::string bytes;
  frontier.serialise(bytes);
  EXPECT_LE(bytes.size(), 2 * kMillion / 8 * 102 / 100);
  Frontier again = Frontier::deserialise(as_bytes(bytes), kMillion).value();
  EXPECT_EQ(again.settled_ahead(), kMillion);
  EXPECT_EQ(again.value(), at(-1));
  EXPECT_EQ(again.cursor(), at(0));
  for (std::int64_t offset = 0; offset < static_cast<std::int64_t>(2 * kMillion); ++offset) {
    ASSERT_EQ(again.is_settled(at(offset)), offset % 2 == 1);
  }
  EXPECT_EQ(frontier.settle_range(at(0), at(2 * kMillion)), kMillion);
  EXPECT_EQ(frontier.value(), at(2 * kMillion - 1));
}

TEST(Frontier, SettledStretchesAndGapsTakeNoMemory) {
  Frontier frontier(at(0), 2 * kMillion);
  offer_all(frontier, 0, kMillion);
  EXPECT_EQ(frontier.settle_range(at(1), at(kMillion)), kMillion);
  ASSERT_TRUE(frontier.offer(at(100 * kMillion)));
  // Three mixed chunks and a spare one; eight bytes a chunk in the ring, rounded up.
  EXPECT_LE(frontier.memory_bytes(), 4 * 1100 + 8 * 32768 + 1000);
  std::string bytes;
  frontier.serialise(bytes);
  EXPECT_LE(bytes.size(), 30U);
}

TEST(Frontier, AnIdleOneTakesNoChunk) {
  Frontier frontier(at(0), 10);
  offer_all(frontier, 0, 5);
  EXPECT_EQ(frontier.settle_range(at(0), at(5)), 6U);
  frontier.trim();
  EXPECT_EQ(frontier.memory_bytes(), sizeof(Frontier));
  offer_all(frontier, 6, 7);
  EXPECT_TRUE(frontier.settle(at(6)).value());
  EXPECT_EQ(frontier.value(), at(6));
}

TEST(Frontier, SettlesInAnyOrderEndWithEverythingPassed) {
  Frontier frontier(at(17), kMillion);
  std::vector<std::int64_t> order(20'000);
  std::iota(order.begin(), order.end(), 17);
  offer_all(frontier, 17, order.back());
  Random random(5);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[random.below(i + 1)]);
  }
  for (const std::int64_t offset : order) {
    ASSERT_TRUE(frontier.settle(at(offset)).value());
  }
  EXPECT_EQ(frontier.cursor(), frontier.committed());
  EXPECT_EQ(frontier.pending(), 0U);
  EXPECT_EQ(frontier.settled_ahead(), 0U);
}

TEST(Frontier, Invariant25ARestoredReaderSkipsWhatIsSettledOrInFlight) {
  Frontier frontier(at(0), 100);
  offer_all(frontier, 0, 9);
  for (const std::int64_t offset : {0L, 3L, 4L, 7L}) {
    ASSERT_TRUE(frontier.settle(at(offset)).value());
  }
  std::string bytes;
  frontier.serialise(bytes);
  Frontier again = Frontier::deserialise(as_bytes(bytes), 100).value();
  EXPECT_EQ(again.value(), at(0));
  EXPECT_EQ(again.cursor(), at(1));
  EXPECT_TRUE(again.restore_in_flight(at(2)).value());
  EXPECT_FALSE(again.restore_in_flight(at(3)).value());
  EXPECT_EQ(again.offer(at(1)).value(), Yield::kNew);
  EXPECT_EQ(again.offer(at(2)).value(), Yield::kInFlight);
  EXPECT_EQ(again.offer(at(3)).value(), Yield::kSettled);
  EXPECT_EQ(again.offer(at(4)).value(), Yield::kSettled);
  EXPECT_EQ(again.offer(at(5)).value(), Yield::kNew);
  EXPECT_EQ(again.ahead(), 5U);
}

TEST(Frontier, AnAckForARestoredDeliveryCountsBeforeTheReaderIsThere) {
  Frontier frontier(at(0), 100);
  ASSERT_TRUE(frontier.restore_in_flight(at(0)).value());
  ASSERT_TRUE(frontier.restore_settled(at(1), at(4)));
  EXPECT_EQ(frontier.value(), at(-1));
  EXPECT_TRUE(frontier.settle(at(0)).value());
  EXPECT_EQ(frontier.value(), at(4));
  EXPECT_EQ(frontier.cursor(), at(5));
  EXPECT_EQ(frontier.settled_ahead(), 0U);
}

TEST(Frontier, Invariant5ReplayMakesEverythingNonTerminalAgainAndKeepsWhatIsInFlight) {
  Frontier frontier(at(0), 100);
  offer_all(frontier, 0, 19);
  EXPECT_EQ(frontier.settle_range(at(0), at(14)), 15U);
  ASSERT_TRUE(frontier.settle(at(17)).value());
  ASSERT_TRUE(frontier.reopen(at(4), std::vector<Offset>{at(3), at(16), at(18)}));
  EXPECT_EQ(frontier.value(), at(4));
  EXPECT_EQ(frontier.cursor(), at(5));
  EXPECT_EQ(frontier.pending(), 2U);
  EXPECT_TRUE(frontier.is_pending(at(16)));
  EXPECT_FALSE(frontier.is_settled(at(17)));
  offer_all(frontier, 5, 15);
  EXPECT_EQ(frontier.offer(at(16)).value(), Yield::kInFlight);
  EXPECT_EQ(frontier.offer(at(17)).value(), Yield::kNew);
}

TEST(Frontier, ResetForgetsEverything) {
  Frontier frontier(at(0), 100);
  offer_all(frontier, 0, 19);
  ASSERT_TRUE(frontier.settle(at(7)).value());
  frontier.reset(at(3));
  EXPECT_EQ(frontier.value(), at(2));
  EXPECT_EQ(frontier.cursor(), at(3));
  EXPECT_EQ(frontier.pending() + frontier.settled_ahead() + frontier.ahead(), 0U);
}

TEST(Frontier, Invariant30WhatRetentionTookIsTerminalAndCounted) {
  Frontier frontier(at(0), 100);
  offer_all(frontier, 0, 9);
  ASSERT_TRUE(frontier.settle(at(2)).value());
  ASSERT_TRUE(frontier.settle(at(6)).value());
  EXPECT_EQ(frontier.log_start_moved(at(6)), 5U);
  EXPECT_EQ(frontier.value(), at(6));
  EXPECT_FALSE(frontier.settle(at(1)).value());
  EXPECT_EQ(frontier.log_start_moved(at(50)), 3U);
  EXPECT_EQ(frontier.value(), at(49));
  EXPECT_EQ(frontier.cursor(), at(50));
  EXPECT_EQ(frontier.log_start_moved(at(10)), 0U);
}

TEST(Frontier, RefusesASpanThatNoMemoryWouldHold) {
  Frontier frontier(at(0), 100);
  offer_all(frontier, 0, 0);
  const auto far = static_cast<std::int64_t>(Frontier::kSpanMax);
  EXPECT_EQ(frontier.offer(at(far)).error().code, ErrorCode::kFull);
  EXPECT_EQ(frontier.restore_in_flight(at(far)).error().code, ErrorCode::kFull);
  EXPECT_EQ(frontier.restore_settled(at(far), at(far)).error().code, ErrorCode::kFull);
  EXPECT_EQ(frontier.reopen(at(-1), std::vector<Offset>{at(far)}).error().code, ErrorCode::kFull);
  EXPECT_EQ(frontier.cursor(), at(1));
}

}  // namespace
}  // namespace ackline::frontier

#include "tests/support/state/delivery_image.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ackline/base/random.h"

namespace ackline::state {
namespace {

constexpr PartitionNumber kPartition{5};
constexpr ProgressNumber kGroup{1};
constexpr ProgressNumber kLane{2};

class DeliveryImageTest : public ::testing::Test {
 protected:
  template <class Record>
  void apply(const Record& record) {
    std::string body;
    record.encode(body);
    ASSERT_TRUE(image_.apply(Record::kType, kPartition, as_bytes(body)));
  }
  void offer(std::int64_t offset, std::uint32_t number, std::uint32_t attempt = 1) {
    OfferRecord record;
    record.progress = kGroup;
    record.offset = Offset(offset);
    record.slot = 1;
    record.offer = number;
    record.attempt = attempt;
    record.lease_ms = 30'000;
    apply(record);
  }
  void end(std::int64_t offset, std::uint32_t number, EndCause cause, std::uint64_t retry_ms = 0) {
    apply(EndRecord{kGroup, Offset(offset), 1, number, cause, retry_ms, "why"});
  }
  void settle(std::int64_t first, std::int64_t last) {
    apply(SettleRecord{kGroup, Outcome::kAcked, {{Offset(first), Offset(last)}}, {}});
  }
  const ImageProgress& group() { return *image_.find(kGroup, kPartition); }
  DeliveryState state(std::int64_t offset) {
    return image_.at_now(group().deliveries.at(Offset(offset)));
  }

  DeliveryImage image_;
};

TEST_F(DeliveryImageTest, Invariant1TheFrontierNeverPassesAHole) {
  settle(1, 3);
  EXPECT_EQ(group().frontier, Offset(-1));
  settle(0, 0);
  EXPECT_EQ(group().frontier, Offset(3));
  EXPECT_TRUE(group().settled.empty());
}

TEST_F(DeliveryImageTest, Invariant3ManyHolesAreKeptAndClosedInAnyOrder) {
  Random random(7);
  std::set<std::int64_t> terminal;
  offer(0, 0);
  for (int round = 0; round < 3000; ++round) {
    const auto first = static_cast<std::int64_t>(random.below(1000));
    const auto last = first + static_cast<std::int64_t>(random.below(5));
    settle(first, last);
    for (std::int64_t offset = first; offset <= last; ++offset) {
      terminal.insert(offset);
    }
    if (round % 100 == 0 || round > 2990) {
      std::int64_t frontier = -1;
      while (terminal.contains(frontier + 1)) {
        ++frontier;
      }
      ASSERT_EQ(group().frontier, Offset(frontier));
      std::uint64_t count = 0;
      for (std::int64_t offset = 0; offset < 1010; ++offset) {
        ASSERT_EQ(group().is_settled(Offset(offset)), terminal.contains(offset)) << offset;
        count += terminal.contains(offset) ? 1 : 0;
      }
      ASSERT_EQ(group().settled_count.at(Outcome::kAcked), count);
    }
  }
}

TEST_F(DeliveryImageTest, AnOfferThatRacedItsSettleDoesNotBringTheDeliveryBack) {
  offer(0, 1);
  offer(4, 2);
  settle(4, 4);
  EXPECT_EQ(image_.delivery_count(), 1U);
  offer(4, 3, 2);
  EXPECT_EQ(image_.delivery_count(), 1U);
}

TEST_F(DeliveryImageTest, Upstream5291TheEndOfAnOlderOfferDoesNothing) {
  offer(0, 1);
  end(0, 1, EndCause::kExpiry);
  offer(0, 2, 2);
  end(0, 1, EndCause::kNack, 5000);
  EXPECT_TRUE(state(0).leased);
  EXPECT_EQ(state(0).ref.offer, 2U);
}

TEST_F(DeliveryImageTest, Invariant14ExpiryAndLossAreCountedAWithdrawnOfferGivesItsAttemptBack) {
  offer(0, 1);
  end(0, 1, EndCause::kExpiry, 100);
  offer(0, 2, 2);
  end(0, 2, EndCause::kLoss, 100);
  EXPECT_EQ(state(0).losses, 2U);
  EXPECT_EQ(state(0).last_error, "why");
  offer(0, 3, 3);
  end(0, 3, EndCause::kWithdrawn);
  EXPECT_EQ(state(0).attempt, 2U);
  EXPECT_FALSE(state(0).leased);
  offer(1, 4);
  end(1, 4, EndCause::kWithdrawn);
  EXPECT_FALSE(group().deliveries.contains(Offset(1)));
}

TEST_F(DeliveryImageTest, Invariant15TimeStandsStillWhileTheProcessIsDown) {
  apply(BootRecord{Epoch(1), 1});
  apply(AliveRecord{MonoMs(1000), WallMs(0)});
  offer(0, 1);
  end(0, 1, EndCause::kNack, 5000);
  offer(1, 2);
  apply(AliveRecord{MonoMs(3000), WallMs(0)});
  EXPECT_EQ(state(0).due_in_ms, 3000U);
  apply(BootRecord{Epoch(2), 1});
  EXPECT_EQ(state(0).due_in_ms, 3000U);
  EXPECT_EQ(state(1).due_in_ms, 28'000U);
  apply(AliveRecord{MonoMs(500), WallMs(99'999'999)});
  EXPECT_EQ(state(0).due_in_ms, 2500U);
  apply(AliveRecord{MonoMs(60'000), WallMs(0)});
  EXPECT_EQ(state(0).due_in_ms, 0U);
  EXPECT_EQ(image_.epoch(), Epoch(2));
}

TEST_F(DeliveryImageTest, AnExtensionMovesTheLeaseOfTheCurrentOfferOnly) {
  offer(0, 1);
  apply(ExtendRecord{kGroup, Offset(0), 1, 1, 90'000});
  EXPECT_EQ(state(0).due_in_ms, 90'000U);
  apply(ExtendRecord{kGroup, Offset(0), 1, 99, 1});
  EXPECT_EQ(state(0).due_in_ms, 90'000U);
}

TEST_F(DeliveryImageTest, Invariant5ReplayKeepsInFlightSlotsAndResetDropsThem) {
  offer(0, 1);
  offer(5, 2);
  settle(1, 3);
  apply(
      ReopenRecord{kGroup, Generation(2), Offset(-1), ReopenKind::kReplay, {Offset(0), Offset(5)}});
  EXPECT_EQ(group().generation, Generation(2));
  EXPECT_EQ(group().deliveries.size(), 2U);
  EXPECT_FALSE(group().is_settled(Offset(2)));
  apply(ReopenRecord{kGroup, Generation(3), Offset(1), ReopenKind::kReset, {}});
  EXPECT_EQ(group().frontier, Offset(1));
  EXPECT_TRUE(group().deliveries.empty());
}

TEST_F(DeliveryImageTest, Invariant2AStartRepeatedInItsGenerationOnlyRaisesTheFrontier) {
  settle(0, 0);
  settle(5, 7);
  offer(9, 1);
  apply(ReopenRecord{kGroup, Generation(1), Offset(4), ReopenKind::kStart, {}});
  EXPECT_EQ(group().frontier, Offset(7));
  EXPECT_EQ(group().deliveries.size(), 1U);
  apply(ReopenRecord{kGroup, Generation(1), Offset(2), ReopenKind::kStart, {}});
  EXPECT_EQ(group().frontier, Offset(7));
}

TEST_F(DeliveryImageTest, Invariant18ALaneNeverMovesTheFrontierAndEndsWithAReset) {
  settle(0, 9);
  apply(LanePartRecord{
      kLane, kGroup, LaneKind::kRedrive, {{Offset(3), Offset(0), EntryState::kRedriving}}});
  OfferRecord record;
  record.progress = kLane;
  record.offset = Offset(3);
  record.offer = 1;
  record.lane = true;
  apply(record);
  const ImageProgress& lane = *image_.find(kLane, kPartition);
  EXPECT_EQ(lane.lane_of, kGroup);
  EXPECT_EQ(lane.deliveries.size(), 1U);
  EXPECT_EQ(group().frontier, Offset(9));
  apply(ReopenRecord{kGroup, Generation(2), Offset(-1), ReopenKind::kReset, {}});
  EXPECT_TRUE(lane.deliveries.empty());
  EXPECT_EQ(lane.entries.at(Offset(3)).state, EntryState::kDead);
}

TEST_F(DeliveryImageTest, ADeadLetterIsMarkedUntilItIsPurged) {
  apply(SettleRecord{kGroup,
                     Outcome::kExhausted,
                     {{Offset(0), Offset(0)}},
                     DeadLetterMark{Offset(17), DeadReason::kMaxAttempts}});
  EXPECT_EQ(group().dead.at(Offset(0)).dlq_offset, Offset(17));
  apply(LaneEntryRecord{ProgressNumber(0), kGroup, {Offset(0), Offset(17), EntryState::kPurged}});
  EXPECT_TRUE(group().dead.empty());
}

TEST_F(DeliveryImageTest, ADamagedBodyLeavesTheImageAsItWas) {
  offer(0, 1);
  EXPECT_EQ(image_.apply(RecordType::kSettle, kPartition, as_bytes("\x01")).error().code,
            ErrorCode::kCorrupt);
  EXPECT_EQ(image_.apply(static_cast<RecordType>(77), kPartition, {}).error().code,
            ErrorCode::kUnsupported);
  EXPECT_EQ(image_.delivery_count(), 1U);
}

}  // namespace
}  // namespace ackline::state

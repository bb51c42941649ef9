// What every DeadLetterStore does, whichever ledger it keeps. Include once and instantiate.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ackline/state/dead_letter_store.h"

namespace ackline::testing {

class DeadLetterHome {
 public:
  virtual ~DeadLetterHome() = default;
  [[nodiscard]] virtual state::DeadLetterStore& store() = 0;
  virtual void restart() = 0;
  // A fence that holds now; nullopt where the ledger has no shared owners.
  [[nodiscard]] virtual std::optional<state::OwnerFence> take_ownership() = 0;
};
using DeadLetterFactory = std::unique_ptr<DeadLetterHome> (*)();

class DeadLetterStoreSuite : public ::testing::TestWithParam<DeadLetterFactory> {
 protected:
  state::DeadLetterStore& store() { return home_->store(); }
  static state::DeadLetterKey key(std::int64_t offset, std::uint32_t generation = 1) {
    return {
        "g", "orders", Incarnation(1), PartitionIndex(2), Offset(offset), Generation(generation)};
  }
  static state::DeadLetterPlace place(std::int64_t offset) {
    return {"orders_DLQ", Offset(offset)};
  }
  std::optional<state::DeadLetterPlace> where(const state::DeadLetterKey& of) {
    const auto found = store().is_dead_lettered(of);
    EXPECT_TRUE(found) << found.error().detail;
    return found.value_or(std::nullopt);
  }

  std::unique_ptr<DeadLetterHome> home_ = GetParam()();
};

TEST_P(DeadLetterStoreSuite, WhatIsNotRecordedIsNotDead) {
  EXPECT_EQ(where(key(5)), std::nullopt);
}

TEST_P(DeadLetterStoreSuite, Invariant16RecordingTwiceIsTheSameAsOnce) {
  const auto first = store().record_dead_letter(key(5), place(17), {});
  ASSERT_TRUE(first) << first.error().detail;
  EXPECT_TRUE(first->first);
  const auto again = store().record_dead_letter(key(5), place(17), {});
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->first);
  EXPECT_EQ(again->place, place(17));
}

TEST_P(DeadLetterStoreSuite, Invariant16OfSeveralRecordsOfOneKeyTheLowestCounts) {
  ASSERT_TRUE(store().record_dead_letter(key(5), place(17), {}));
  const auto higher = store().record_dead_letter(key(5), place(20), {});
  ASSERT_TRUE(higher);
  EXPECT_FALSE(higher->first);
  EXPECT_EQ(higher->place, place(17));
  const auto lower = store().record_dead_letter(key(5), place(3), {});
  ASSERT_TRUE(lower);
  EXPECT_FALSE(lower->first);
  EXPECT_EQ(lower->place, place(3));
  EXPECT_EQ(where(key(5)), place(3));
}

TEST_P(DeadLetterStoreSuite, Upstream5292TheLedgerIsThereAfterARestart) {
  ASSERT_TRUE(store().record_dead_letter(key(5), place(17), {}));
  home_->restart();
  EXPECT_EQ(where(key(5)), place(17));
  EXPECT_EQ(where(key(6)), std::nullopt);
}

TEST_P(DeadLetterStoreSuite, AReplayMakesANewKey) {
  ASSERT_TRUE(store().record_dead_letter(key(5, 1), place(17), {}));
  EXPECT_EQ(where(key(5, 2)), std::nullopt);
  const auto second = store().record_dead_letter(key(5, 2), place(18), {});
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->first);
  EXPECT_EQ(where(key(5, 1)), place(17));
}

TEST_P(DeadLetterStoreSuite, APurgedKeyIsForgottenOnce) {
  ASSERT_TRUE(store().record_dead_letter(key(5), place(17), {}));
  EXPECT_TRUE(*store().forget(key(5)));
  EXPECT_FALSE(*store().forget(key(5)));
  EXPECT_EQ(where(key(5)), std::nullopt);
}

TEST_P(DeadLetterStoreSuite, Invariant27AStaleOwnerRecordsNothing) {
  const auto stale = home_->take_ownership();
  if (!stale) {
    return;  // one owner only: there is nothing to be stale against
  }
  ASSERT_TRUE(store().record_dead_letter(key(1), place(1), stale));
  const auto current = home_->take_ownership();
  const auto fenced = store().record_dead_letter(key(2), place(2), stale);
  ASSERT_FALSE(fenced);
  EXPECT_EQ(fenced.error().code, ErrorCode::kFenced);
  EXPECT_EQ(where(key(2)), std::nullopt);
  EXPECT_TRUE(store().record_dead_letter(key(2), place(3), current));
}

TEST_P(DeadLetterStoreSuite, OfManyThatRecordOneKeyAtOnceOneIsFirstAndAllAgreeInTheEnd) {
  std::atomic<int> first = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto outcome = store().record_dead_letter(key(5), place(10 + t), {});
      EXPECT_TRUE(outcome);
      first += outcome && outcome->first ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(first, 1);
  EXPECT_EQ(where(key(5)), place(10));
}

TEST_P(DeadLetterStoreSuite, BadKeysAndPlacesAreRefused) {
  auto bad = key(5);
  bad.topic = "a/b";
  EXPECT_EQ(store().record_dead_letter(bad, place(1), {}).error().code, ErrorCode::kBadName);
  EXPECT_EQ(store().record_dead_letter(key(5), place(-1), {}).error().code, ErrorCode::kBadValue);
  ASSERT_TRUE(store().record_dead_letter(key(5), place(1), {}));
  EXPECT_EQ(store().record_dead_letter(key(5), {"other_DLQ", Offset(0)}, {}).error().code,
            ErrorCode::kBadValue);
}

TEST_P(DeadLetterStoreSuite, AClosedStoreAnswersUnavailable) {
  ASSERT_TRUE(store().flush());
  ASSERT_TRUE(store().close());
  EXPECT_TRUE(store().close());
  EXPECT_EQ(store().is_dead_lettered(key(5)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store().record_dead_letter(key(5), place(1), {}).error().code, ErrorCode::kUnavailable);
}

}  // namespace ackline::testing

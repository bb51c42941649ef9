// What every OffsetStore does. Include in one source of a test binary and instantiate.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ackline/state/offset_store.h"

namespace ackline::testing {

// A durable place for the store: opened again, it is what is there after a restart.
class OffsetStoreHome {
 public:
  virtual ~OffsetStoreHome() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<state::OffsetStore>> open() = 0;
};
using OffsetStoreFactory = std::unique_ptr<OffsetStoreHome> (*)();

class OffsetStoreSuite : public ::testing::TestWithParam<OffsetStoreFactory> {
 protected:
  void SetUp() override { reopen(); }
  void reopen() {
    store_.reset();
    auto opened = home_->open();
    ASSERT_TRUE(opened) << opened.error().detail;
    store_ = std::move(*opened);
  }
  static state::OffsetKey key(std::string topic, std::string group = "g",
                              std::uint32_t partition = 0) {
    return {std::move(topic), std::move(group), PartitionIndex(partition)};
  }
  static state::OffsetValue value(std::uint64_t incarnation, std::uint32_t generation,
                                  std::int64_t frontier, std::uint32_t progress = 1) {
    return {Incarnation(incarnation), ProgressNumber(progress), Generation(generation),
            Offset(frontier)};
  }
  bool write(const state::OffsetKey& at, state::OffsetValue to) {
    const auto moved = store_->write_offset(at, to);
    EXPECT_TRUE(moved) << moved.error().detail;
    return moved.value_or(false);
  }
  std::optional<state::OffsetValue> read(const state::OffsetKey& at) {
    const auto found = store_->read_offset(at);
    EXPECT_TRUE(found) << found.error().detail;
    return found.value_or(std::nullopt);
  }

  std::unique_ptr<OffsetStoreHome> home_ = GetParam()();
  std::unique_ptr<state::OffsetStore> store_;
};

TEST_P(OffsetStoreSuite, NeverWrittenIsNothingAndNotMinusOne) {
  EXPECT_EQ(read(key("t")), std::nullopt);
  EXPECT_TRUE(write(key("t"), value(1, 1, -1)));
  EXPECT_EQ(read(key("t")), value(1, 1, -1));
}

TEST_P(OffsetStoreSuite, Invariant5ALowerFrontierNeverReplacesAHigherOne) {
  EXPECT_TRUE(write(key("t"), value(1, 1, 10)));
  EXPECT_FALSE(write(key("t"), value(1, 1, 9)));
  EXPECT_FALSE(write(key("t"), value(1, 1, 10)));
  EXPECT_EQ(read(key("t")), value(1, 1, 10));
  EXPECT_TRUE(write(key("t"), value(1, 1, 11)));
}

TEST_P(OffsetStoreSuite, Invariant5IncarnationGoesBeforeGenerationBeforeFrontier) {
  EXPECT_TRUE(write(key("t"), value(1, 1, 100)));
  EXPECT_TRUE(write(key("t"), value(1, 2, 5)));     // a reset lowers the frontier
  EXPECT_FALSE(write(key("t"), value(1, 1, 999)));  // a flush of the old generation is stale
  EXPECT_TRUE(write(key("t"), value(2, 1, -1)));    // the topic was made anew
  EXPECT_FALSE(write(key("t"), value(1, 9, 999)));
  EXPECT_EQ(read(key("t")), value(2, 1, -1));
}

TEST_P(OffsetStoreSuite, Invariant5WhatWasOnItsWayOfADeletedGroupIsNotTheNewOnes) {
  EXPECT_TRUE(write(key("t"), value(1, 1, 40, 7)));
  EXPECT_TRUE(store_->forget("t", "g"));
  EXPECT_TRUE(write(key("t"), value(1, 1, 40, 7)));   // it was under way when the group went
  EXPECT_TRUE(write(key("t"), value(1, 1, -1, 9)));   // the group of the same name begins anew
  EXPECT_FALSE(write(key("t"), value(1, 5, 99, 7)));  // and nothing of the old one counts
  EXPECT_EQ(read(key("t")), value(1, 1, -1, 9));
  EXPECT_FALSE(read(key("t"))->is_of(Incarnation(1), ProgressNumber(7)));
}

TEST_P(OffsetStoreSuite, Upstream5289ASlowWriterThatReadBeforeAFastOneDoesNotDragTheOffsetBack) {
  // The symptom: two writers read the same old offset, the higher one writes first, the lower one
  // last, and a restart begins at the lower one.
  std::vector<std::thread> threads;
  std::atomic<bool> wrong = false;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        // Each thread walks up in its own order; together they cover 0 to 799.
        const std::int64_t frontier = (i * 4 + t);
        const auto moved = store_->write_offset(key("t"), value(1, 1, frontier));
        const auto now = store_->read_offset(key("t"));
        if (!moved || !now || !*now || (*now)->frontier < Offset(frontier)) {
          wrong = true;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_FALSE(wrong);
  EXPECT_EQ(read(key("t")), value(1, 1, 799));
  reopen();
  EXPECT_EQ(read(key("t")), value(1, 1, 799));
}

TEST_P(OffsetStoreSuite, KeysOfOneTopicGroupOrPartitionAreApart) {
  write(key("t", "g", 0), value(1, 1, 1));
  write(key("t", "g", 1), value(1, 1, 2));
  write(key("t", "h", 0), value(1, 1, 3));
  write(key("t.g", "g", 0), value(1, 1, 4));
  EXPECT_EQ(read(key("t", "g", 0)), value(1, 1, 1));
  EXPECT_EQ(read(key("t", "g", 1)), value(1, 1, 2));
  EXPECT_EQ(read(key("t", "h", 0)), value(1, 1, 3));
  EXPECT_EQ(read(key("t.g", "g", 0)), value(1, 1, 4));
}

TEST_P(OffsetStoreSuite, NamesThatCouldMakeOneKeyLookLikeAnotherAreRefused) {
  for (const char* name : {"", "a#b", "a/b", "a@b"}) {
    EXPECT_EQ(store_->write_offset(key(name), value(1, 1, 1)).error().code, ErrorCode::kBadName);
    EXPECT_EQ(store_->write_offset(key("t", name), value(1, 1, 1)).error().code,
              ErrorCode::kBadName);
    EXPECT_EQ(store_->read_offset(key(name)).error().code, ErrorCode::kBadName);
  }
  EXPECT_EQ(store_->write_offset(key("t"), value(1, 1, -2)).error().code, ErrorCode::kBadValue);
  EXPECT_TRUE(store_->read_all_offsets("")->empty());
}

TEST_P(OffsetStoreSuite, ABatchMovesEachKeyToItsHighestValueAndCountsThoseThatMoved) {
  write(key("t", "g", 2), value(1, 1, 50));
  const std::vector<state::OffsetRecord> batch = {{key("t", "g", 0), value(1, 1, 7)},
                                                  {key("t", "g", 1), value(1, 1, 9)},
                                                  {key("t", "g", 1), value(1, 1, 8)},
                                                  {key("t", "g", 2), value(1, 1, 49)}};
  const auto moved = store_->write_offsets(batch);
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, 2U);
  EXPECT_EQ(read(key("t", "g", 1)), value(1, 1, 9));
  EXPECT_EQ(read(key("t", "g", 2)), value(1, 1, 50));
  EXPECT_EQ(*store_->write_offsets({}), 0U);
}

TEST_P(OffsetStoreSuite, ABatchWithABadKeyMovesNothing) {
  const std::vector<state::OffsetRecord> batch = {{key("t"), value(1, 1, 7)},
                                                  {key("a#b"), value(1, 1, 9)}};
  EXPECT_EQ(store_->write_offsets(batch).error().code, ErrorCode::kBadName);
  EXPECT_EQ(read(key("t")), std::nullopt);
}

TEST_P(OffsetStoreSuite, EverythingIsListedByTopicGroupAndPartition) {
  write(key("b", "g", 10), value(1, 1, 1));
  write(key("b", "g", 9), value(1, 1, 2));
  write(key("a", "h", 0), value(1, 1, 3));
  write(key("bb", "g", 0), value(1, 1, 4));
  const auto all = store_->read_all_offsets("");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 4U);
  EXPECT_TRUE(std::ranges::is_sorted(*all, {}, &state::OffsetRecord::key));
  const auto of_b = store_->read_all_offsets("b");
  ASSERT_TRUE(of_b);
  ASSERT_EQ(of_b->size(), 2U);
  EXPECT_EQ((*of_b)[0].key.partition, PartitionIndex(9));
  EXPECT_EQ(*store_->read_all_topics(), (std::vector<std::string>{"a", "b", "bb"}));
}

TEST_P(OffsetStoreSuite, AForgottenGroupMayStartAgainLower) {
  write(key("t", "g"), value(1, 3, 100));
  write(key("t", "gg"), value(1, 1, 5));
  EXPECT_EQ(*store_->forget("t", "g"), 1U);
  EXPECT_EQ(*store_->forget("t", "g"), 0U);
  EXPECT_TRUE(write(key("t", "g"), value(1, 1, 0)));
  EXPECT_EQ(read(key("t", "gg")), value(1, 1, 5));
  EXPECT_EQ(*store_->forget("t", ""), 2U);
  EXPECT_TRUE(store_->read_all_topics()->empty());
}

TEST_P(OffsetStoreSuite, ValuesAreTheSameAfterARestart) {
  write(key("t"), value(3, 4, 1'000'000'000'000));
  ASSERT_TRUE(store_->close());
  reopen();
  EXPECT_EQ(read(key("t")), value(3, 4, 1'000'000'000'000));
  EXPECT_FALSE(write(key("t"), value(3, 4, 5)));
}

TEST_P(OffsetStoreSuite, AClosedStoreAnswersUnavailableAndMayBeClosedTwice) {
  ASSERT_TRUE(store_->flush());
  ASSERT_TRUE(store_->close());
  EXPECT_TRUE(store_->close());
  EXPECT_EQ(store_->read_offset(key("t")).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->write_offset(key("t"), value(1, 1, 1)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->flush().error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(store_->name().empty());
}

}  // namespace ackline::testing

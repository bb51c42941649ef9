#include "ackline/state/backend/kv_delivery_state_store.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/state/delivery_kv_home.h"

namespace ackline::testing {
namespace {

class KvDeliveryTest : public ::testing::Test {
 protected:
  static constexpr ProgressNumber kGroup{3};
  static constexpr PartitionNumber kPartition{8};

  state::KvDeliveryStateStore& store() { return home_.kv_store(); }
  static state::DeliveryBatch batch(std::uint32_t generation = 1) {
    state::DeliveryBatch out;
    out.progress = kGroup;
    out.partition = kPartition;
    out.generation = Generation(generation);
    out.frontier = Offset(-1);
    return out;
  }
  [[nodiscard]] state::DeliveryState leased(std::int64_t offset, std::uint32_t offer = 1) const {
    state::DeliveryState out;
    out.ref = {kGroup, kPartition, Offset(offset), static_cast<std::uint32_t>(offset), offer};
    out.epoch = home_.epoch();
    out.leased = true;
    out.attempt = 1;
    out.due_in_ms = 30'000;
    return out;
  }
  void acked(std::int64_t offset) {
    auto one = batch();
    one.removes = {{Offset(offset), state::Outcome::kAcked, {}}};
    ASSERT_TRUE(store().apply(one));
  }

  KvHome home_{memory_kv_disk(), 10'000};
};

TEST_F(KvDeliveryTest, ADeliveryPutAndRemovedWithinOneFlushNeverReachesTheStore) {
  ASSERT_TRUE(store().put(leased(0)));
  ASSERT_TRUE(store().put(leased(1)));
  acked(0);
  acked(1);
  ASSERT_TRUE(store().commit());
  EXPECT_EQ(home_.door().puts + home_.door().removes, 0);
  EXPECT_EQ(home_.door().batches, 1);  // the frontier
  home_.restart();
  EXPECT_EQ((*store().progress(kGroup, kPartition))->frontier, Offset(1));
}

TEST_F(KvDeliveryTest, OneBatchIsOneMomentAndTheLastWriterOfARowWins) {
  for (std::uint32_t offer = 1; offer <= 5; ++offer) {
    ASSERT_TRUE(store().put(leased(7, offer)));
  }
  ASSERT_TRUE(store().put(leased(8)));
  EXPECT_EQ(home_.door().batches, 0);
  ASSERT_TRUE(store().commit());
  EXPECT_EQ(home_.door().batches, 1);
  EXPECT_EQ(home_.door().puts, 2);
  EXPECT_TRUE(*store().get(leased(7, 5).ref));
}

TEST_F(KvDeliveryTest, AKillBeforeTheCommitLosesAllOfTheBatchAndNothingElse) {
  ASSERT_TRUE(store().put(leased(4)));
  ASSERT_TRUE(store().put(leased(5)));
  ASSERT_TRUE(store().commit());
  acked(4);
  ASSERT_TRUE(store().put(leased(6)));
  home_.restart();
  EXPECT_EQ(*store().count(), 2U);
  EXPECT_TRUE(*store().get({kGroup, kPartition, Offset(4), 4, 1}));
  EXPECT_TRUE(*store().get({kGroup, kPartition, Offset(5), 5, 1}));
}

TEST(KvDeliveryCache, WhenItIsFullTheWholeBatchIsWrittenNotOneRow) {
  KvHome home(memory_kv_disk(), 5);
  for (std::int64_t offset = 0; offset < 5; ++offset) {
    state::DeliveryState one;
    one.ref = {ProgressNumber(1), PartitionNumber(1), Offset(offset), 0, 1};
    one.attempt = 1;
    ASSERT_TRUE(home.store().put(one));
  }
  EXPECT_EQ(home.door().batches, 0);
  state::DeliveryState one;
  one.ref = {ProgressNumber(1), PartitionNumber(1), Offset(9), 0, 1};
  one.attempt = 1;
  ASSERT_TRUE(home.store().put(one));
  EXPECT_EQ(home.door().batches, 1);
  EXPECT_EQ(home.door().puts, 5);
  EXPECT_EQ(home.kv_store().cached(), 1U);
  // And while nothing can be written it takes no more than it has room for.
  home.fail_writes(true);
  int taken = 0;
  for (std::int64_t offset = 20; offset < 40; ++offset) {
    one.ref.offset = Offset(offset);
    taken += home.store().put(one) ? 1 : 0;
  }
  EXPECT_EQ(taken, 4);
  home.fail_writes(false);
  ASSERT_TRUE(home.store().commit());
  EXPECT_EQ(*home.store().count(), 10U);
}

TEST_F(KvDeliveryTest, Invariant3AMillionSettledHolesCostSmallRowsNotOneBigOne) {
  auto many = batch();
  for (std::int64_t offset = 1; offset < 200'000; offset += 2) {
    many.settled.push_back({{Offset(offset), Offset(offset)}, state::Outcome::kAcked});
  }
  ASSERT_TRUE(store().apply(many));
  ASSERT_TRUE(store().commit());
  const auto before = *store().progress(kGroup, kPartition);
  EXPECT_EQ(before->settled.size(), 100'000U);
  home_.restart();
  EXPECT_EQ(*store().progress(kGroup, kPartition), before);
  // One more settle writes one stretch, and all rows below the frontier go.
  acked(0);
  ASSERT_TRUE(store().commit());
  EXPECT_EQ((*store().progress(kGroup, kPartition))->frontier, Offset(1));
  auto rest = batch();
  rest.settled = {{{Offset(0), Offset(200'000)}, state::Outcome::kAcked}};
  ASSERT_TRUE(store().apply(rest));
  ASSERT_TRUE(store().commit());
  int settled_rows = 0;
  ASSERT_TRUE(home_.door().scan("s", "", [&](std::string_view, std::string_view) {
    ++settled_rows;
    return true;
  }));
  EXPECT_EQ(settled_rows, 0);
}

// Against a plain model, with kills between the commits.
TEST_F(KvDeliveryTest, RandomBatchesWithKillsAgreeWithAModel) {
  Random random(21);
  struct Model {
    std::map<std::int64_t, std::uint32_t> deliveries;
    std::set<std::int64_t> settled;
    std::uint32_t generation = 1;
  };
  Model now;
  Model committed;
  std::uint32_t offer = 0;
  for (int step = 0; step < 4000; ++step) {
    const auto offset = static_cast<std::int64_t>(random.below(9'000));
    auto one = batch(now.generation);
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
        one.puts = {leased(offset, ++offer)};
        if (!now.settled.contains(offset)) now.deliveries[offset] = offer;
        break;
      case 3:
      case 4: {
        const std::int64_t last = offset + static_cast<std::int64_t>(random.below(40));
        one.settled = {{{Offset(offset), Offset(last)}, state::Outcome::kFiltered}};
        for (std::int64_t at = offset; at <= last; ++at) {
          now.settled.insert(at);
          now.deliveries.erase(at);
        }
        break;
      }
      case 5:
        if (random.chance(1, 40)) {
          one.generation = Generation(++now.generation);
          now.deliveries.clear();
          now.settled.clear();
        }
        break;
      case 6:
        ASSERT_TRUE(store().commit());
        committed = now;
        continue;
      default:
        if (!random.chance(1, 10)) continue;
        home_.restart();
        now = committed;
        continue;
    }
    if (step > 0 && one.frontier == Offset(-1)) {
      ASSERT_TRUE(store().apply(one));
    }
  }
  ASSERT_TRUE(store().commit());
  home_.restart();
  std::map<std::int64_t, std::uint32_t> found;
  ASSERT_TRUE(store().iterate(kGroup, [&](const state::DeliveryState& delivery) {
    found[delivery.ref.offset.value()] = delivery.ref.offer;
    return true;
  }));
  EXPECT_EQ(found, now.deliveries);
  EXPECT_EQ(*store().count(), now.deliveries.size());
  const auto progress = *store().progress(kGroup, kPartition);
  std::set<std::int64_t> settled;
  for (std::int64_t at = 0; at <= progress->frontier.value(); ++at) settled.insert(at);
  for (const OffsetRange& range : progress->settled) {
    for (Offset at = range.first; at <= range.last; ++at) settled.insert(at.value());
  }
  EXPECT_EQ(settled, now.settled);
  EXPECT_EQ(progress->generation, Generation(now.generation));
}

TEST_F(KvDeliveryTest, Invariant14AnUncleanStartCountsForWhatIsLeasedAndRewritesNoRow) {
  auto held = leased(4);
  held.restarts = 2;
  auto waits = leased(5);
  waits.leased = false;
  waits.restarts = 1;
  ASSERT_TRUE(store().put(held));
  ASSERT_TRUE(store().put(waits));
  ASSERT_TRUE(store().commit());
  home_.restart();
  store().count_unclean_start();
  ASSERT_TRUE(store().commit());
  EXPECT_EQ(home_.door().puts, 0);
  EXPECT_EQ((*store().get(held.ref))->restarts, 3U);
  EXPECT_EQ((*store().get(waits.ref))->restarts, 1U);
  home_.restart();
  EXPECT_EQ((*store().get(held.ref))->restarts, 3U);
  // Written again, it says the same.
  held.restarts = 3;
  ASSERT_TRUE(store().put(held));
  ASSERT_TRUE(store().commit());
  home_.restart();
  EXPECT_EQ((*store().get(held.ref))->restarts, 3U);
}

TEST_F(KvDeliveryTest, Invariant15TimeGoesOnWhereWhoeverOpenedItSays) {
  ASSERT_TRUE(store().put(leased(4)));
  home_.advance(10'000);
  store().go_on_at(store().now().plus(-8'000));
  EXPECT_EQ((*store().get(leased(4).ref))->due_in_ms, 28'000U);
  EXPECT_EQ((*store().get(leased(4).ref))->since_ms, 2'000U);
  home_.advance(1'000);
  EXPECT_EQ((*store().get(leased(4).ref))->due_in_ms, 27'000U);
  ASSERT_TRUE(store().commit());
  home_.restart();
  EXPECT_EQ((*store().get(leased(4).ref))->due_in_ms, 27'000U);
}

TEST_F(KvDeliveryTest, NotesAreOfTheMomentOfTheirBatchAndOfTheirProgress) {
  state::DeliveryChange change{.batch = batch(), .drops = {}, .notes = {}};
  change.notes = {{"a", "1"}, {"b", "2"}};
  ASSERT_TRUE(store().apply(change));
  ASSERT_TRUE(store().commit());
  change.notes = {{"b", std::nullopt}, {"c", "3"}};
  ASSERT_TRUE(store().apply(change));
  using Notes = std::map<std::string, std::string>;
  EXPECT_EQ(*store().notes({kGroup, kPartition}), (Notes{{"a", "1"}, {"c", "3"}}));
  home_.restart();
  EXPECT_EQ(*store().notes({kGroup, kPartition}), (Notes{{"a", "1"}, {"b", "2"}}));
  change.all = true;
  change.notes = {{"d", ""}};
  ASSERT_TRUE(store().apply(change));
  ASSERT_TRUE(store().commit());
  home_.restart();
  EXPECT_EQ(*store().notes({kGroup, kPartition}), (Notes{{"d", ""}}));
}

TEST_F(KvDeliveryTest, WhatIsForgottenLeavesNoRow) {
  state::DeliveryChange change{.batch = batch(), .drops = {}, .notes = {{"a", "1"}}};
  change.batch.puts = {leased(4), leased(9000)};
  change.batch.settled = {{{Offset(5), Offset(6)}, state::Outcome::kAcked}};
  ASSERT_TRUE(store().apply(change));
  ASSERT_TRUE(store().commit());
  change.batch.progress = ProgressNumber(4);
  change.batch.puts.clear();
  ASSERT_TRUE(store().apply(change));
  ASSERT_TRUE(store().commit());
  ASSERT_TRUE(store().put(leased(10)));
  ASSERT_TRUE(store().forget(kGroup, kPartition));
  EXPECT_EQ(*store().count(), 0U);
  ASSERT_TRUE(store().commit());
  home_.restart();
  EXPECT_EQ(store().keys(),
            (std::vector<state::KvDeliveryStateStore::Key>{{ProgressNumber(4), kPartition}}));
  ASSERT_TRUE(state::forget_unknown_deliveries(
      home_.door(), [](ProgressNumber, PartitionNumber) { return false; }));
  int rows = 0;
  ASSERT_TRUE(home_.door().scan("", "", [&](std::string_view key, std::string_view) {
    rows += key.front() == 'h' ? 0 : 1;
    return true;
  }));
  EXPECT_EQ(rows, 0);
}

TEST(KvDeliveryRows, AKeyThatIsNoneOfOursIsRefused) {
  using state::rows::Kind;
  const std::string head = state::rows::prefix(Kind::kHead, PartitionNumber(7), ProgressNumber(9));
  EXPECT_TRUE(state::rows::place_of(head));
  EXPECT_FALSE(state::rows::place_of(head + "x"));
  EXPECT_FALSE(state::rows::place_of("z" + head.substr(1)));
}

TEST_F(KvDeliveryTest, ADamagedRowIsRefusedByNameNotGuessed) {
  ASSERT_TRUE(store().put(leased(4)));
  ASSERT_TRUE(store().commit());
  std::string key;
  std::string value;
  ASSERT_TRUE(home_.door().scan("d", "", [&](std::string_view found, std::string_view bytes) {
    key = found;
    value = bytes;
    return true;
  }));
  for (std::size_t at = 0; at < value.size(); ++at) {
    std::string bad = value;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    ASSERT_TRUE(home_.door().write({{key, bad}}, false));
    const auto got = store().get(leased(4).ref);
    ASSERT_FALSE(got) << at;
    EXPECT_EQ(got.error().code, ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace ackline::testing

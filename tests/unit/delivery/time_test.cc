// The dispatcher's own time: over kills, pauses and changes of the shard count no lease gets
// shorter, and none gets longer by more than a second.
#include <gtest/gtest.h>

#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

constexpr std::int64_t kLeaseMs = 30'000;

struct TimeTest : testing::Test, Rig {
  TimeTest() {
    boot();
    client("c1");
  }
  Offer one() {
    append();
    run();
    std::vector<Offer> got = take();
    EXPECT_EQ(got.size(), 1U);
    return got.front();
  }
  [[nodiscard]] std::int64_t left() const {
    return d->blocker(kKey, now).lease_left_ms.value_or(-1);
  }
};

TEST_F(TimeTest, Invariant15AKillMakesNoLeaseShorterAndNoneLongerByMoreThanASecond) {
  for (std::int64_t offered_at = 0; offered_at < 2000; offered_at += 130) {
    for (std::int64_t killed_after = 0; killed_after < 2500; killed_after += 310) {
      Rig rig;
      rig.boot();
      rig.client("c1");
      rig.append();  // a lease that keeps the marks coming
      rig.run();
      rig.advance(offered_at);
      rig.append();
      rig.run();
      for (std::int64_t passed = 0; passed < killed_after; passed += 10) rig.advance(10);
      std::int64_t before = 0;
      const auto look = [&] {
        std::int64_t found = 0;
        rig.d->for_each_delivery(Rig::kKey, [&](const DeliveryReport& one) {
          if (one.offset == Offset(1)) found = one.left_ms;
        });
        return found;
      };
      before = look();
      rig.now = rig.now.plus(77'777);
      rig.boot(2);
      EXPECT_GE(look(), before) << offered_at << " " << killed_after;
      EXPECT_LE(look(), before + 1000) << offered_at << " " << killed_after;
    }
  }
}

TEST_F(TimeTest, Invariant14AKillDuringAStallTakesNothingOfTheStallFromALease) {
  one();
  advance(5'000);
  now = now.plus(60'000);
  // Asked before anybody saw that the disk stands still: the clock has moved, and a mark says so.
  append();
  run();
  ASSERT_EQ(take().size(), 1U);
  d->stand_still(now.plus(-60'000));
  boot(2);
  EXPECT_EQ(left(), kLeaseMs - 5'000);
}

TEST_F(TimeTest, Invariant14NoTimeGoesByWhileTheServerStandsStill) {
  one();
  advance(20'000);
  d->stand_still(now);
  now = now.plus(100'000);
  append();
  run();  // input is taken all the same
  ASSERT_EQ(take().size(), 1U);
  d->go_on(now);
  EXPECT_EQ(left(), 10'000);
  advance(9'999);
  EXPECT_EQ(progress().in_flight, 2U);
  advance(1);
  EXPECT_EQ(progress().in_flight, 1U);
}

TEST_F(TimeTest, Invariant14AnOfferThatWaitedSaysWhatItHasLeft) {
  const Offer offer = one();
  EXPECT_EQ(d->leave(offer.id, false, now.plus(120)), kLeaseMs - 120);
  EXPECT_TRUE(ack(offer));
  EXPECT_EQ(d->leave(offer.id, false, now), 0);
}

TEST_F(TimeTest, Invariant14AGroupMadeDuringAStallHasWholeLeases) {
  one();
  advance(1'000);
  now = now.plus(60'000);
  const ProgressNumber late{11};
  groups[late] = groups[kGroup];
  groups[late].number = late;
  d->add_group(groups[late]);
  append();
  run();  // the clock moves before anybody sees the stall
  d->open_progress({late, kPartition}, Offset(0));
  client("c2", Dispatcher::kUnlimited, late);
  d->stand_still(now.plus(-60'000));
  d->go_on(now);
  run();
  ASSERT_FALSE(take().empty());
  const ProgressKey key{late, kPartition};
  ASSERT_EQ(progress(key).in_flight, 2U);
  advance(kLeaseMs - 1);
  EXPECT_EQ(progress(key).in_flight, 2U);
  advance(1);
  EXPECT_EQ(progress(key).in_flight, 0U);
}

// Two shards whose clocks differ become one: what each had leased has the time left that it had.
TEST_F(TimeTest, Invariant15AChangedShardCountMakesNoLeaseShorter) {
  Rig a;
  Rig b;
  for (Rig* rig : {&a, &b}) {
    rig->partitions = {{1, 2}, {3, 4}};
    rig->boot();
    rig->client("c1");
  }
  b.advance(500'000);  // it stood still for less, or lives longer
  a.append();
  b.append({}, PartitionNumber(3));
  a.run();
  b.run();
  a.advance(4'000);
  b.advance(21'000);
  a.boot(2);
  b.boot(2);
  const ProgressKey on_b{Rig::kGroup, PartitionNumber(3)};

  for (const bool a_first : {true, false}) {
    Rig both;
    both.clients = a.clients;
    both.options.epoch = Epoch(3);
    both.options.restarts_max = 3;  // a start that counts for each journal would reach it
    both.d = std::make_unique<Dispatcher>(both.options, both, Random(1));
    for (const std::uint32_t number : {1U, 3U}) {
      both.d->add_partition({.number = PartitionNumber(number),
                             .index = PartitionIndex(number - 1),
                             .topic = "t",
                             .incarnation = Incarnation(1),
                             .dlq_number = PartitionNumber(number + 1),
                             .log_start = Offset(0),
                             .end = Offset(1),
                             .journal = number == 1 ? 0U : 1U});
    }
    both.d->add_group(both.groups[Rig::kGroup]);
    for (const std::uint32_t journal : {a_first ? 0U : 1U, a_first ? 1U : 0U}) {
      const Rig& of = journal == 0 ? a : b;
      both.d->begin_journal(journal, std::nullopt);
      for (const Rig::Record& record : of.journal_records) {
        const bool own = record.partition == PartitionNumber(0) ||
                         record.partition == PartitionNumber(journal == 0 ? 1 : 3);
        if (!own) continue;
        EXPECT_TRUE(both.d->apply(record.type, record.partition, as_bytes(record.body)));
      }
    }
    both.d->end_replay();
    // As the new layout's checkpoint has it, for the crash right after.
    for (const std::uint32_t number : {1U, 3U}) {
      both.d->snapshot(PartitionNumber(number), both.now, both.sections[PartitionNumber(number)]);
    }
    both.d->resume(both.now, both.wall, false);
    const auto check = [&] {
      int seen = 0;
      const auto look = [&](ProgressKey key, std::int64_t left_ms) {
        both.d->for_each_delivery(key, [&](const DeliveryReport& one) {
          EXPECT_GE(one.left_ms, left_ms);
          EXPECT_LE(one.left_ms, left_ms + 1000);
          ++seen;
        });
      };
      look(Rig::kKey, kLeaseMs - 4'000);
      look(on_b, kLeaseMs - 21'000);
      EXPECT_EQ(seen, 2);
    };
    check();
    EXPECT_TRUE(both.dead_requests.empty());
    both.partitions = {{1, 2}, {3, 4}};
    both.ends[PartitionNumber(1)] = both.ends[PartitionNumber(3)] = Offset(1);
    both.applied = 0;
    std::string boot_record;
    state::BootRecord{.epoch = Epoch(3), .shard_count = 1}.encode(boot_record);
    both.journal_records = {{state::RecordType::kBoot, PartitionNumber(0), boot_record}};
    both.options.restarts_max = 20;
    both.boot(4);
    check();
    both.options.restarts_max = 4;
    both.boot(5);  // 2, 3, 4 and 5: each once
    EXPECT_EQ(both.dead_requests.size(), 2U);
  }
}

}  // namespace
}  // namespace ackline::delivery

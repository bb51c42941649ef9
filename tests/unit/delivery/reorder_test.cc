// A group's ordering changes while deliveries are under way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct ReorderTest : testing::Test, Rig {
  void start(Ordering ordering, std::initializer_list<const char*> keys) {
    groups[kGroup].policy.ordering = ordering;
    boot();
    c1 = client("c1");
    for (const char* key : keys) append({.key = key});
    run();
    held = take();
  }
  void change(Ordering ordering) {
    groups[kGroup].policy.ordering = ordering;
    d->update_group(kGroup, groups[kGroup].policy);
    run();
  }
  std::vector<std::int64_t> after_ack(std::size_t which) {
    EXPECT_TRUE(ack(held[which]));
    run();
    return take_offsets();
  }
  ClientNumber c1;
  std::vector<Offer> held;
};

TEST_F(ReorderTest, Invariant19FromKeyToNoneWhatWaitedBehindItsKeyIsOffered) {
  start(Ordering::kKey, {"a", "a", "b", "a"});
  EXPECT_EQ(progress().blocked, 2U);
  change(Ordering::kNone);
  EXPECT_THAT(take_offsets(), ElementsAre(1, 3));
  EXPECT_EQ(progress().blocked, 0U);
  EXPECT_EQ(progress().in_flight, 4U);
  EXPECT_THAT(after_ack(0), IsEmpty());
  EXPECT_EQ(frontier(), 0);
}

TEST_F(ReorderTest, Invariant19FromKeyToNoneWithOnlyARetryInFlight) {
  start(Ordering::kKey, {"a", "a"});
  ASSERT_TRUE(settle(Verb::kNack, held[0].id, "c1", 60'000));
  change(Ordering::kNone);
  EXPECT_THAT(take_offsets(), ElementsAre(1));
}

TEST_F(ReorderTest, Invariant19FromKeyToPartitionTheRestComesOneAtATime) {
  start(Ordering::kKey, {"a", "a", "b", "b"});
  change(Ordering::kPartition);
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_THAT(after_ack(0), IsEmpty());
  EXPECT_THAT(after_ack(1), ElementsAre(1));
}

TEST_F(ReorderTest, Invariant19FromNoneToKeyNothingOvertakesWhatIsInFlight) {
  start(Ordering::kNone, {"a", "b", ""});
  change(Ordering::kKey);
  for (const char* key : {"a", "c", "", "b"}) append({.key = key});
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(4, 5));
  EXPECT_EQ(progress().blocked, 2U);
  EXPECT_THAT(after_ack(0), ElementsAre(3));
  EXPECT_THAT(after_ack(1), ElementsAre(6));
}

TEST_F(ReorderTest, Invariant19FromNoneToKeyTheKeysMayHaveToBeReadFromDisk) {
  start(Ordering::kNone, {"a"});
  reads_pend = true;
  append({.key = "a"});
  append({.key = "b"});
  change(Ordering::kKey);
  EXPECT_THAT(take(), IsEmpty());
  reads_pend = false;
  ASSERT_FALSE(pending_reads.empty());
  const auto [key, from] = pending_reads.back();
  d->on_read(key, from, batch(key.partition, from, 100), now);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(2));
  EXPECT_THAT(after_ack(0), ElementsAre(1));
}

TEST_F(ReorderTest, Invariant19FromNoneToKeyHoldsOverARestart) {
  start(Ordering::kNone, {"a", "b"});
  change(Ordering::kKey);
  append({.key = "a"});
  run();
  boot(2);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_THAT(after_ack(0), ElementsAre(2));
}

TEST_F(ReorderTest, Invariant19FromPartitionToNoneAndToKeyTheRestGoesOn) {
  start(Ordering::kPartition, {"a", "b", "a"});
  EXPECT_EQ(held.size(), 1U);
  change(Ordering::kKey);
  EXPECT_THAT(take_offsets(), ElementsAre(1));
  change(Ordering::kNone);
  EXPECT_THAT(take_offsets(), ElementsAre(2));
}

TEST_F(ReorderTest, Invariant19FromNoneToPartitionNothingNewComesBeforeAllOfItIsDone) {
  start(Ordering::kNone, {"a", "b"});
  append_many(2);
  d->set_demand(c1, 0);
  change(Ordering::kPartition);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_THAT(after_ack(1), IsEmpty());
  EXPECT_THAT(after_ack(0), ElementsAre(2));
}

// However often the rule changes: nothing is lost, nothing is offered twice at once, and what is
// new never overtakes an event of its key that is in flight.
TEST_F(ReorderTest, Invariant19RandomChangesLoseNothingAndKeepTheOrderOfNewOffers) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    Rig rig;
    Random random(seed);
    rig.boot();
    const ClientNumber client = rig.client("c1");
    Ordering ordering = Ordering::kNone;
    std::vector<std::string> keys;
    std::vector<Offer> in_flight;
    std::set<std::int64_t> seen;
    constexpr std::array kOrderings = {Ordering::kNone, Ordering::kKey, Ordering::kPartition};
    const auto receive = [&] {
      for (const Offer& offer : rig.take()) {
        const std::string& key = keys[static_cast<std::size_t>(offer.offset.value())];
        if (seen.insert(offer.offset.value()).second && ordering != Ordering::kNone) {
          for (const Offer& other : in_flight) {
            const auto at = static_cast<std::size_t>(other.offset.value());
            ASSERT_TRUE(ordering == Ordering::kKey && (key.empty() || keys[at] != key))
                << "seed " << seed << ": " << offer.offset.value() << " beside " << at;
          }
        }
        in_flight.push_back(offer);
      }
    };
    for (int step = 0; step < 400; ++step) {
      const auto what = random.between(0, 9);
      if (what < 4 && keys.size() < 150) {
        keys.emplace_back(
            std::array{"", "a", "b", "c"}[static_cast<std::size_t>(random.between(0, 3))]);
        rig.append({.key = keys.back()});
      } else if (what < 8 && !in_flight.empty()) {
        const auto at = random.between(0, static_cast<std::int64_t>(in_flight.size()) - 1);
        ASSERT_TRUE(rig.ack(in_flight[static_cast<std::size_t>(at)]));
        in_flight.erase(in_flight.begin() + at);
      } else if (what == 8) {
        ordering = kOrderings[static_cast<std::size_t>(random.between(0, 2))];
        rig.groups[Rig::kGroup].policy.ordering = ordering;
        rig.d->update_group(Rig::kGroup, rig.groups[Rig::kGroup].policy);
      } else {
        rig.d->set_demand(client, random.chance(1, 2) ? 1 : Dispatcher::kUnlimited);
      }
      rig.run();
      receive();
    }
    rig.d->set_demand(client, Dispatcher::kUnlimited);
    for (rig.run(), receive(); !in_flight.empty(); rig.run(), receive()) {
      ASSERT_TRUE(rig.ack(in_flight.back()));
      in_flight.pop_back();
    }
    EXPECT_EQ(rig.frontier(), static_cast<std::int64_t>(keys.size()) - 1) << "seed " << seed;
    EXPECT_EQ(seen.size(), keys.size());
  }
}

}  // namespace
}  // namespace ackline::delivery

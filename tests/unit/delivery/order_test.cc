// Ordering, filters and expiry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ackline/event/filter.h"
#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct OrderTest : testing::Test, Rig {
  void start(Ordering ordering) {
    groups[kGroup].policy.ordering = ordering;
    boot();
    c1 = client("c1");
  }
  void filter(std::string_view json) {
    groups[kGroup].policy.filter =
        std::make_shared<const event::Filter>(event::Filter::parse(json).value());
    boot();
    c1 = client("c1");
  }
  ClientNumber c1;
};

TEST_F(OrderTest, Invariant19OneEventOfAKeyIsInFlightAndOtherKeysGoOn) {
  start(Ordering::kKey);
  for (const char* key : {"a", "a", "b", "a", "", "", "b"}) append({.key = key});
  run();
  std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 4U);  // 0 (a), 2 (b), and two without a key
  EXPECT_EQ(progress().blocked, 3U);
  EXPECT_EQ(d->holes(kKey, Offset(0), 1).holes[0].blocked, 3U);
  EXPECT_TRUE(ack(got[0]));
  run();
  const std::vector<Offer> next = take();
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].offset, Offset(1));
  EXPECT_TRUE(ack(next[0]));
  EXPECT_TRUE(ack(got[1]));
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(3, 6));
}

TEST_F(OrderTest, Invariant19AFailingKeyParksOnlyThatKey) {
  start(Ordering::kKey);
  for (const char* key : {"a", "a", "b", "b"}) append({.key = key});
  run();
  std::vector<Offer> got = take();
  ASSERT_TRUE(settle(Verb::kNack, got[0].id, "c1", 10'000));
  EXPECT_TRUE(ack(got[1]));
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(3));
  advance(10'000);
  EXPECT_THAT(take_offsets(), ElementsAre(0));  // the retry before its successor
}

TEST_F(OrderTest, Invariant19KeysHoldOverARestart) {
  start(Ordering::kKey);
  for (const char* key : {"a", "a", "b"}) append({.key = key});
  run();
  const std::vector<Offer> got = take();
  checkpoint();
  boot(2);
  d->set_demand(c1, Dispatcher::kUnlimited);
  run();
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_EQ(progress().blocked, 1U);
  EXPECT_TRUE(ack(got[0]));
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(1));
}

TEST_F(OrderTest, Invariant19MoreKeysThanPartitionsRunAtOnce) {
  start(Ordering::kKey);
  for (int i = 0; i < 500; ++i) append({.key = "k" + std::to_string(i % 50)});
  int done = 0;
  std::map<std::string, Offset> newest;
  for (int round = 0; round < 20 && done < 500; ++round) {
    run();
    const std::vector<Offer> got = take();
    EXPECT_LE(got.size(), 50U);
    for (const Offer& offer : got) {
      const std::string key = "k" + std::to_string(offer.offset.value() % 50);
      if (newest.contains(key)) EXPECT_LT(newest[key], offer.offset);
      newest[key] = offer.offset;
      EXPECT_TRUE(ack(offer));
      ++done;
    }
  }
  EXPECT_EQ(done, 500);
  EXPECT_EQ(frontier(), 499);
}

TEST_F(OrderTest, Invariant19PartitionOrderIsOneAtATimeAndRetriesComeFirst) {
  start(Ordering::kPartition);
  append_many(4);
  run();
  std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 1U);
  ASSERT_TRUE(settle(Verb::kNack, got[0].id, "c1", 0));
  run();
  got = take();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].offset, Offset(0));
  EXPECT_TRUE(ack(got[0]));
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(1));
}

TEST_F(OrderTest, Invariant21AFilteredGroupAdvancesOverWhatItSkips) {
  filter(R"({"exact":{"type":"yes"}})");
  for (int i = 0; i < 300; ++i) append({.type = i % 100 == 99 ? "yes" : "no"});
  run();
  const std::vector<Offer> got = take();
  ASSERT_EQ(got.size(), 3U);
  for (const Offer& offer : got) EXPECT_TRUE(ack(offer));
  EXPECT_EQ(frontier(), 299);
  EXPECT_EQ(counts[DeliveryEvent::kFiltered], 297U);
  EXPECT_LT(records_of(state::RecordType::kSettle), 15U);  // runs, not events
  boot(2);
  EXPECT_EQ(frontier(), 299);
}

TEST_F(OrderTest, Invariant22AnExpiredEventIsTerminalAtDispatch) {
  start(Ordering::kNone);
  d->set_demand(c1, 0);
  append({.ttl_ms = "1000"});
  append();
  d->set_demand(c1, Dispatcher::kUnlimited);
  const WallMs appended = wall;
  advance(0);
  EXPECT_EQ(take().size(), 2U);
  EXPECT_EQ(wall, appended);
}

TEST_F(OrderTest, Invariant22ExpiredEventsAreDeadLetteredOnlyIfAskedFor) {
  for (const bool asked : {false, true}) {
    journal_records.clear();
    counts.clear();
    logs.clear();
    ends.clear();
    clients.clear();
    groups[kGroup].policy.dead_letter_expired = asked;
    start(Ordering::kNone);
    event::CloudEvent old;
    old.set("id", "1");
    old.set("source", "/s");
    old.set("type", "t");
    old.set("expirytime", "2020-01-01T00:00:00Z");
    std::string frame;
    event::append_frame(old, frame);
    logs[kPartition].emplace(Offset(0), frame);
    ends[kPartition] = Offset(1);
    d->on_available(kPartition, Offset(1));
    append();
    run();
    EXPECT_THAT(take_offsets(), ElementsAre(1));
    EXPECT_EQ(counts[DeliveryEvent::kExpiredEvent], 1U);
    EXPECT_EQ(frontier(), 0);
    EXPECT_EQ(logs[kDlq].size(), asked ? 1U : 0U);
  }
}

}  // namespace
}  // namespace ackline::delivery

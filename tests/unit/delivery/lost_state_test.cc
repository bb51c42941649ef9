// Starts that find less than there was: of a group's progress, or of the log below it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ackline/base/logging.h"
#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct LostStateTest : testing::Test, Rig {
  LostStateTest() {
    boot();
    client("c1");
  }
  std::unique_ptr<LogCapture> log = std::make_unique<LogCapture>();

  // Publishes, delivers, and acks all but `left`.
  std::vector<Offer> work(int count, std::int64_t left = -1) {
    append_many(count);
    run();
    std::vector<Offer> got = take();
    for (const Offer& offer : got) {
      if (offer.offset.value() != left) EXPECT_TRUE(ack(offer));
    }
    return got;
  }
  void start(std::uint32_t epoch) {
    boot(epoch);
    d->set_demand(clients.begin()->first, Dispatcher::kUnlimited);
    run();
  }
  // The newest events are gone from the log, and nothing else is.
  void lose_from(std::int64_t end) {
    auto& events = logs[kPartition];
    events.erase(events.lower_bound(Offset(end)), events.end());
    ends[kPartition] = Offset(end);
  }
};

TEST_F(LostStateTest, Invariant5ProgressBehindWhatWasExportedGoesOnFromThere) {
  work(10, 7);
  exported[kKey] = {Generation(1), Offset(6)};
  journal_records.clear();  // an old one was put back
  start(2);
  EXPECT_EQ(frontier(), 6);
  EXPECT_THAT(take_offsets(), ElementsAre(7, 8, 9));
  EXPECT_THAT(log->lines(), Contains(HasSubstr("progress of a group was lost")));
  log = nullptr;
  log = std::make_unique<LogCapture>();
  exported.clear();  // and the journal says so from then on
  start(3);
  EXPECT_EQ(frontier(), 6);
  EXPECT_EQ(progress().generation, Generation(1));
  EXPECT_THAT(log->lines(), IsEmpty());
}

TEST_F(LostStateTest, WhatIsInFlightBelowWhatWasExportedIsDone) {
  append_many(5);
  run();
  const std::vector<Offer> got = take();
  exported[kKey] = {Generation(1), Offset(2)};
  start(2);
  EXPECT_EQ(frontier(), 2);
  EXPECT_EQ(progress().in_flight, 2U);
  const auto late = ack(got[0]);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, SettleStatus::kAlready);
  EXPECT_TRUE(ack(got[3]));
  EXPECT_EQ(frontier(), 3);
}

TEST_F(LostStateTest, AGenerationThatWasLostIsGoneOnWith) {
  work(6);
  exported[kKey] = {Generation(3), Offset(1)};
  start(2);
  EXPECT_EQ(progress().generation, Generation(3));
  EXPECT_EQ(frontier(), 1);
  EXPECT_THAT(take_offsets(), ElementsAre(2, 3, 4, 5));
}

TEST_F(LostStateTest, AnOlderExportChangesNothing) {
  work(6);
  exported[kKey] = {Generation(1), Offset(3)};
  start(2);
  EXPECT_EQ(frontier(), 5);
  ASSERT_TRUE(d->replay(kKey, Offset(0), false, now));
  exported[kKey] = {Generation(1), Offset(5)};
  start(3);
  EXPECT_EQ(frontier(), -1) << "of the generation before";
  EXPECT_THAT(log->lines(), IsEmpty());
}

TEST_F(LostStateTest, SettledBeyondTheLogsEndDoesNotCountForTheEventsThatComeThere) {
  const auto got = work(10, 2);
  ASSERT_EQ(got.size(), 10U);
  lose_from(5);
  start(2);
  EXPECT_THAT(log->lines(), Contains(HasSubstr("beyond the log's end")));
  EXPECT_EQ(frontier(), 1);
  EXPECT_EQ(progress().settled_ahead, 2U);  // 3 and 4
  append_many(6);
  run();
  EXPECT_THAT(take_offsets(), ElementsAre(5, 6, 7, 8, 9, 10));
  EXPECT_TRUE(ack(got[2])) << "what was in flight below stays there";
  // The records before the cut are still in the journal.
  start(3);
  EXPECT_EQ(frontier(), 4);
  EXPECT_EQ(progress().settled_ahead, 0U);
  EXPECT_EQ(progress().in_flight, 6U);
}

TEST_F(LostStateTest, ADeliveryOfAnEventThatIsGoneIsNoneOfTheNextAtItsOffset) {
  append_many(6);
  run();
  const std::vector<Offer> got = take();
  lose_from(3);
  start(2);
  EXPECT_EQ(progress().in_flight, 3U);
  append_many(1);
  run();
  const std::vector<Offer> fresh = take();
  ASSERT_EQ(fresh.size(), 1U);
  EXPECT_EQ(fresh[0].offset, Offset(3));
  EXPECT_EQ(word(ack(got[3])), "stale");
  EXPECT_EQ(fresh[0].attempt, 1U);
}

TEST_F(LostStateTest, AnExportBeyondTheLogsEndNeverCountsForEventsToCome) {
  work(4, 1);
  exported[kKey] = {Generation(1), Offset(9)};
  start(2);
  EXPECT_EQ(frontier(), 0);
  EXPECT_GT(progress().generation, Generation(1));
  append_many(10);
  start(3);
  EXPECT_EQ(frontier(), 0) << "the export is of the generation before";
}

TEST_F(LostStateTest, AFrontierBeyondTheLogBeginsAGenerationThatNoExportHasHad) {
  work(6);
  exported[kKey] = {Generation(4), Offset(5)};
  lose_from(2);
  start(2);
  EXPECT_EQ(frontier(), -1);
  EXPECT_EQ(progress().generation, Generation(5));
  EXPECT_THAT(take_offsets(), ElementsAre(0, 1));
}

TEST_F(LostStateTest, AWholeLogAndWholeProgressAreLeftAlone) {
  work(10, 4);
  exported[kKey] = {Generation(1), Offset(3)};
  start(2);
  EXPECT_EQ(progress().generation, Generation(1));
  EXPECT_EQ(frontier(), 3);
  EXPECT_EQ(progress().settled_ahead, 5U);
  EXPECT_THAT(log->lines(), Not(Contains(HasSubstr("lost"))));
}

}  // namespace
}  // namespace ackline::delivery

// Redrives and purges of at most so many dead letters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using delivery::EntryState;
using delivery::Verb;

// A topic of two partitions on two shards with six dead letters of one group.
struct DeadLettersTest : ::testing::Test {
  NodeRig rig{2};

  void SetUp() override {
    api::TopicCreate create;
    create.name = "t";
    create.partitions = 2;
    ASSERT_TRUE(rig.ask<api::TopicItem>(
        [&](auto done) { rig.admin().create_topic(create, std::move(done)); }));
    ASSERT_TRUE(rig.subscribe("c"));
    for (int i = 0; i < 6; ++i) rig.publish(1);
    EXPECT_EQ(settle_all(Verb::kReject, "rejected"), 6U);
  }
  api::LaneItem redrive(std::uint32_t max, bool dry_run = false) {
    api::RedriveRequest request;
    request.which.topic = "t";
    request.which.group = "g";
    request.which.max = max;
    request.dry_run = dry_run;
    const auto done = rig.ask<api::LaneItem>(
        [&](auto answer) { rig.admin().redrive(request, std::move(answer)); });
    EXPECT_TRUE(done) << (done ? "" : done.error().detail);
    return done ? *done : api::LaneItem{};
  }
  std::size_t settle_all(Verb verb, const std::string& word) {
    std::size_t count = 0;
    while (true) {
      const auto ids = rig.poll("c");
      if (ids.empty()) return count;
      for (const std::string& id : ids) EXPECT_EQ(rig.settled(verb, "c", id), word);
      count += ids.size();
    }
  }
  std::size_t ack_all() { return settle_all(Verb::kAck, "acked"); }
  std::vector<api::DeadLetterItem> entries(EntryState state) {
    api::DeadLetterQuery query;
    query.topic = "t";
    query.state = state;
    const auto page = rig.ask<api::DeadLetterPage>(
        [&](auto answer) { rig.admin().browse_dead(query, std::move(answer)); });
    EXPECT_TRUE(page);
    return page ? page->items : std::vector<api::DeadLetterItem>();
  }
};

TEST_F(DeadLettersTest, ARedriveOfAtMostNTakesNThatAreDeadWhateverWasRedrivenBefore) {
  for (std::uint64_t before = 0; before < 6; before += 2) {
    EXPECT_EQ(redrive(2, true).matched, before + 2) << "a dry run says the same";
    const api::LaneItem lane = redrive(2);
    EXPECT_EQ(lane.started, 2U) << before;
    EXPECT_EQ(lane.already_redriven, before);
    EXPECT_EQ(lane.matched, before + 2);
    EXPECT_EQ(ack_all(), 2U) << before;
    EXPECT_EQ(entries(EntryState::kResolved).size(), before + 2);
  }
  EXPECT_EQ(redrive(2).started, 0U);
}

TEST_F(DeadLettersTest, AnEntryTellsHowManyRedrivesItHadWhenTheLastOneWentWell) {
  redrive(100);
  EXPECT_EQ(ack_all(), 6U);
  for (int start = 0; start < 2; ++start) {
    const auto resolved = entries(EntryState::kResolved);
    ASSERT_EQ(resolved.size(), 6U);
    for (const api::DeadLetterItem& item : resolved) EXPECT_EQ(item.redrives, 1U) << item.id;
    rig.restart();
  }
}

TEST_F(DeadLettersTest, APurgeOfAtMostNTakesNOfAllPartitionsTogether) {
  redrive(2);
  EXPECT_EQ(ack_all(), 2U);
  EXPECT_EQ(rig.purge(3), 3U);
  EXPECT_EQ(entries(EntryState::kDead).size() + entries(EntryState::kResolved).size(), 3U);
  EXPECT_EQ(rig.purge(2), 2U);
  EXPECT_EQ(rig.purge(3), 1U);
  EXPECT_EQ(rig.purge(3), 0U);
}

TEST_F(DeadLettersTest, WhatWasRedrivenWellIsPurgedAndItsSpaceGivenBack) {
  redrive(100);
  const auto held = rig.poll("c", 1);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(ack_all(), 5U);
  EXPECT_EQ(rig.purge(100), 5U) << "not what is under way";
  EXPECT_EQ(entries(EntryState::kResolved).size(), 0U);
  EXPECT_EQ(entries(EntryState::kRedriving).size(), 1U);
  EXPECT_EQ(rig.settled(Verb::kAck, "c", held[0]), "acked");
  EXPECT_EQ(rig.purge(100), 1U);
  rig.pass(100);
  std::uint64_t kept = 0;
  for (std::uint32_t i = 0; i < 2; ++i) {
    const TopicPtr topic = rig.node->unit(ShardIndex(0)).shard->catalog().topic("t");
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      const log::PartitionLog* log =
          rig.node->unit(ShardIndex(shard)).shard->partition(topic->dead_letters[i]);
      if (log != nullptr)
        kept += static_cast<std::uint64_t>(log->high_watermark().next().value() -
                                           log->log_start().value());
    }
  }
  EXPECT_EQ(kept, 0U);
}

}  // namespace
}  // namespace ackline::runtime

// Dead letters in rows (`delivery.store: rocksdb`): what was forgotten stays so.
#include <gtest/gtest.h>

#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using delivery::Verb;

struct DeadLetterRowsTest : ::testing::Test {
  NodeRig rig;

  std::size_t known() {
    Shard& shard = *rig.node->unit(ShardIndex(0)).shard;
    const GroupPtr group = shard.catalog().group("t", "g");
    const TopicPtr topic = shard.catalog().topic("t");
    return shard.dispatcher()
        .dead_entries({group->number, topic->partitions[0]}, Offset(0), 100)
        .size();
  }
};

TEST_F(DeadLetterRowsTest, WhatWasPurgedAndIsGoneFromTheLogDoesNotComeBackWithAStart) {
  rig.rows = true;
  rig.restart();
  rig.publish(3);
  ASSERT_TRUE(rig.subscribe("c"));
  for (const std::string& id : rig.poll("c")) {
    EXPECT_EQ(rig.settled(Verb::kReject, "c", id), "rejected");
  }
  rig.pass(1'000);
  rig.restart();  // their rows are on disk
  EXPECT_EQ(known(), 3U);
  api::DeadLetterQuery which;
  which.topic = "t";
  which.max = 2;
  const auto purged =
      rig.ask<api::Purged>([&](auto done) { rig.admin().purge_dead(which, std::move(done)); });
  ASSERT_TRUE(purged);
  EXPECT_EQ(purged->purged, 2U);
  EXPECT_EQ(known(), 1U);
  for (int start = 0; start < 2; ++start) {
    rig.pass(31'000);  // a checkpoint: the log start is in no journal any more
    rig.restart();
    EXPECT_EQ(known(), 1U) << "start " << start;
  }
}

}  // namespace
}  // namespace ackline::runtime

// A lane comes to its end although its records could not be written when it was there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "ackline/base/logging.h"
#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using ackline::testing::KvFault;
using ackline::testing::KvOperation;
using delivery::Verb;

struct LaneEndsTest : ::testing::Test {
  NodeRig rig;

  void SetUp() override {
    rig.publish(3);
    ASSERT_TRUE(rig.subscribe("c"));
    EXPECT_EQ(ack_all(), 3U);
    rig.pass(100);
  }
  std::size_t ack_all() {
    const auto ids = rig.poll("c");
    for (const std::string& id : ids) EXPECT_EQ(rig.settled(Verb::kAck, "c", id), "acked");
    return ids.size();
  }
  Result<api::ReopenAnswer> replay(const std::string& topic = "t") {
    api::ReopenQuery query;
    query.topic = topic;
    query.group = "g";
    query.to = api::Earliest{};
    query.filter_json = "";
    return rig.ask<api::ReopenAnswer>(
        [&](auto done) { rig.admin().reopen(query, std::move(done)); });
  }
  // From the write after `pass` ones on.
  void refuse_meta(int pass) {
    rig.disks.meta.set_fault_hook(
        [left = std::make_shared<int>(pass)](KvOperation what) -> std::optional<KvFault> {
          if (what != KvOperation::kWrite || (*left)-- > 0) return std::nullopt;
          return KvFault{.error = {ErrorCode::kFull, "no space left", {}, {}}};
        });
  }
  std::string state() {
    const auto all = rig.ask<std::vector<api::LaneItem>>(
        [this](auto done) { rig.admin().lanes("t", "g", std::move(done)); });
    return all && all->size() == 1 ? all->front().state : "none";
  }
};

TEST_F(LaneEndsTest, Invariant18AnEndThatMetaRefusedIsWrittenWhenItCanBe) {
  const LogCapture log;
  ASSERT_TRUE(replay());
  refuse_meta(0);
  EXPECT_EQ(ack_all(), 3U);
  rig.pass(5'000);
  EXPECT_EQ(state(), "running");
  const auto lines = log.lines();
  EXPECT_EQ(
      std::ranges::count_if(lines,
                            [](std::string_view line) {
                              return line.contains("a finished lane could not be marked done");
                            }),
      1)
      << "said once, tried each second";
  rig.disks.meta.set_fault_hook({});
  rig.pass(2'000);
  EXPECT_EQ(state(), "done");
}

TEST_F(LaneEndsTest, Invariant18AStartThatMetaRefusedIsWrittenWhenItCanBe) {
  refuse_meta(1);  // not the one that makes it
  EXPECT_FALSE(replay());
  EXPECT_EQ(state(), "starting");
  rig.disks.meta.set_fault_hook({});
  rig.pass(2'000);
  EXPECT_EQ(state(), "running");
  EXPECT_EQ(ack_all(), 3U);
  rig.pass(100);
  EXPECT_EQ(state(), "done");
}

// A replay does not hold retention back. Who rejects what it took meanwhile is done with it.
TEST_F(LaneEndsTest, Invariant18WhatRetentionTookFromUnderALaneCanBeRejected) {
  rig.segment_bytes = 4096;
  rig.retention_bytes = 4096;
  rig.restart();
  rig.publish(3, "kept");
  ASSERT_TRUE(rig.subscribe("d", {}, "kept"));
  const auto settle_all = [this] {
    const auto ids = rig.poll("d");
    for (const std::string& id : ids) EXPECT_EQ(rig.settled(Verb::kAck, "d", id), "acked");
    return ids.size();
  };
  EXPECT_EQ(settle_all(), 3U);
  ASSERT_TRUE(replay("kept"));
  const auto held = rig.poll("d");
  ASSERT_EQ(held.size(), 3U);
  for (int i = 0; i < 10; ++i) {
    rig.publish(50, "kept");
    while (settle_all() > 0) {
    }
  }
  rig.pass(11'000);
  const LogCapture log;
  EXPECT_EQ(rig.settled(Verb::kReject, "d", held[0]), "rejected");
  EXPECT_FALSE(log.contains("a dead letter could not be written"));
  for (std::size_t i = 1; i < held.size(); ++i) {
    EXPECT_EQ(rig.settled(Verb::kAck, "d", held[i]), "acked");
  }
  rig.pass(2'000);
  const auto lanes = rig.ask<std::vector<api::LaneItem>>(
      [this](auto done) { rig.admin().lanes("kept", "g", std::move(done)); });
  ASSERT_TRUE(lanes);
  EXPECT_EQ(lanes->at(0).state, "done");
  EXPECT_EQ(lanes->at(0).gone, 1U);
}

TEST_F(LaneEndsTest, Invariant18ADoneLaneTakesNoRoomInCheckpoints) {
  const auto size = [this] {
    Shard& shard = *rig.node->unit(ShardIndex(0)).shard;
    std::string section;
    shard.dispatcher().snapshot(shard.catalog().topic("t")->partitions[0], shard.now(), section);
    return section.size();
  };
  for (const bool rows : {false, true}) {
    rig.rows = rows;
    rig.restart();
    rig.publish(200);
    while (ack_all() > 0) {
    }
    const std::size_t before = size();
    ASSERT_TRUE(replay());
    EXPECT_GT(size(), before + 600) << "three bytes an event";
    while (ack_all() > 0) {
    }
    for (int start = 0; start < 3; ++start) {
      rig.pass(2'000);
      EXPECT_LT(size(), before + 100) << "rows " << rows << ", start " << start;
      rig.restart();
    }
  }
}

// The end of a lane is in meta; the process dies before the shard has heard of it.
TEST_F(LaneEndsTest, Invariant18And31ALaneThatWasEndedDoesNotComeBackAfterAKill) {
  rig.publish(2);
  for (const std::string& id : rig.poll("c")) {
    EXPECT_EQ(rig.settled(Verb::kReject, "c", id), "rejected");
  }
  const auto redrive = [this] {
    api::RedriveRequest request;
    request.which.topic = "t";
    return rig.ask<api::LaneItem>(
        [&](auto done) { rig.admin().redrive(request, std::move(done)); });
  };
  const auto lane = redrive();
  ASSERT_TRUE(lane);
  EXPECT_EQ(lane->started, 2U);
  EXPECT_EQ(rig.poll("c", 1).size(), 1U) << "one is in flight, one is not";
  bool written = false;
  rig.disks.meta.set_fault_hook([&written](KvOperation what) -> std::optional<KvFault> {
    written = written || what == KvOperation::kWrite;
    return std::nullopt;
  });
  rig.admin().end_lane(lane->lane_id, [](const Result<api::Removed>&) {});
  while (!written && (rig.executor.run_one() || rig.storage.run_one())) {
  }
  ASSERT_TRUE(written);
  rig.disks.meta.set_fault_hook({});
  for (int start = 0; start < 2; ++start) {
    rig.restart();
    EXPECT_EQ(state(), "none");
    EXPECT_EQ(rig.poll("c").size(), 0U) << "start " << start;
    api::DeadLetterQuery query;
    query.topic = "t";
    query.state = delivery::EntryState::kDead;
    const auto dead = rig.ask<api::DeadLetterPage>(
        [&](auto done) { rig.admin().browse_dead(query, std::move(done)); });
    ASSERT_TRUE(dead);
    EXPECT_EQ(dead->items.size(), 2U) << "start " << start;
  }
  const auto again = redrive();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->started, 2U);
  EXPECT_EQ(ack_all(), 2U);
}

}  // namespace
}  // namespace ackline::runtime

// A lane comes to its end although its records could not be written when it was there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  Result<api::ReopenAnswer> replay() {
    api::ReopenQuery query;
    query.topic = "t";
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
  ASSERT_TRUE(replay());
  refuse_meta(0);
  EXPECT_EQ(ack_all(), 3U);
  rig.pass(5'000);
  EXPECT_EQ(state(), "running");
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

}  // namespace
}  // namespace ackline::runtime

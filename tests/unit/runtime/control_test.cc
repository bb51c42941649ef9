// Changes whose writes are refused halfway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ackline/delivery/delivery_id.h"
#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

struct ControlTest : ::testing::Test {
  NodeRig rig;

  Result<void> subscribe(const std::string& client, const std::string& group) {
    api::SubscribeRequest request;
    request.client_id = client;
    request.topic = "t";
    request.group = group;
    const auto done = rig.ask<api::Subscribed>(
        [&](auto answer) { rig.traffic().subscribe(std::move(request), std::move(answer)); });
    return done ? Result<void>() : Result<void>(std::unexpected(done.error()));
  }
  bool deleted() {
    return rig
        .ask<api::Removed>([&](auto done) { rig.admin().delete_topic("t", true, std::move(done)); })
        .has_value();
  }
  std::vector<api::GroupItem> groups() {
    auto got = rig.ask<std::vector<api::GroupItem>>(
        [&](auto done) { rig.admin().groups("t", std::move(done)); });
    return got ? std::move(*got) : std::vector<api::GroupItem>();
  }
  ProgressNumber number_of(const std::string& client) {
    const auto ids = rig.poll(client, 1);
    EXPECT_THAT(ids, SizeIs(1));
    const auto id = delivery::DeliveryIdCodec(5, {}).decode(ids.empty() ? "" : ids[0]);
    return id ? id->progress : ProgressNumber(0);
  }
  // Of the writes from now on the `which`-th (from 0) is refused, or all from it on.
  static ackline::testing::KvFaultHook refuse(int which, bool and_all_behind) {
    return [which, and_all_behind, count = std::make_shared<int>(0)](
               ackline::testing::KvOperation what) -> std::optional<ackline::testing::KvFault> {
      if (what != ackline::testing::KvOperation::kWrite) return std::nullopt;
      const int now = (*count)++;
      if (now != which && !(and_all_behind && now > which)) return std::nullopt;
      return ackline::testing::KvFault{Error{ErrorCode::kFull, "refused by the test", {}, {}}};
    };
  }
};

// In meta it is gone, so it must not live on here and take events that the next start drops.
TEST_F(ControlTest, Invariant31ATopicIsDeletedAlthoughTheOffsetStoreRefuses) {
  rig.publish(3);
  ASSERT_TRUE(subscribe("c", "g"));
  ASSERT_THAT(rig.poll("c"), SizeIs(3));
  rig.pass(3'000);  // its frontier is exported
  rig.disks.offsets.set_fault_hook(refuse(0, true));
  EXPECT_TRUE(deleted());
  EXPECT_THAT(groups(), IsEmpty());
  rig.disks.offsets.set_fault_hook({});
  rig.publish(1);
  rig.restart();
  ASSERT_TRUE(subscribe("d", "g"));
  EXPECT_THAT(rig.poll("d"), SizeIs(1)) << "what was published behind the deletion";
}

TEST_F(ControlTest, Invariant31WhatIsLeftOfALargeRemovalIsRemovedBeforeItsNameIsUsedAgain) {
  rig.publish(1);
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(subscribe("c" + std::to_string(i), "g" + std::to_string(i)));
  }
  ASSERT_THAT(groups(), SizeIs(150));
  // One write for each subscription, and then two transactions.
  rig.disks.meta.set_fault_hook(refuse(151, false));
  EXPECT_TRUE(deleted());
  rig.disks.meta.set_fault_hook({});
  rig.publish(1);
  EXPECT_THAT(groups(), IsEmpty());
  rig.restart();
  EXPECT_THAT(groups(), IsEmpty());
}

TEST_F(ControlTest, ANumberThatReachedMetaIsNotGivenOutAgain) {
  rig.publish(2);
  rig.disks.meta.set_fault_hook(refuse(1, false));
  EXPECT_FALSE(subscribe("a", "first"));  // the group is in meta, the subscription is not
  rig.disks.meta.set_fault_hook({});
  ASSERT_TRUE(subscribe("b", "second"));
  rig.restart();
  ASSERT_TRUE(subscribe("a", "first"));
  EXPECT_NE(number_of("a"), number_of("b"));
}

}  // namespace
}  // namespace ackline::runtime

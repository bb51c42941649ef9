// Subscribes through the node: what is said of a conflict, and subscribes that race.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

struct SubscribeTest : ::testing::Test {
  NodeRig rig;

  static api::SubscribeRequest request_of(const std::string& client, std::uint32_t max_attempts) {
    api::SubscribeRequest request;
    request.client_id = client;
    request.topic = "t";
    request.group = "g";
    request.max_attempts = max_attempts;
    return request;
  }
};

TEST_F(SubscribeTest, AConflictNamesItsGroupAndTopic) {
  rig.publish(1);
  ASSERT_TRUE(rig.subscribe("c"));
  const auto refused = rig.ask<api::Subscribed>(
      [&](auto done) { rig.traffic().subscribe(request_of("d", 9), std::move(done)); });
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->conflicts.size(), 1U);
  EXPECT_EQ(refused->conflicts.front().key, "maxAttempts");
  EXPECT_EQ(refused->topic, "t");
  EXPECT_EQ(refused->group, "g");
}

}  // namespace
}  // namespace ackline::runtime

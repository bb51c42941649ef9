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

// Both look before there is a group.
TEST_F(SubscribeTest, OfTwoFirstSubscribesWithAnotherPolicyOneIsAConflict) {
  rig.publish(1);
  std::vector<Result<api::Subscribed>> answers;
  for (const auto& [client, attempts] : {std::pair{"c", 3U}, std::pair{"d", 9U}}) {
    rig.traffic().subscribe(request_of(client, attempts), [&answers](Result<api::Subscribed> one) {
      answers.push_back(std::move(one));
    });
  }
  rig.pass(200);
  ASSERT_EQ(answers.size(), 2U);
  ASSERT_TRUE(answers[0] && answers[1]);
  EXPECT_TRUE(answers[0]->conflicts.empty());
  ASSERT_EQ(answers[1]->conflicts.size(), 1U);
  EXPECT_EQ(answers[1]->conflicts.front().have_json, "3");
  const auto group =
      rig.ask<api::GroupItem>([this](auto done) { rig.admin().group("t", "g", std::move(done)); });
  ASSERT_TRUE(group);
  EXPECT_EQ(group->clients, 1U);
}

}  // namespace
}  // namespace ackline::runtime

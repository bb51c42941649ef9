// More dead letters than are looked at in one go, and several of one event.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using delivery::Verb;

struct ManyDeadLettersTest : ::testing::Test {
  NodeRig rig;

  // All that is offered; the last one by itself.
  std::uint64_t settle_all(Verb verb, Verb last, std::uint64_t count) {
    std::uint64_t done = 0;
    while (done < count) {
      auto ids = rig.poll("c", 1000);
      if (ids.empty()) return done;
      done += ids.size();
      if (done == count) {
        api::SettleCall call = rig.settle_call(last, "c", ids.back());
        ids.pop_back();
        settle(std::move(call));
      }
      if (ids.empty()) continue;
      api::SettleCall call = rig.settle_call(verb, "c", ids.front());
      call.delivery_ids = ids;
      settle(std::move(call));
    }
    return done;
  }
  void settle(api::SettleCall call) {
    const auto done = rig.ask<api::SettleResults>(
        [&](auto answer) { rig.traffic().settle(std::move(call), std::move(answer)); });
    ASSERT_TRUE(done);
    EXPECT_TRUE(std::ranges::all_of(*done, [](const auto& one) { return one.has_value(); }));
  }
  Result<api::DeadLetterPage> browse() {
    api::DeadLetterQuery query;
    query.topic = "t";
    return rig.ask<api::DeadLetterPage>(
        [&](auto answer) { rig.admin().browse_dead(query, std::move(answer)); });
  }
};

TEST_F(ManyDeadLettersTest, ThePurgeOfTheOthersLeavesTheSecondDeadLetterOfAnEvent) {
  constexpr std::uint64_t kEvents = 4096;
  rig.publish(kEvents);
  ASSERT_TRUE(rig.subscribe("c"));
  ASSERT_EQ(settle_all(Verb::kReject, Verb::kReject, kEvents), kEvents);
  api::ReopenQuery query;
  query.topic = "t";
  query.group = "g";
  query.to = api::Earliest{};
  ASSERT_TRUE(
      rig.ask<api::ReopenAnswer>([&](auto done) { rig.admin().reopen(query, std::move(done)); }));
  ASSERT_EQ(settle_all(Verb::kAck, Verb::kReject, kEvents), kEvents);
  rig.pass(100);
  const auto all = browse();
  ASSERT_TRUE(all);
  EXPECT_EQ(all->total, kEvents + 1);
  EXPECT_EQ(rig.purge(kEvents), kEvents);
  rig.pass(1'000);
  const auto left = browse();
  ASSERT_TRUE(left);
  EXPECT_EQ(left->total, 1U);
  ASSERT_EQ(left->items.size(), 1U) << "its record is in the log";
  EXPECT_EQ(left->items[0].origin_offset, Offset(kEvents - 1));
}

}  // namespace
}  // namespace ackline::runtime

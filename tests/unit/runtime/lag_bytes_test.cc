// Bytes of the lag, whose cursor a start sets back to the frontier.
#include <gtest/gtest.h>

#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using delivery::Verb;

struct LagBytesTest : ::testing::Test {
  NodeRig rig;

  std::uint64_t lag_bytes() {
    const auto lag = rig.ask<std::vector<api::GroupLag>>(
        [this](auto done) { rig.admin().lag("t", "g", false, std::move(done)); });
    if (!lag || lag->empty()) return 0;
    return lag->at(0).partitions.at(0).lag_bytes;
  }
};

TEST_F(LagBytesTest, HolesAboveTheCursorAreCountedOnce) {
  rig.publish(10);
  ASSERT_TRUE(rig.subscribe("c"));
  const auto ids = rig.poll("c");
  ASSERT_EQ(ids.size(), 10U);
  rig.pass(100);
  const std::uint64_t all = lag_bytes();
  ASSERT_EQ(all % 10, 0U) << "ten of one size";
  for (const std::size_t at : {2U, 3U, 7U}) {
    EXPECT_EQ(rig.settled(Verb::kAck, "c", ids[at]), "acked");
  }
  rig.pass(100);
  EXPECT_EQ(lag_bytes(), all / 10 * 7);
  rig.restart();
  EXPECT_EQ(lag_bytes(), all / 10 * 7) << "after a start";
  rig.publish(2);
  rig.pass(100);
  EXPECT_EQ(lag_bytes(), all / 10 * 9);
}

}  // namespace
}  // namespace ackline::runtime

// Starts after a clean stop count for no offer, also when a kill comes before the next checkpoint.
#include <gtest/gtest.h>

#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

// What the ack of an offer says that lived through a clean start and `kills` unclean ones.
std::string acked_after(std::uint32_t kills, std::uint32_t shards, bool rows) {
  NodeRig rig;
  rig.rows = rows;
  rig.restarts_max = 2;
  rig.restart();
  rig.publish(1);
  EXPECT_TRUE(rig.subscribe("c"));
  const std::vector<std::string> ids = rig.poll("c");
  EXPECT_EQ(ids.size(), 1U);
  rig.restart_cleanly();
  for (std::uint32_t i = 0; i < kills; ++i) rig.restart_with(shards);
  rig.pass(2'000);
  return ids.empty() ? "no offer" : rig.settled(delivery::Verb::kAck, "c", ids[0]);
}

TEST(CleanStart, Invariant14ItCountsForNoOfferWhenAKillFollows) {
  for (const bool rows : {false, true}) {
    for (const std::uint32_t shards : {1U, 2U}) {
      EXPECT_EQ(acked_after(1, shards, rows), "acked") << rows << shards;
      EXPECT_EQ(acked_after(2, shards, rows), "settled") << rows << shards;
    }
  }
}

}  // namespace
}  // namespace ackline::runtime

// When rows (`delivery.store: rocksdb`) are written and synced while there is always more to write.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using delivery::Verb;

struct RowSyncTest : ::testing::Test {
  static constexpr int kEvents = 100;
  NodeRig rig;
  std::vector<std::string> ids;
  int answered = 0;

  void SetUp() override {
    rig.rows = true;
    rig.restart();
    rig.publish(kEvents);
    ASSERT_TRUE(rig.subscribe("c"));
    ids = rig.poll("c", kEvents);
    ASSERT_EQ(ids.size(), std::size_t{kEvents});
    rig.pass(500);
    ASSERT_FALSE(rig.disks.deliveries.unsynced());
  }
  // Without waiting for the answer.
  void begin(Verb verb, const std::string& id) {
    rig.traffic().settle(NodeRig::settle_call(verb, "c", id),
                         [this](const Result<api::SettleResults>& done) {
                           EXPECT_TRUE(done && done->at(0));
                           ++answered;
                         });
    rig.executor.drain();
  }
  // A millisecond, in which the storage does all that it was asked for.
  void pass() {
    rig.executor.fire(1);
    while (rig.storage.run_one()) {
    }
  }
};

// The timer of the sync has no turn: whenever a commit ends the next ack is there.
TEST_F(RowSyncTest, Invariant13AcksThatFollowEachOtherWithoutABreakAreSyncedWithinTheInterval) {
  int unsynced_ms = 0;
  int longest_ms = 0;
  for (const std::string& id : ids) {
    begin(Verb::kAck, id);
    pass();
    unsynced_ms = rig.disks.deliveries.unsynced() ? unsynced_ms + 1 : 0;
    longest_ms = std::max(longest_ms, unsynced_ms);
  }
  rig.settle();
  EXPECT_EQ(answered, kEvents);
  EXPECT_LE(longest_ms, 12) << "the interval is 10 ms";
}

// Each turn has a dead letter, and the journal's sync is always one turn behind.
TEST_F(RowSyncTest, DeadLettersThatFollowEachOtherWithoutABreakAreAnsweredMeanwhile) {
  for (int i = 0; i < 20; i += 2) {
    begin(Verb::kReject, ids[static_cast<std::size_t>(i)]);
    begin(Verb::kReject, ids[static_cast<std::size_t>(i) + 1]);
    pass();
    rig.executor.drain();
  }
  EXPECT_GE(answered, 12);
  rig.settle();
  EXPECT_EQ(answered, 20);
}

}  // namespace
}  // namespace ackline::runtime

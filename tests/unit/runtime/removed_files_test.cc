// Files below a log start go, also when its record could not be written at first.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using delivery::Verb;

struct RemovedFilesTest : ::testing::Test {
  NodeRig rig;

  std::ptrdiff_t dead_letter_files() {
    const TopicPtr topic = rig.node->unit(ShardIndex(0)).shard->catalog().topic("t");
    const std::string directory =
        "/data/log/" + std::to_string(topic->dead_letters[0].value()) + "/";
    return std::ranges::count_if(rig.fs.files(), [&](const std::string& file) {
      return file.starts_with(directory) && file.ends_with(".log");
    });
  }
  Result<api::Purged> purge() {
    api::DeadLetterQuery which;
    which.topic = "t";
    return rig.ask<api::Purged>([&](auto done) { rig.admin().purge_dead(which, std::move(done)); });
  }
};

TEST_F(RemovedFilesTest, AfterAPurgeWhoseBatchCouldNotBeWrittenAtFirst) {
  rig.publish(2);
  ASSERT_TRUE(rig.subscribe("c"));
  for (const std::string& id : rig.poll("c")) {
    EXPECT_EQ(rig.settled(Verb::kReject, "c", id), "rejected");
  }
  rig.pass(31'000);  // a checkpoint: their segment is on disk
  ASSERT_EQ(dead_letter_files(), 1);
  rig.fs.set_fault_hook(
      [left = std::make_shared<int>(2)](io::FsOperation what,
                                        const std::string& at) -> std::optional<io::FsFault> {
        if (what != io::FsOperation::kWrite || !at.starts_with("/data/journal") || (*left)-- <= 0) {
          return std::nullopt;
        }
        return io::FsFault{Error{ErrorCode::kUnavailable, "input/output error", {}, {}}, 0};
      });
  EXPECT_FALSE(purge());
  rig.fs.set_fault_hook({});
  rig.pass(1'000);
  const auto again = purge();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->purged, 0U) << "it was kept, and written later";
  rig.pass(11'000);
  EXPECT_EQ(dead_letter_files(), 0);
}

}  // namespace
}  // namespace ackline::runtime

// Checkpoints of a shard when one of its partitions cannot be part of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ackline/base/logging.h"
#include "ackline/io/checkpoint/checkpoint.h"
#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using io::FsOperation;

constexpr std::int64_t kIntervalMs = 31'000;
const std::string kJournal = "/data/journal/1-0";

struct CheckpointTest : ::testing::Test {
  NodeRig rig;

  std::optional<io::Checkpoint> last() {
    auto read = io::read_checkpoint(rig.fs, kJournal);
    EXPECT_TRUE(read);
    return read ? std::move(*read) : std::nullopt;
  }
  std::uint64_t sequence() {
    const auto checkpoint = last();
    return checkpoint ? checkpoint->info.sequence : 0;
  }
  // The sections' partitions, and through where each contains the journal.
  std::map<std::uint32_t, std::uint64_t> sections() {
    std::map<std::uint32_t, std::uint64_t> all;
    if (const auto checkpoint = last()) {
      for (const auto& one : checkpoint->sections) {
        all[one.partition.value()] = one.applied.value();
      }
    }
    return all;
  }
  // The next `times` operations of that kind on what is below `path` fail.
  void fail_at(FsOperation what, const std::string& path, int times) {
    auto left = std::make_shared<int>(times);
    rig.fs.set_fault_hook([what, path, left](FsOperation operation,
                                             const std::string& at) -> std::optional<io::FsFault> {
      if (operation != what || !at.starts_with(path) || *left == 0) return std::nullopt;
      --*left;
      return io::FsFault{Error{ErrorCode::kUnavailable, "input/output error", {}, {}}, 0};
    });
  }
  std::size_t delivered(const std::string& client, const std::string& topic) {
    EXPECT_TRUE(rig.subscribe(client, {}, topic));
    std::size_t count = 0;
    for (std::size_t got = 1; got > 0;) {
      got = rig.poll(client).size();
      count += got;
    }
    return count;
  }
};

TEST_F(CheckpointTest, APartitionThatFailsItsFirstSyncDoesNotStopTheCheckpointsOfTheOthers) {
  rig.publish(5);
  rig.pass(kIntervalMs);
  ASSERT_EQ(sections().size(), 2U);  // of t and its dead letters
  rig.publish(7, "bad");             // partition 3
  fail_at(FsOperation::kSync, "/data/log/3/", 1);
  rig.pass(kIntervalMs);
  rig.fs.set_fault_hook({});
  // Said at once, though nobody reads it.
  EXPECT_EQ(rig.node->readiness().back().detail, "1 partition is quarantined; run ackline doctor");
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = sequence();
    const std::uint64_t contained = sections()[1];
    rig.publish(5);
    rig.pass(kIntervalMs);
    EXPECT_GT(sequence(), before) << "a checkpoint was made";
    EXPECT_GT(sections()[1], contained) << "with what is new of the others";
  }
  // What the journal alone has is kept there.
  EXPECT_LE(last()->info.journal_lowest, Lsn(sections()[3] + 1));
  EXPECT_LT(sections()[3], sections()[1]);
  for (int start = 0; start < 2; ++start) {
    rig.restart();
    rig.pass(kIntervalMs);
    EXPECT_EQ(sections().size(), 4U);
    EXPECT_GE(sections()[3] + 1, sections()[1]) << "whole again after a start";
  }
  EXPECT_EQ(delivered("c", "bad"), 7U);
  EXPECT_EQ(delivered("d", "t"), 20U);
}

TEST_F(CheckpointTest, APartitionThatFailsASyncIsRefilledFromItsLastSection) {
  rig.publish(5, "bad");  // partition 1
  rig.publish(5);
  rig.pass(kIntervalMs);
  rig.publish(6, "bad");
  fail_at(FsOperation::kSync, "/data/log/1/", 1);
  rig.pass(kIntervalMs);
  rig.fs.set_fault_hook({});
  const std::uint64_t before = sequence();
  rig.publish(5);
  rig.pass(kIntervalMs);
  EXPECT_GT(sequence(), before);
  rig.restart();
  EXPECT_EQ(delivered("c", "bad"), 11U);
  EXPECT_EQ(delivered("d", "t"), 10U);
}

TEST_F(CheckpointTest, APartitionWhoseFilesCannotBeWrittenDoesNotStopTheCheckpointsOfTheOthers) {
  rig.publish(5);
  rig.publish(7, "bad");  // partition 3
  fail_at(FsOperation::kWrite, "/data/log/3/", 1'000'000);
  rig.pass(kIntervalMs);
  const std::uint64_t before = sequence();
  EXPECT_GT(before, 0U);
  rig.publish(5);
  rig.pass(kIntervalMs);
  EXPECT_GT(sequence(), before);
  rig.restart();  // still so
  EXPECT_EQ(delivered("c", "bad"), 7U);
  rig.fs.set_fault_hook({});
  rig.pass(kIntervalMs);
  EXPECT_GE(sections()[3] + 1, sections()[1]) << "it is part of them again by itself";
  rig.restart();
  EXPECT_EQ(delivered("d", "t"), 10U);
}

// The simulation, seed 256: a replay began in the process of the newest section, for all.
TEST_F(CheckpointTest, Invariant12IdsOutliveACheckpointThatThePartitionWasNotPartOf) {
  rig.publish(5);
  rig.publish(7, "bad");  // partition 3
  api::SubscribeRequest request;
  request.client_id = "c";
  request.topic = "bad";
  request.group = "g";
  request.ack_timeout_ms = 600'000;
  request.max_lease_ms = 600'000;
  ASSERT_TRUE(rig.ask<api::Subscribed>(
      [&](auto answer) { rig.traffic().subscribe(std::move(request), std::move(answer)); }));
  rig.pass(kIntervalMs);
  const std::vector<std::string> ids = rig.poll("c");
  ASSERT_EQ(ids.size(), 7U);
  EXPECT_EQ(rig.settled(delivery::Verb::kAck, "c", ids[0]), "acked");
  rig.restart();
  rig.publish(1, "bad");
  rig.publish(5);
  const std::uint64_t before = sequence();
  fail_at(FsOperation::kWrite, "/data/log/3/", 1'000'000);
  rig.pass(kIntervalMs);
  ASSERT_GT(sequence(), before);
  ASSERT_LT(sections()[3], sections()[1]);
  EXPECT_EQ(rig.settled(delivery::Verb::kAck, "c", ids[1]), "acked");
  rig.fs.set_fault_hook({});
  rig.restart();
  EXPECT_EQ(rig.settled(delivery::Verb::kAck, "c", ids[0]), "already");
  EXPECT_EQ(rig.settled(delivery::Verb::kAck, "c", ids[1]), "already");
  for (std::size_t i = 2; i < ids.size(); ++i) {
    EXPECT_EQ(rig.settled(delivery::Verb::kAck, "c", ids[i]), "acked");
  }
}

TEST_F(CheckpointTest, ATopicThatIsDeletedWhileItsDirectoryIsSyncedDoesNotFailTheCheckpoint) {
  LogCapture log;
  rig.publish(5);
  rig.publish(5, "gone");  // partition 3
  bool deleted = false;
  rig.fs.set_fault_hook(
      [&](FsOperation operation, const std::string& path) -> std::optional<io::FsFault> {
        // The checkpoint is on its storage thread; meanwhile the shard goes on.
        if (operation == FsOperation::kSyncDirectory && path == "/data/log/3" && !deleted) {
          deleted = true;
          rig.admin().delete_topic("gone", true, [](const Result<api::Removed>&) {});
          rig.settle();
        }
        return std::nullopt;
      });
  rig.pass(kIntervalMs);
  rig.fs.set_fault_hook({});
  EXPECT_TRUE(deleted);
  EXPECT_EQ(sequence(), 1U);
  for (const std::string& line : log.lines()) {
    EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr("a checkpoint failed")));
  }
  EXPECT_THAT(*rig.fs.list("/data/log"), ::testing::ElementsAre("1")) << "its files are gone, too";
  rig.pass(kIntervalMs);
  EXPECT_FALSE(sections().contains(3));
  rig.restart();
  EXPECT_EQ(delivered("d", "t"), 5U);
}

// A manifest that is lost is no fresh start: what the journal has given up is in the checkpoint.
TEST_F(CheckpointTest, AMissingManifestIsDamageOnceTheJournalDoesNotHaveEverything) {
  rig.publish(5);
  rig.pass(kIntervalMs);
  ASSERT_TRUE(last());
  auto young = rig.fs.clone();
  ASSERT_TRUE(young->remove(kJournal + "/MANIFEST"));
  const auto read = io::read_checkpoint(*young, kJournal);
  ASSERT_TRUE(read) << "as if the first checkpoint was interrupted: all is in the journal";
  EXPECT_FALSE(read->has_value());
  rig.restart();
  rig.publish(5);
  rig.pass(kIntervalMs);
  const auto before = sequence();
  auto old = rig.fs.clone();
  ASSERT_TRUE(old->remove(kJournal + "/MANIFEST"));
  const auto lost = io::read_checkpoint(*old, kJournal);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(lost.error().detail, ::testing::HasSubstr("MANIFEST is missing"));
  EXPECT_EQ(sequence(), before);
}

TEST_F(CheckpointTest, AFirstCheckpointThatACrashInterruptedLosesNothing) {
  rig.publish(5);
  rig.pass(kIntervalMs);
  ASSERT_TRUE(rig.fs.remove(kJournal + "/MANIFEST"));
  rig.restart();
  EXPECT_EQ(delivered("c", "t"), 5U);
}

TEST_F(CheckpointTest, AMissingManifestOfAChangedLayoutIsDamageFromTheStart) {
  rig.publish(5);
  rig.restart_with(2);
  for (const char* shard : {"/data/journal/2-0", "/data/journal/2-1"}) {
    ASSERT_TRUE(rig.fs.remove(std::string(shard) + "/MANIFEST"));
    const auto lost = io::read_checkpoint(rig.fs, shard);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace ackline::runtime

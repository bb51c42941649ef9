// The same partition on real files.
#include <gtest/gtest.h>

#include "ackline/io/fs/posix_file_system.h"
#include "ackline/log/local/doctor.h"
#include "ackline/log/local/partition.h"
#include "tests/support/kv/temp_directory.h"
#include "tests/unit/log/log_fixture.h"

namespace ackline::log {
namespace {

TEST(PartitionOnRealFiles, IsWrittenReopenedReadTruncatedAndDestroyed) {
  io::PosixFileSystem fs;
  const ackline::testing::TempDirectory home;
  const std::string directory = home.path() + "/log/7";
  const PartitionNumber number(7);
  ReadCache cache;
  PartitionOptions options;
  options.segment_bytes = 256 * 1024;
  auto log = LocalPartition::open(fs, directory, number, std::nullopt, cache, options);
  ASSERT_TRUE(log);
  std::string body;
  for (int i = 0; i < 10000; ++i) {
    const std::string frame = frame_of(i, 200);
    const std::vector<ByteView> frames{as_bytes(frame)};
    ASSERT_TRUE((*log)->append(frames, WallMs(i), body));
    (*log)->on_synced((*log)->next_offset());
    if ((*log)->needs_flush()) {
      ASSERT_TRUE((*log)->flush_tail());
    }
  }
  const Result<PartitionCheckpoint> checkpoint = (*log)->prepare_checkpoint();
  ASSERT_TRUE(checkpoint);
  for (const auto& file : checkpoint->files) ASSERT_TRUE(file->sync());
  for (const auto& path : checkpoint->directories) ASSERT_TRUE(fs.sync_directory(path));
  (*log)->checkpoint_synced();
  log = LocalPartition::open(fs, directory, number, checkpoint->section, cache, options);
  ASSERT_TRUE(log);
  ASSERT_TRUE((*log)->finish_replay());
  for (Offset at(0); at < Offset(10000);) {
    const Result<ReadBatch> batch = (*log)->read(at, {});
    if (!batch) {
      ASSERT_EQ(batch.error().code, ErrorCode::kTimeout);
      std::unique_ptr<ReadJob> job = (*log)->read_job(at);
      job->run();
      ASSERT_TRUE((*log)->absorb(std::move(job)));
      continue;
    }
    for (const StoredEvent& event : batch->events) {
      ASSERT_EQ(as_text(event.frame), frame_of(event.offset.value(), 200));
    }
    at = batch->next;
  }
  const Result<PartitionReport> report =
      examine_partition(fs, directory, number, checkpoint->section);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->problems.empty());
  EXPECT_EQ(report->events, 10000);
  EXPECT_GT(report->segments.size(), 7U);
  (*log)->truncate_before(Offset(5000));
  ASSERT_TRUE((*log)->remove_truncated((*log)->log_start()));
  EXPECT_LT(examine_partition(fs, directory, number)->events, 7000);
  ASSERT_TRUE((*log)->destroy());
  EXPECT_FALSE(*fs.exists(directory));
}

}  // namespace
}  // namespace ackline::log

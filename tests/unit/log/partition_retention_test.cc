// What leaves the log: retention, purge, crashes between the two steps.
#include "ackline/log/local/doctor.h"
#include "tests/unit/log/log_fixture.h"

namespace ackline::log {
namespace {

class PartitionRetentionTest : public LogTest {
 protected:
  void truncate(Offset start) {
    log_->truncate_before(start);
    journal_.emplace_back(log_->log_start());
  }
  std::size_t log_files() const {
    std::size_t count = 0;
    for (const std::string& path : fs_->files()) count += path.ends_with(".log") ? 1 : 0;
    return count;
  }
};

TEST_F(PartitionRetentionTest, ByBytesWholeSegmentsGoAndTheNewestStays) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  const std::uint64_t stored = log_->stored_bytes();
  EXPECT_EQ(log_->retention_candidate(std::nullopt, stored, WallMs(5000)), Offset(0));
  const Offset start = log_->retention_candidate(std::nullopt, stored / 2, WallMs(5000));
  EXPECT_GT(start, Offset(100));
  EXPECT_LT(start, Offset(200));
  truncate(start);
  ASSERT_TRUE(log_->remove_truncated(log_->log_start()));
  EXPECT_LE(log_->stored_bytes(), stored / 2);
  EXPECT_EQ(log_->high_watermark(), Offset(299));
  const Offset most = log_->retention_candidate(std::nullopt, 1, WallMs(5000));
  EXPECT_LT(most, Offset(300));
}

// Its own record may not be synced yet when the first one is.
TEST_F(PartitionRetentionTest, Invariant30FilesOfALaterLogStartStayUntilTheirOwnRecordIsSynced) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  checkpoint();
  truncate(Offset(100));
  truncate(Offset(200));
  const std::size_t all = log_files();
  ASSERT_TRUE(log_->remove_truncated(Offset(100)));
  const std::size_t after_first = log_files();
  ASSERT_TRUE(log_->remove_truncated(Offset(200)));
  EXPECT_LT(after_first, all);
  EXPECT_LT(log_files(), after_first);
}

TEST_F(PartitionRetentionTest, ByAgeEvenTheNewestSegmentGoes) {
  options_.segment_bytes = 4096;
  open();
  fill(100, 100, 10, WallMs(1000));
  fill(100, 100, 10, WallMs(2000));
  EXPECT_EQ(log_->retention_candidate(500, std::nullopt, WallMs(1500)), Offset(0));
  const Offset start = log_->retention_candidate(500, std::nullopt, WallMs(1501));
  EXPECT_GT(start, Offset(50));
  EXPECT_LE(start, Offset(100));
  EXPECT_EQ(log_->retention_candidate(500, std::nullopt, WallMs(9000)), Offset(200));
}

TEST_F(PartitionRetentionTest, Invariant30TheHighWatermarkStaysWhenEverythingIsGone) {
  options_.segment_bytes = 4096;
  open();
  fill(100);
  checkpoint();
  fill(50);
  truncate(Offset(150));
  EXPECT_EQ(log_->log_start(), Offset(150));
  EXPECT_EQ(log_->high_watermark(), Offset(149));
  const Result<ReadBatch> batch = log_->read(Offset(3), {});
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->events.empty());
  EXPECT_EQ(batch->next, Offset(150));  // what lies below does not exist (invariant 2)
  ASSERT_TRUE(log_->remove_truncated(log_->log_start()));
  EXPECT_EQ(log_files(), 0U);
  EXPECT_EQ(log_->stored_bytes(), 0U);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(reopen());
    EXPECT_EQ(log_->high_watermark(), Offset(149));
    EXPECT_EQ(log_->log_start(), Offset(150));
    checkpoint();
  }
  fill(10);
  EXPECT_EQ(log_->high_watermark(), Offset(159));
  expect_model(Offset(0));
}

TEST_F(PartitionRetentionTest, NothingUnsyncedIsTaken) {
  options_.segment_bytes = 4096;
  open();
  fill(100);
  for (int i = 0; i < 20; ++i) append(std::vector<std::string>(10, frame_of(i)));
  log_->truncate_before(Offset(250));
  EXPECT_EQ(log_->log_start(), Offset(100));
  EXPECT_LE(log_->retention_candidate(0, 0, WallMs(999999)), Offset(100));
}

TEST_F(PartitionRetentionTest, TheLogStartMayLieInsideASegmentAndNeverGoesBack) {
  options_.segment_bytes = 4096;
  open();
  fill(100);
  truncate(Offset(57));
  log_->truncate_before(Offset(3));
  EXPECT_EQ(log_->log_start(), Offset(57));
  ASSERT_TRUE(log_->remove_truncated(log_->log_start()));
  const Result<ReadBatch> batch = read(Offset(0));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->events.front().offset, Offset(57));
  checkpoint();
  ASSERT_TRUE(reopen());
  EXPECT_EQ(log_->log_start(), Offset(57));
  expect_model(Offset(0));
}

TEST_F(PartitionRetentionTest, ACrashAtAnyStepOfRetentionIsHealedByTheJournal) {
  for (int step = 0; step < 4; ++step) {
    SCOPED_TRACE(step);
    fs_ = std::make_unique<io::MemoryFileSystem>();
    cache_ = std::make_unique<ReadCache>();
    journal_.clear();
    model_.clear();
    section_.reset();
    applied_ = 0;
    options_.segment_bytes = 4096;
    open();
    fill(100);
    if (step >= 2) checkpoint();
    fill(100);
    ASSERT_TRUE(log_->flush_tail());
    truncate(Offset(150));
    if (step % 2 == 1) {
      ASSERT_TRUE(log_->remove_truncated(log_->log_start()));
      ASSERT_TRUE(fs_->sync_directory(directory()));
    }
    fill(30);
    ASSERT_TRUE(reopen());
    EXPECT_EQ(log_->log_start(), Offset(150));
    EXPECT_EQ(log_->high_watermark(), Offset(229));
    expect_model(Offset(0));
    checkpoint();
    const Result<PartitionReport> report = examine_partition(*fs_, directory(), kNumber, *section_);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->problems.empty());
    EXPECT_LE(report->segments.front().base, Offset(150));
    EXPECT_GT(report->segments.front().end, Offset(150));
    ASSERT_TRUE(reopen());
    expect_model(Offset(0));
  }
}

TEST_F(PartitionRetentionTest, AReaderThatHoldsAJobOfARemovedSegmentComesAwayUnharmed) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  checkpoint();
  ASSERT_TRUE(reopen());
  std::unique_ptr<ReadJob> early = log_->read_job(Offset(5));
  std::unique_ptr<ReadJob> late = log_->read_job(Offset(5));
  early->run();
  truncate(Offset(200));
  ASSERT_TRUE(log_->remove_truncated(log_->log_start()));
  late->run();  // its file is gone
  EXPECT_TRUE(log_->absorb(std::move(early)));
  EXPECT_TRUE(log_->absorb(std::move(late)));
  EXPECT_FALSE(log_->damage());
  EXPECT_EQ(read(Offset(5))->events.front().offset, Offset(200));
}

}  // namespace
}  // namespace ackline::log

// Checkpoint, replay from the journal, and what damage does (J8, J9, J12).
#include "ackline/log/local/doctor.h"
#include "tests/unit/log/log_fixture.h"

namespace ackline::log {
namespace {

using PartitionBootTest = LogTest;

TEST_F(PartitionBootTest, WithoutACheckpointTheJournalRefillsEverything) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  ASSERT_TRUE(log_->flush_tail());
  ASSERT_TRUE(reopen());
  EXPECT_EQ(log_->high_watermark(), Offset(299));
  expect_model(Offset(0));
  fill(100);
  expect_model(Offset(0));
}

TEST_F(PartitionBootTest, ACheckpointAloneBringsEverythingBack) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  checkpoint();
  Random random(1);
  fs_->power_cut(random);
  ASSERT_TRUE(reopen());
  EXPECT_EQ(log_->synced_end(), Offset(300));
  expect_model(Offset(0));
  fill(100);
  checkpoint();
  ASSERT_TRUE(reopen());
  expect_model(Offset(0));
}

// Simulation seed 1184 of 5529d98: the batch that did not fit was refused, the next one was small.
TEST_F(PartitionBootTest, ASealedSegmentThatIsTheLastOneTakesNothingMore) {
  options_.segment_bytes = 4096;
  open();
  fill(10);
  append({frame_of(10, 4000)});
  log_->rollback(Offset(10));
  journal_.pop_back();
  model_.erase(Offset(10));
  ASSERT_TRUE(log_->flush_tail());
  checkpoint();
  ASSERT_TRUE(reopen());
  fill(5);
  expect_model(Offset(0));
  ASSERT_TRUE(log_->flush_tail());
  checkpoint();
  ASSERT_TRUE(reopen());
  expect_model(Offset(0));
}

TEST_F(PartitionBootTest, SegmentsAreCutToTheCheckpointAndRefilled) {
  open();
  fill(100);
  checkpoint();
  fill(900);
  ASSERT_TRUE(log_->flush_tail());
  const std::string path = file("00000000000000000000.log");
  const std::string before = *fs_->contents(path);
  // What lies past the checkpoint is rubbish after the crash.
  for (std::uint64_t at = before.size() - 1; at > before.size() / 2; at -= 97) {
    fs_->flip_bit(path, at, 3);
  }
  ASSERT_TRUE(reopen());
  expect_model(Offset(0));
  ASSERT_TRUE(log_->flush_tail());
  log_->release_memory();
  expect_model(Offset(0));
  EXPECT_EQ(fs_->contents(path)->substr(0, log_->stored_bytes()),
            before.substr(0, log_->stored_bytes()));
}

TEST_F(PartitionBootTest, ReplayIsIdempotent) {
  options_.segment_bytes = 4096;
  open();
  fill(100);
  checkpoint();
  fill(200);
  applied_ = 0;  // replay from the very start, though the checkpoint has half of it
  ASSERT_TRUE(reopen());
  for (const Record& record : journal_) {
    ASSERT_TRUE(log_->replay_publish(as_bytes(std::get<std::string>(record))));
  }
  EXPECT_EQ(log_->next_offset(), Offset(300));
  expect_model(Offset(0));
}

TEST_F(PartitionBootTest, UnacknowledgedBytesOfALostTailAreForgotten) {
  options_.segment_bytes = 4096;
  open();
  fill(100);
  checkpoint();
  const std::size_t kept = journal_.size();
  append(std::vector<std::string>(30, frame_of(-1)));
  append(std::vector<std::string>(30, frame_of(-2)));
  ASSERT_TRUE(log_->flush_tail());
  journal_.resize(kept);  // the power cut took the journal's end, not the segment's
  model_.erase(model_.lower_bound(Offset(100)), model_.end());
  ASSERT_TRUE(reopen());
  EXPECT_EQ(log_->next_offset(), Offset(100));
  expect_model(Offset(0));
  const Result<PartitionReport> report = examine_partition(*fs_, directory(), kNumber);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->problems.empty());
  EXPECT_EQ(report->events, 100);
  fill(100);
  checkpoint();
  ASSERT_TRUE(reopen());
  expect_model(Offset(0));
}

TEST_F(PartitionBootTest, ALeftOverFileOfTheFirstSegmentIsNotMixedIn) {
  open();
  append({frame_of(0), frame_of(1)});
  const std::size_t kept = journal_.size();
  for (int i = 0; i < 30; ++i) append({frame_of(i), frame_of(-i)});
  ASSERT_TRUE(log_->flush_tail());
  journal_.resize(kept);
  model_.erase(model_.lower_bound(Offset(2)), model_.end());
  ASSERT_TRUE(reopen());
  ASSERT_TRUE(log_->flush_tail());
  const Result<PartitionReport> report = examine_partition(*fs_, directory(), kNumber);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->problems.empty());
  EXPECT_EQ(report->events, 2);
}

TEST_F(PartitionBootTest, NothingIsDeletedForWantOfMetadata) {
  open();
  fill(100);
  checkpoint();
  journal_.clear();
  applied_ = 0;
  section_ = std::nullopt;  // as if the manifest did not know the partition
  ASSERT_TRUE(reopen());
  EXPECT_EQ(log_->next_offset(), Offset(0));
  const std::string aside = file("00000000000000000000.log.stray");
  ASSERT_TRUE(fs_->contents(aside));
  EXPECT_NE(fs_->contents(aside)->find(frame_of(99)), std::string::npos);
  fill(10);
  ASSERT_TRUE(log_->flush_tail());
  EXPECT_TRUE(fs_->contents(aside));
}

TEST_F(PartitionBootTest, ASegmentShorterThanTheCheckpointSaysQuarantinesThePartition) {
  open();
  fill(100);
  checkpoint();
  const std::string path = file("00000000000000000000.log");
  ASSERT_TRUE((*fs_->open(path, io::OpenMode::kReadWrite))->resize(5000));
  const Result<void> booted = reopen();
  ASSERT_FALSE(booted);
  EXPECT_EQ(booted.error().code, ErrorCode::kQuarantined);
  for (const char* word : {"artition 7", "00000000000000000000.log", "byte 5000"}) {
    EXPECT_NE(booted.error().detail.find(word), std::string::npos) << booted.error().detail;
  }
  EXPECT_NE(booted.error().remedy.find("ackline doctor"), std::string::npos);
  EXPECT_EQ(log_->read(Offset(0), {}).error().code, ErrorCode::kQuarantined);
  std::string body;
  EXPECT_EQ(log_->append({}, WallMs(1), body).error().code, ErrorCode::kQuarantined);
  EXPECT_EQ(log_->prepare_checkpoint().error().code, ErrorCode::kQuarantined);
  EXPECT_EQ(fs_->contents(path)->size(), 5000U);  // left as found
}

TEST_F(PartitionBootTest, AMissingSegmentQuarantinesThePartition) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  checkpoint();
  const std::string path = fs_->files()[3];  // an index and a segment each
  ASSERT_TRUE(path.ends_with(".log"));
  ASSERT_TRUE(fs_->remove(path));
  const Result<void> booted = reopen();
  ASSERT_FALSE(booted);
  EXPECT_EQ(booted.error().code, ErrorCode::kQuarantined);
  EXPECT_NE(booted.error().detail.find(path), std::string::npos) << booted.error().detail;
}

TEST_F(PartitionBootTest, AJournalRecordThatDoesNotFollowQuarantinesAndTouchesNothing) {
  open();
  fill(100);
  checkpoint();
  fill(30);
  const std::string before = *fs_->contents(file("00000000000000000000.log"));
  journal_.erase(journal_.end() - 2);
  EXPECT_EQ(reopen().error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(log_->read(Offset(0), {}).error().code, ErrorCode::kQuarantined);
  EXPECT_EQ(log_->finish_replay().error().code, ErrorCode::kQuarantined);
  EXPECT_EQ(*fs_->contents(file("00000000000000000000.log")), before);
}

TEST_F(PartitionBootTest, EveryFlippedByteOfAPublishBodyIsRefusedOrHarmless) {
  open();
  fill(50);
  checkpoint();
  append({frame_of(50, 40), frame_of(51, 30)});
  sync_journal();
  const std::string good = std::get<std::string>(journal_.back());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const unsigned bit : {0U, 3U, 7U}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      journal_.back() = bad;
      const Result<void> booted = reopen();
      if (!booted) {
        EXPECT_EQ(booted.error().code, ErrorCode::kCorrupt);
        continue;
      }
      // The batch's time in the head is only information: the records carry their own.
      expect_model(Offset(0));
      if (log_->next_offset() == Offset(50)) continue;  // base + count below the checkpoint
      EXPECT_EQ(log_->next_offset(), Offset(52));
    }
  }
}

TEST_F(PartitionBootTest, AFailedSyncPoisonsUntilTheNextStartRefills) {
  open();
  fill(100);
  checkpoint();
  fill(100);
  Result<PartitionCheckpoint> prepared = log_->prepare_checkpoint();
  ASSERT_TRUE(prepared);
  ASSERT_FALSE(prepared->files.empty());
  log_->checkpoint_failed(Error{ErrorCode::kUnavailable, "EIO", {}, {}});
  EXPECT_EQ(log_->read(Offset(0), {}).error().code, ErrorCode::kPoisoned);
  std::string body;
  EXPECT_EQ(log_->append({}, WallMs(1), body).error().code, ErrorCode::kPoisoned);
  EXPECT_EQ(log_->prepare_checkpoint().error().code, ErrorCode::kPoisoned);
  Random random(2);
  fs_->power_cut(random);
  ASSERT_TRUE(reopen());
  expect_model(Offset(0));
}

TEST_F(PartitionBootTest, ACheckpointNamesOnlyWhatWasWrittenSinceTheLast) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  checkpoint();
  Result<PartitionCheckpoint> idle = log_->prepare_checkpoint();
  ASSERT_TRUE(idle);
  EXPECT_TRUE(idle->files.empty());
  EXPECT_TRUE(idle->directories.empty());
  fill(1);
  Result<PartitionCheckpoint> one = log_->prepare_checkpoint();
  ASSERT_TRUE(one);
  EXPECT_EQ(one->files.size(), 1U);
  // A checkpoint that was let go leaves its files to the next one.
  Result<PartitionCheckpoint> again = log_->prepare_checkpoint();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->files.size(), 1U);
}

TEST_F(PartitionBootTest, AFullDiskAtBootHoldsTheRestInMemory) {
  open();
  fill(1000);
  fs_ = std::make_unique<io::MemoryFileSystem>(std::uint64_t{8192});
  ASSERT_TRUE(reopen());
  EXPECT_EQ(log_->high_watermark(), Offset(999));
  expect_model(Offset(0));
  fs_->set_capacity(UINT64_MAX);
  ASSERT_TRUE(log_->flush_tail());
  log_->release_memory();
  expect_model(Offset(0));
}

TEST_F(PartitionBootTest, ASectionThatDoesNotDecodeIsCorruptAndDeletesNothing) {
  options_.segment_bytes = 4096;
  open();
  fill(100);
  checkpoint();
  const std::string good = *section_;
  const std::vector<std::string> files = fs_->files();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto opened =
        LocalPartition::open(*fs_, directory(), kNumber, good.substr(0, size), *cache_, options_);
    ASSERT_FALSE(opened) << size;
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_FALSE(LocalPartition::open(*fs_, directory(), kNumber, good + "x", *cache_, options_));
  EXPECT_EQ(fs_->files(), files);
}

TEST_F(PartitionBootTest, DescribePublishTellsOffsetsWithoutThePartition) {
  open();
  fill(5);
  append({frame_of(5), frame_of(6)}, WallMs(77));
  const auto info =
      LocalPartition::describe_publish(as_bytes(std::get<std::string>(journal_.back())));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->base, Offset(5));
  EXPECT_EQ(info->events, 2U);
  EXPECT_EQ(info->time, WallMs(77));
}

}  // namespace
}  // namespace ackline::log

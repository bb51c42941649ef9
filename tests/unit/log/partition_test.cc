// Appending, reading, write-behind and rollback of one partition.
#include "ackline/log/local/partition.h"

#include "tests/unit/log/log_fixture.h"

namespace ackline::log {
namespace {

using PartitionTest = LogTest;

TEST_F(PartitionTest, AnEmptyPartitionTouchesNoFileAndKnowsItIsEmpty) {
  open();
  EXPECT_EQ(log_->high_watermark(), Offset(-1));
  EXPECT_EQ(log_->log_start(), Offset(0));
  const Result<ReadBatch> batch = log_->read(Offset(0), {});
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->events.empty());
  EXPECT_EQ(batch->next, Offset(0));
  EXPECT_TRUE(log_->finish_replay());
  EXPECT_TRUE(log_->flush_tail());
  EXPECT_TRUE(fs_->files().empty());
}

TEST_F(PartitionTest, Invariant10ReadersSeeSyncedRecordsOnly) {
  open();
  append({frame_of(0), frame_of(1)});
  EXPECT_EQ(log_->next_offset(), Offset(2));
  EXPECT_EQ(log_->high_watermark(), Offset(-1));
  EXPECT_TRUE(log_->read(Offset(0), {})->events.empty());
  EXPECT_FALSE(log_->read(Offset(1), {}));
  ASSERT_TRUE(log_->flush_tail());  // being in the file does not make it readable
  EXPECT_TRUE(log_->read(Offset(0), {})->events.empty());
  log_->on_synced(Offset(1));
  EXPECT_EQ(log_->read(Offset(0), {})->events.size(), 1U);
  log_->on_synced(Offset(2));
  EXPECT_EQ(log_->high_watermark(), Offset(1));
  expect_model(Offset(0));
}

TEST_F(PartitionTest, OffsetsAreContiguousFromZeroOverBatchesAndSegments) {
  options_.segment_bytes = 4096;
  open();
  fill(500);
  EXPECT_EQ(log_->next_offset(), Offset(500));
  ASSERT_TRUE(log_->flush_tail());
  log_->release_memory();
  expect_model(Offset(0));
  for (const std::uint32_t events : {1U, 3U, 64U}) expect_model(Offset(17), {events, 1U << 20U});
  EXPECT_GT(fs_->files().size(), 10U);
}

TEST_F(PartitionTest, AReadStopsAtItsLimitsButYieldsOneEventWhateverItsSize) {
  open();
  fill(10, 1000);
  EXPECT_EQ(log_->read(Offset(0), {4, 1U << 20U})->events.size(), 4U);
  EXPECT_EQ(log_->read(Offset(0), {100, 2500})->events.size(), 2U);
  EXPECT_EQ(log_->read(Offset(3), {100, 1})->events.size(), 1U);
  const Result<ReadBatch> end = log_->read(Offset(10), {});
  EXPECT_TRUE(end->events.empty());
  EXPECT_EQ(end->next, Offset(10));
  EXPECT_EQ(log_->read(Offset(11), {}).error().code, ErrorCode::kBadValue);
}

TEST_F(PartitionTest, EventsLargerThanAChunkAndEmptyOnesAreKept) {
  options_.fetch_bytes = 4096;
  open();
  append({"", frame_of(1, 300000), "x", frame_of(3, 70000)});
  append({frame_of(4, 5000)});
  sync_journal();
  expect_model(Offset(0));
  ASSERT_TRUE(log_->flush_tail());
  log_->release_memory();
  expect_model(Offset(0));
  expect_model(Offset(3), {1, 1});
}

TEST_F(PartitionTest, AFrameOverTheLimitIsRefusedAndNothingHappened) {
  options_.max_frame_bytes = 100;
  open();
  const std::string small = frame_of(0, 100);
  const std::string large = frame_of(1, 101);
  const std::vector<ByteView> frames{as_bytes(small), as_bytes(large)};
  std::string body;
  const Result<Offset> refused = log_->append(frames, WallMs(1), body);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(body.empty());
  EXPECT_EQ(log_->next_offset(), Offset(0));
}

TEST_F(PartitionTest, ABatchKeepsItsBytesWhenTheLogMovesOn) {
  open();
  fill(20);
  const Result<ReadBatch> batch = log_->read(Offset(0), {});
  ASSERT_TRUE(batch);
  fill(2000);
  ASSERT_TRUE(log_->flush_tail());
  log_->release_memory();
  log_ = nullptr;
  for (const StoredEvent& event : batch->events) {
    EXPECT_EQ(as_text(event.frame), model_[event.offset].frame);
  }
}

TEST_F(PartitionTest, TheTailIsWrittenBehindAndThenGivenUp) {
  options_.tail_keep_bytes = 64 * 1024;
  open();
  fill(10);
  EXPECT_FALSE(log_->needs_flush());
  EXPECT_TRUE(fs_->files().empty());
  fill(1000);
  EXPECT_TRUE(log_->needs_flush());
  ASSERT_TRUE(log_->flush_tail());
  EXPECT_EQ(log_->unflushed_bytes(), 0U);
  EXPECT_EQ(fs_->stats().syncs, 0U);
  EXPECT_LT(log_->memory_bytes(), 200U * 1024);
  expect_model(Offset(0));
}

TEST_F(PartitionTest, SegmentFilesGrowFrom64KiBByDoublingToStepsOf1MiB) {
  open();
  fill(1);
  ASSERT_TRUE(log_->flush_tail());
  const std::string path = file("00000000000000000000.log");
  EXPECT_EQ(fs_->contents(path)->size(), 64U * 1024);
  fill(1, 64 * 1024, 1);
  ASSERT_TRUE(log_->flush_tail());
  EXPECT_EQ(fs_->contents(path)->size(), 128U * 1024);
  fill(3, 1024 * 1024, 1);
  ASSERT_TRUE(log_->flush_tail());
  EXPECT_EQ(fs_->contents(path)->size(), 4U * 1024 * 1024);
}

TEST_F(PartitionTest, AFullDiskLosesNothingAndResumesByItself) {
  open();
  fs_->set_capacity(16 * 1024);
  fill(100);
  const Result<void> refused = log_->flush_tail();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFull);
  EXPECT_GT(log_->unflushed_bytes(), 0U);
  expect_model(Offset(0));
  fill(10);
  fs_->set_capacity(UINT64_MAX);
  ASSERT_TRUE(log_->flush_tail());
  log_->release_memory();
  expect_model(Offset(0));
}

TEST_F(PartitionTest, AWriteThatFailsHalfwayIsRepeatedAtItsPlace) {
  open();
  fill(100);
  int writes = 0;
  fs_->set_fault_hook(
      [&writes](io::FsOperation operation, const std::string&) -> std::optional<io::FsFault> {
        if (operation != io::FsOperation::kWrite || ++writes != 2) return std::nullopt;
        return io::FsFault{Error{ErrorCode::kUnavailable, "EIO", {}, {}}, 777};
      });
  EXPECT_EQ(log_->flush_tail().error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(log_->flush_tail());
  log_->release_memory();
  expect_model(Offset(0));
}

TEST_F(PartitionTest, RollbackGivesTheOffsetsAgainWhateverWasWritten) {
  options_.segment_bytes = 4096;
  for (const bool flushed : {false, true}) {
    for (std::int64_t to = 50; to <= 140; ++to) {
      SCOPED_TRACE(testing::Message() << "to " << to << " flushed " << flushed);
      fs_ = std::make_unique<io::MemoryFileSystem>();
      cache_ = std::make_unique<ReadCache>();
      model_.clear();
      journal_.clear();
      open();
      fill(50);
      for (int i = 0; i < 9; ++i) {
        std::vector<std::string> frames;
        for (int k = 0; k < 10; ++k) frames.push_back(frame_of(50 + i * 10 + k, 90));
        append(frames);
      }
      if (flushed) {
        ASSERT_TRUE(log_->flush_tail());
      }
      log_->rollback(Offset(to));
      EXPECT_EQ(log_->next_offset(), Offset(to));
      model_.erase(model_.lower_bound(Offset(to)), model_.end());
      fill(60, 33, 7, WallMs(2000));
      EXPECT_EQ(log_->next_offset(), Offset(to + 60));
      expect_model(Offset(0));
      ASSERT_TRUE(log_->flush_tail());
      log_->release_memory();
      expect_model(Offset(0));
      checkpoint();
      ASSERT_TRUE(reopen());
      expect_model(Offset(0));
    }
  }
}

TEST_F(PartitionTest, AThousandPartitionsCostLittleUntilTheyAreUsed) {
  std::vector<std::unique_ptr<LocalPartition>> partitions;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 1; i <= 1000; ++i) {
    auto one = LocalPartition::open(*fs_, "/data/log/" + std::to_string(i), PartitionNumber(i),
                                    std::nullopt, *cache_);
    ASSERT_TRUE(one);
    ASSERT_TRUE((*one)->finish_replay());
    Result<PartitionCheckpoint> empty = (*one)->prepare_checkpoint();
    ASSERT_TRUE(empty);
    EXPECT_TRUE(empty->files.empty());
    EXPECT_TRUE(empty->directories.empty());
    EXPECT_LT(empty->section.size(), 8U);
    bytes += (*one)->memory_bytes();
    partitions.push_back(*std::move(one));
  }
  EXPECT_LT(bytes, 1000U * 2048);
  EXPECT_TRUE(fs_->files().empty());
  std::string body;
  const std::string frame = frame_of(1, 256);
  const std::vector<ByteView> frames{as_bytes(frame)};
  for (auto& one : partitions) ASSERT_TRUE(one->append(frames, WallMs(1), body));
  bytes = 0;
  for (auto& one : partitions) bytes += one->memory_bytes();
  EXPECT_LT(bytes, 1000U * 8192);
}

TEST_F(PartitionTest, BytesBetweenAreExactForWhatIsInMemory) {
  options_.segment_bytes = 8192;
  open();
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < 400; ++i) {
    sizes.push_back(static_cast<std::uint64_t>(i % 97));
    append({frame_of(i, sizes.back())});
  }
  sync_journal();
  for (const bool in_files : {false, true}) {
    if (in_files) {
      ASSERT_TRUE(log_->flush_tail());
      checkpoint();
      log_->release_memory();
      for (int i = 0; i < 400; i += 5) ASSERT_TRUE(read(Offset(i), {5, 1U << 20U}));
    }
    for (int from = 0; from <= 400; from += 23) {
      std::uint64_t sum = 0;
      for (int to = from; to <= 400; ++to) {
        const ByteCount count = log_->bytes_between(Offset(from), Offset(to));
        EXPECT_TRUE(count.exact);
        ASSERT_EQ(count.bytes, sum) << from << " to " << to;
        if (to < 400) sum += sizes[static_cast<std::size_t>(to)];
      }
    }
  }
}

TEST_F(PartitionTest, BytesBetweenAreNearAndSayItWhenTheDiskIsCold) {
  open();
  fill(10000, 100);
  checkpoint();
  ASSERT_TRUE(reopen());
  make_cold();
  const ByteCount count = log_->bytes_between(Offset(1234), Offset(8765));
  EXPECT_FALSE(count.exact);
  EXPECT_NEAR(static_cast<double>(count.bytes), 753100.0, 20000.0);
  EXPECT_TRUE(log_->bytes_between(Offset(0), Offset(10000)).exact);
  EXPECT_EQ(log_->bytes_between(Offset(0), Offset(10000)).bytes, 1000000U);
}

TEST_F(PartitionTest, DestroyRemovesTheDirectory) {
  open();
  fill(2000);
  checkpoint();
  EXPECT_FALSE(fs_->files().empty());
  ASSERT_TRUE(log_->destroy());
  EXPECT_TRUE(fs_->files().empty());
}

}  // namespace
}  // namespace ackline::log

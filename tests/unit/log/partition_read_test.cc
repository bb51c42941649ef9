// Cold reads, the shared cache, time.
#include "tests/unit/log/log_fixture.h"

namespace ackline::log {
namespace {

class PartitionReadTest : public LogTest {
 protected:
  void cold_partition(int events) {
    options_.segment_bytes = 64 * 1024;
    options_.fetch_bytes = 16 * 1024;
    open();
    for (int i = 0; i < events; ++i) append({frame_of(i, 200)}, WallMs(i * 10));
    sync_journal();
    checkpoint();
    ASSERT_TRUE(reopen());
  }
};

TEST_F(PartitionReadTest, AColdReadAsksForAJobAndThenYields) {
  cold_partition(2000);
  make_cold();
  const Result<ReadBatch> cold = log_->read(Offset(700), {});
  ASSERT_FALSE(cold);
  EXPECT_EQ(cold.error().code, ErrorCode::kTimeout);
  std::unique_ptr<ReadJob> job = log_->read_job(Offset(700));
  job->run();
  ASSERT_TRUE(log_->absorb(std::move(job)));
  const Result<ReadBatch> warm = log_->read(Offset(700), {10, 1U << 20U});
  ASSERT_TRUE(warm);
  EXPECT_EQ(warm->events.size(), 10U);
  EXPECT_EQ(as_text(warm->events[0].frame), frame_of(700, 200));
  expect_model(Offset(0));
}

// The simulation, seed 106 with small reads: a delivery whose bytes were somebody else's by then.
TEST_F(PartitionReadTest, ABatchThatItsBytesEndKeepsItsEventsAlive) {
  cold_partition(2000);
  make_cold();
  std::unique_ptr<ReadJob> job = log_->read_job(Offset(700));
  job->run();
  ASSERT_TRUE(log_->absorb(std::move(job)));
  const Result<ReadBatch> batch = log_->read(Offset(700), {10, 500});
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->events.size(), 2U);
  cache_->drop(kNumber);
  log_ = nullptr;
  ASSERT_EQ(batch->buffers.size(), 1U);
  EXPECT_EQ(batch->buffers.front().use_count(), 1);
  EXPECT_EQ(as_text(batch->events[1].frame), frame_of(701, 200));
}

// The simulation, seed 988: a search by time went on for ever, and the subscribe never got an
// answer.
TEST_F(PartitionReadTest, ATimeIsFoundInMemoryWhereTheIndexOfItsSegmentWasGivenUp) {
  options_.segment_bytes = 4 * 1024;
  open();
  for (int i = 0; i < 200; ++i) append({frame_of(i, 200)}, WallMs(i * 10));
  sync_journal();
  checkpoint();
  ASSERT_TRUE(reopen());
  for (int i = 200; i < 400; ++i) append({frame_of(i, 200)}, WallMs(i * 10));
  sync_journal();
  checkpoint();
  // Old segments are read, so that the new ones are closed, which are in memory all the same.
  for (int i = 0; i < 200; ++i) {
    std::unique_ptr<ReadJob> job = log_->read_job(Offset(i));
    job->run();
    ASSERT_TRUE(log_->absorb(std::move(job)));
  }
  for (int i = 5; i < 400; i += 10) {
    Result<Offset> found = log_->offset_at_time(WallMs(i * 10));
    for (int tries = 0; !found && tries < 5; ++tries) {
      ASSERT_EQ(found.error().code, ErrorCode::kTimeout);
      std::unique_ptr<ReadJob> job = log_->time_job(WallMs(i * 10));
      job->run();
      ASSERT_TRUE(log_->absorb(std::move(job)));
      found = log_->offset_at_time(WallMs(i * 10));
    }
    ASSERT_TRUE(found) << "of event " << i;
    EXPECT_EQ(*found, Offset(i));
  }
}

TEST_F(PartitionReadTest, AJobOutlivesItsPartition) {
  cold_partition(2000);
  std::unique_ptr<ReadJob> job = log_->read_job(Offset(700));
  log_ = nullptr;
  job->run();
}

TEST_F(PartitionReadTest, AJobForWhatIsInMemoryDoesNothing) {
  open();
  fill(10);
  const std::uint64_t reads = fs_->stats().reads;
  for (const Offset at : {Offset(0), Offset(9), Offset(10), Offset(99)}) {
    std::unique_ptr<ReadJob> job = log_->read_job(at);
    job->run();
    EXPECT_TRUE(log_->absorb(std::move(job)));
  }
  EXPECT_EQ(fs_->stats().reads, reads);
}

TEST_F(PartitionReadTest, GroupsThatReadAtOnePlaceShareAFetch) {
  cold_partition(2000);
  ASSERT_TRUE(read(Offset(0)));  // opens the first segment
  cache_->drop(kNumber);
  const std::uint64_t before = fs_->stats().reads;
  for (int group = 0; group < 50; ++group) {
    ASSERT_TRUE(log_->read(Offset(20), {10, 1U << 20U}));
  }
  EXPECT_EQ(fs_->stats().reads, before + 1);
}

TEST_F(PartitionReadTest, ASequentialReaderFetchesEachChunkOnceEvenWithACreditOfOne) {
  cold_partition(280);  // one segment
  for (int i = 0; i < 280; ++i) ASSERT_TRUE(read(Offset(i), {1, 1U << 20U}));
  // 64 KiB in chunks of 16 KiB, beside the job that opened the file.
  EXPECT_LE(fs_->stats().reads, 8U);
}

TEST_F(PartitionReadTest, ASingleEventIsFetchedFromItsIndexStepOnly) {
  open();
  fill(2000, 200);
  ASSERT_TRUE(log_->flush_tail());
  log_->release_memory();
  for (const int at : {200, 777, 1999}) {
    cache_->drop(kNumber);
    ASSERT_TRUE(log_->read(Offset(at), {1, 1U << 20U}));
    EXPECT_LT(cache_->bytes(), 12U * 1024);
  }
}

TEST_F(PartitionReadTest, TheCacheStaysWithinItsBudget) {
  cache_ = std::make_unique<ReadCache>(100 * 1024);
  options_.fetch_bytes = 16 * 1024;
  open();
  fill(5000, 200);
  ASSERT_TRUE(log_->flush_tail());
  log_->release_memory();
  for (int i = 0; i < 5000; i += 50) {
    ASSERT_TRUE(read(Offset(i)));
    EXPECT_LE(cache_->bytes(), 100U * 1024);
  }
}

TEST_F(PartitionReadTest, SealedSegmentsKeepFewHandles) {
  cold_partition(5000);
  for (int i = 0; i < 5000; i += 100) ASSERT_TRUE(read(Offset(i), {1, 1}));
  EXPECT_LT(log_->memory_bytes(), 16U * 1024);
  expect_model(Offset(0));
}

TEST_F(PartitionReadTest, AnIndexThatIsMissingOrDamagedIsRebuilt) {
  cold_partition(2000);
  int number = 0;
  for (const std::string& path : fs_->files()) {
    if (!path.ends_with(".idx")) continue;
    if (++number % 2 == 0) {
      ASSERT_TRUE(fs_->remove(path));
    } else {
      fs_->flip_bit(path, 40, 1);
    }
  }
  EXPECT_GT(number, 4);
  expect_model(Offset(0));
  EXPECT_EQ(at_time(WallMs(12345)).value(), Offset(1235));
}

TEST_F(PartitionReadTest, AReadErrorIsUnavailableAndNotDamage) {
  cold_partition(2000);
  fs_->set_fault_hook(
      [](io::FsOperation operation, const std::string&) -> std::optional<io::FsFault> {
        if (operation != io::FsOperation::kRead) return std::nullopt;
        return io::FsFault{Error{ErrorCode::kUnavailable, "EIO", {}, {}}};
      });
  const Result<ReadBatch> refused = read(Offset(3));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(log_->damage());
  // Who does not look at what `absorb` returns hears of it with the next read, once.
  EXPECT_EQ(log_->read(Offset(3), {}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(log_->read(Offset(3), {}).error().code, ErrorCode::kTimeout);
  fs_->set_fault_hook(nullptr);
  expect_model(Offset(0));
}

TEST_F(PartitionReadTest, ABadRecordInASealedSegmentQuarantinesThisPartitionOnly) {
  cold_partition(2000);
  fs_->flip_bit(file("00000000000000000000.log"), 30000, 4);
  const Result<ReadBatch> refused = read(Offset(100));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kQuarantined);
  EXPECT_NE(refused.error().detail.find("00000000000000000000.log, byte"), std::string::npos);
  EXPECT_NE(refused.error().remedy.find("ackline doctor"), std::string::npos);
  EXPECT_EQ(log_->read(Offset(1999), {}).error().code, ErrorCode::kQuarantined);
  auto other = LocalPartition::open(*fs_, "/data/log/8", PartitionNumber(8), std::nullopt, *cache_);
  ASSERT_TRUE(other);
  std::string body;
  const std::string frame = frame_of(1);
  EXPECT_TRUE((*other)->append(std::vector<ByteView>{as_bytes(frame)}, WallMs(1), body));
  // What was accepted before can still be brought to a checkpoint.
  EXPECT_TRUE(log_->prepare_checkpoint());
}

TEST_F(PartitionReadTest, OffsetAtTimeIsTheFirstEventAtOrAfterIt) {
  cold_partition(2000);
  for (const std::int64_t time : {-5, 0, 1, 10, 4999, 5000, 5001, 19985, 19990}) {
    const std::int64_t want = std::max<std::int64_t>(0, (time + 9) / 10);
    EXPECT_EQ(at_time(WallMs(time)).value(), Offset(want)) << time;
  }
  EXPECT_EQ(at_time(WallMs(19991)).value(), Offset(2000));
  make_cold();
  EXPECT_EQ(at_time(WallMs(7777)).value(), Offset(778));
}

TEST_F(PartitionReadTest, OffsetAtTimeHoldsWhenTheClockJumps) {
  options_.segment_bytes = 8192;
  options_.fetch_bytes = 1024;
  Random random(3);
  open();
  std::vector<std::int64_t> times;
  for (int i = 0; i < 800; ++i) {
    const auto drift = static_cast<std::int64_t>(random.below(50));
    times.push_back(random.chance(1, 20) ? i * 10 - 2000 : i * 10 + drift);
    append({frame_of(i, 80)}, WallMs(times.back()));
  }
  sync_journal();
  checkpoint();
  for (const std::int64_t start : {0, 333}) {
    log_->truncate_before(Offset(start));
    for (std::int64_t time = -2100; time < 8200; time += 61) {
      auto first = std::find_if(times.begin() + start, times.end(),
                                [&](std::int64_t one) { return one >= time; });
      ASSERT_EQ(at_time(WallMs(time)).value(), Offset(first - times.begin())) << time;
    }
  }
}

TEST_F(PartitionReadTest, AppendTimeIsThatOfTheOffset) {
  cold_partition(2000);
  ASSERT_TRUE(read(Offset(1234)));
  EXPECT_EQ(log_->append_time(Offset(1234)).value(), WallMs(12340));
  EXPECT_EQ(log_->append_time(Offset(1999)).error().code, ErrorCode::kTimeout);
  EXPECT_EQ(log_->append_time(Offset(2000)).error().code, ErrorCode::kBadValue);
}

}  // namespace
}  // namespace ackline::log

// The doctor's reader: what it finds, and that it agrees with the log.
#include "ackline/log/local/doctor.h"

#include "tests/unit/log/log_fixture.h"

namespace ackline::log {
namespace {

class DoctorTest : public LogTest {
 protected:
  PartitionReport examine(bool with_section = true) {
    Result<PartitionReport> report = examine_partition(
        *fs_, directory(), kNumber,
        with_section && section_ ? std::optional<std::string_view>(*section_) : std::nullopt);
    EXPECT_TRUE(report);
    return *std::move(report);
  }
  std::vector<std::int64_t> offsets(std::int64_t from, std::int64_t to) {
    std::vector<std::int64_t> out;
    const Result<void> done =
        for_each_offset(*fs_, directory(), kNumber, Offset(from), Offset(to), [&](Offset at) {
          out.push_back(at.value());
          return true;
        });
    EXPECT_TRUE(done) << done.error().detail;
    return out;
  }
};

TEST_F(DoctorTest, AHealthyPartitionHasNoProblem) {
  EXPECT_TRUE(examine().problems.empty());  // no directory at all
  options_.segment_bytes = 4096;
  open();
  fill(300);
  checkpoint();
  for (const bool with_section : {false, true}) {
    const PartitionReport report = examine(with_section);
    EXPECT_TRUE(report.problems.empty());
    EXPECT_EQ(report.events, 300);
    EXPECT_TRUE(report.segments.front().sealed);
    EXPECT_FALSE(report.segments.back().sealed);
    EXPECT_EQ(report.segments.back().end, Offset(300));
  }
}

TEST_F(DoctorTest, Invariant6TheRecountFromFilesSeesEveryOffsetOnce) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  ASSERT_TRUE(log_->flush_tail());
  std::vector<std::int64_t> all(300);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  EXPECT_EQ(offsets(0, 299), all);
  EXPECT_EQ(offsets(0, 5000), all);
  EXPECT_EQ(offsets(100, 99).size(), 0U);
  EXPECT_EQ(offsets(57, 211).size(), 155U);
  EXPECT_EQ(offsets(57, 211).front(), 57);
  int calls = 0;
  ASSERT_TRUE(for_each_offset(*fs_, directory(), kNumber, Offset(0), Offset(299),
                              [&](Offset) { return ++calls < 7; }));
  EXPECT_EQ(calls, 7);
}

// The manifest names them until the next checkpoint; the journal says that they went.
TEST_F(DoctorTest, FilesBelowTheJournalsLogStartAreNotMissed) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  checkpoint();
  log_->truncate_before(Offset(150));
  ASSERT_TRUE(log_->remove_truncated(Offset(150)));
  EXPECT_TRUE(examine().damaged()) << "without the journal they are missing";
  const Result<PartitionReport> report =
      examine_partition(*fs_, directory(), kNumber, *section_, Offset(150));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->problems.empty());
  ASSERT_TRUE(fs_->remove(file(fs_->list(directory())->back())));
  EXPECT_TRUE(examine_partition(*fs_, directory(), kNumber, *section_, Offset(150))->damaged())
      << "what lies above it is";
}

TEST_F(DoctorTest, ARecountOverADamagedRecordFailsAndNamesIt) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  checkpoint();
  fs_->flip_bit(fs_->files()[3], 2000, 0);
  const Result<void> done = for_each_offset(*fs_, directory(), kNumber, Offset(0), Offset(299),
                                            [](Offset) { return true; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(done.error().detail.find(fs_->files()[3]), std::string::npos);
}

TEST_F(DoctorTest, ABadRecordInTheMiddleIsDamageWithFilePositionAndRemedy) {
  open();
  fill(300);
  ASSERT_TRUE(log_->flush_tail());
  const std::string path = file("00000000000000000000.log");
  fs_->flip_bit(path, 32 + 128 * 100 + 60, 2);
  const PartitionReport report = examine();
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_TRUE(report.damaged());
  EXPECT_EQ(report.problems[0].file, path);
  EXPECT_EQ(report.problems[0].position, 32U + 128 * 100);
  EXPECT_NE(report.problems[0].what.find("good records follow"), std::string::npos);
  EXPECT_FALSE(report.problems[0].remedy.empty());
}

TEST_F(DoctorTest, ATornEndIsANoteButNotBelowTheCheckpoint) {
  open();
  fill(300);
  checkpoint();
  fill(1);
  ASSERT_TRUE(log_->flush_tail());
  const std::string path = file("00000000000000000000.log");
  fs_->flip_bit(path, 32 + 128 * 300 + 60, 2);
  for (const bool with_section : {false, true}) {
    const PartitionReport report = examine(with_section);
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_EQ(report.problems[0].severity, Severity::kNote) << report.problems[0].what;
  }
  fs_->flip_bit(path, 32 + 128 * 299 + 60, 2);
  EXPECT_TRUE(examine(true).damaged());
}

TEST_F(DoctorTest, MissingForeignAndLeftOverFilesAreNamed) {
  options_.segment_bytes = 4096;
  open();
  fill(300);
  checkpoint();
  const std::vector<std::string> files = fs_->files();
  ASSERT_TRUE(fs_->rename(files[3], file("notes.txt")));
  const PartitionReport report = examine();
  std::string all;
  for (const Problem& problem : report.problems) all += problem.file + ": " + problem.what + "\n";
  EXPECT_TRUE(report.damaged());
  EXPECT_NE(all.find(files[3] + ": The checkpoint knows this file"), std::string::npos) << all;
  EXPECT_NE(all.find("notes.txt: This is no file of ours"), std::string::npos) << all;
  EXPECT_NE(all.find(files[2] + ": An index without"), std::string::npos) << all;
  EXPECT_NE(all.find("begins at offset"), std::string::npos) << all;
}

TEST_F(DoctorTest, ASegmentOfAnotherPartitionIsNotTakenForOurs) {
  open();
  fill(10);
  checkpoint();
  const Result<PartitionReport> report =
      examine_partition(*fs_, directory(), PartitionNumber(8), std::nullopt);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->events, 0);
  EXPECT_FALSE(report->problems.empty());
}

TEST_F(DoctorTest, EveryFlippedByteOfSegmentsAndIndexesIsFoundOrHarmless) {
  options_.segment_bytes = 2048;
  options_.fetch_bytes = 1024;
  open();
  fill(40, 60, 4);
  append({frame_of(40, 20)});
  sync_journal();
  checkpoint();
  const std::unique_ptr<io::MemoryFileSystem> good = fs_->clone();
  int found = 0;
  int rebuilt = 0;
  for (const std::string& path : good->files()) {
    const bool index = path.ends_with(".idx");
    const std::uint64_t size = good->contents(path)->size();
    for (std::uint64_t at = 0; at < size; ++at) {
      if (at > 4096 && at % 509 != 0) continue;  // the preallocated rest is all alike
      fs_ = good->clone();
      fs_->flip_bit(path, at, static_cast<unsigned>(at % 8));
      const PartitionReport report = examine();
      const Result<void> booted = reopen();
      Result<void> reads = booted;
      if (booted) {
        for (Offset next(0); reads && next < log_->synced_end();) {
          const Result<ReadBatch> batch = read(next);
          if (!batch) {
            reads = fail(batch);
            break;
          }
          for (const StoredEvent& event : batch->events) {
            ASSERT_EQ(as_text(event.frame), model_[event.offset].frame);
            ASSERT_EQ(event.append_time, model_[event.offset].time);
          }
          next = batch->next;
        }
      }
      if (reads) {
        // Harmless: every event was read. The doctor tells of a bad index all the same.
        ASSERT_TRUE(log_->synced_end() == Offset(41));
        ASSERT_FALSE(report.damaged()) << path << " " << at << " " << report.problems[0].what;
        if (index) {
          ASSERT_FALSE(report.problems.empty()) << path << " " << at;
        }
        rebuilt += index ? 1 : 0;
      } else {
        ASSERT_EQ(reads.error().code, ErrorCode::kQuarantined);
        ASSERT_TRUE(report.damaged()) << path << " " << at;
        ++found;
      }
    }
  }
  EXPECT_GT(found, 2500);
  EXPECT_GT(rebuilt, 50);
}

}  // namespace
}  // namespace ackline::log

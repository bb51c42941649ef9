// What recovery makes of files that rotted, were torn, or lost power at any moment.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "ackline/io/journal/batch_builder.h"
#include "tests/unit/io/journal/journal_fixture.h"

namespace ackline::io::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kFirstFile = "/data/journal/journal-00000001";

class JournalDamageTest : public JournalTest {
 protected:
  // Where `text` stands in the first file.
  std::uint64_t place_of(std::string_view text) {
    const auto content = fs.contents(kFirstFile).value();
    const auto at = content.find(text);
    EXPECT_NE(at, std::string::npos);
    return at;
  }
  // Both marks of the batch that holds `text` and nothing else of note.
  void break_marks_of(std::string_view text, Lsn lsn) {
    const auto content = fs.contents(kFirstFile).value();
    const ByteView bytes = as_bytes(content);
    for (std::size_t at = 0; at + journal::kMarkBytes <= bytes.size(); at += 8) {
      for (const std::uint32_t magic : {journal::kHeaderMagic, journal::kTrailerMagic}) {
        std::uint64_t checksum = 0;
        const auto mark = journal::decode_mark(bytes.subspan(at), magic, checksum);
        if (mark && mark->lsn == lsn) fs.flip_bit(kFirstFile, at + 20, 3);
      }
    }
    static_cast<void>(text);
  }
  // Four synced batches of partitions 1 to 4, each marked by the one after it.
  void fill() {
    first_file_bytes = 64 * 1024;
    boot(fs);
    for (std::uint32_t p = 1; p <= 4; ++p) {
      ASSERT_TRUE(write(p, "event-" + std::to_string(p)));
      sync();
    }
    ASSERT_TRUE(write(5, "event-5"));
    die();
    fs.kill();
  }
};

TEST_F(JournalDamageTest, Rule12ADamagedBodyQuarantinesThePartitionsItsMarksName) {
  fill();
  fs.flip_bit(kFirstFile, place_of("event-2"), 0);
  boot(fs);
  EXPECT_THAT(back.bodies(), ElementsAre("event-1", "event-3", "event-4", "event-5"));
  ASSERT_EQ(back.recovery.damage.size(), 1U);
  EXPECT_EQ(back.recovery.damage[0].first, Lsn{3});
  EXPECT_EQ(back.recovery.damage[0].last, Lsn{3});
  EXPECT_THAT(back.recovery.damage[0].partitions, ElementsAre(PartitionNumber{2}));
  EXPECT_TRUE(back.recovery.is_damaged(PartitionNumber{2}));
  EXPECT_FALSE(back.recovery.is_damaged(PartitionNumber{1}));
  EXPECT_THAT(back.recovery.damage[0].detail, ::testing::HasSubstr("journal-00000001"));
}

TEST_F(JournalDamageTest, ALostHeaderIsMadeGoodByTheTrailer) {
  fill();
  fs.flip_bit(kFirstFile, place_of("event-3") - 20, 0);
  boot(fs);
  EXPECT_EQ(back.records.size(), 5U);
  EXPECT_THAT(back.recovery.damage, IsEmpty());
  EXPECT_GE(back.recovery.repaired_headers, 1U);
}

TEST_F(JournalDamageTest, Rule12BothMarksLostQuarantinesEveryPartition) {
  fill();
  break_marks_of("event-3", Lsn{4});
  boot(fs);
  ASSERT_EQ(back.recovery.damage.size(), 1U);
  EXPECT_TRUE(back.recovery.damage[0].every_partition);
  EXPECT_TRUE(back.recovery.is_damaged(PartitionNumber{1}));
  EXPECT_THAT(back.bodies(), ElementsAre("event-1", "event-2", "event-4", "event-5"));
}

TEST_F(JournalDamageTest, Rule10RotInTheFinalUnmarkedBatchIsATail) {
  fill();
  fs.flip_bit(kFirstFile, place_of("event-5"), 0);
  boot(fs);
  EXPECT_THAT(back.recovery.damage, IsEmpty());
  EXPECT_EQ(back.records.size(), 4U);
  // The lost batch's number is given to another one.
  EXPECT_EQ(journal->written(), Lsn{6});
}

TEST_F(JournalDamageTest, DamageIsNotReportedBelowWhatACheckpointHolds) {
  fill();
  fs.flip_bit(kFirstFile, place_of("event-2"), 0);
  boot(fs, {.lowest_needed = Lsn{4}, .synced_at_least = Lsn{3}});
  EXPECT_THAT(back.recovery.damage, IsEmpty());
  EXPECT_THAT(back.bodies(), ElementsAre("event-3", "event-4", "event-5"));
}

TEST_F(JournalDamageTest, AMissingFileIsDamageNotAnEmptyJournal) {
  fill();
  ASSERT_TRUE(fs.remove(kFirstFile));
  auto read = read_back(fs, "/data/journal", {.lowest_needed = Lsn{2}, .synced_at_least = Lsn{5}});
  ASSERT_TRUE(read);
  ASSERT_EQ(read->recovery.damage.size(), 1U);
  EXPECT_TRUE(read->recovery.damage[0].every_partition);
  EXPECT_EQ(read->recovery.last, Lsn{5});
}

TEST_F(JournalDamageTest, ADamagedFileIsSetAsideNotRemoved) {
  fill();
  fs.flip_bit(kFirstFile, place_of("event-2"), 0);
  boot(fs);
  ASSERT_TRUE(write(1, "more"));
  sync();
  journal->recycle_below(journal->synced().next());
  settle(executor, storage);
  EXPECT_TRUE(fs.exists("/data/journal/damaged-journal-00000001").value());
  EXPECT_FALSE(fs.exists(kFirstFile).value());
}

TEST_F(JournalDamageTest, ADamagedFileIsSetAsideAlsoByAStartThatNoLongerReadsIt) {
  fill();
  fs.flip_bit(kFirstFile, place_of("event-2"), 0);
  boot(fs);
  ASSERT_EQ(back.recovery.damage.size(), 1U);
  ASSERT_TRUE(write(1, "more"));
  sync();
  // The manifest says that nothing of the file is needed, and a power cut comes before its new
  // name.
  const Lsn synced = journal->synced();
  Random random(3);
  die();
  fs.power_cut(random);
  boot(fs, {.lowest_needed = synced.next(), .synced_at_least = synced});
  EXPECT_THAT(back.recovery.damage, IsEmpty()) << "nobody needs it";
  ASSERT_TRUE(write(1, "even more"));
  sync();
  journal->recycle_below(journal->synced().next());
  settle(executor, storage);
  EXPECT_TRUE(fs.exists("/data/journal/damaged-journal-00000001").value());
  EXPECT_FALSE(fs.exists(kFirstFile).value());
  EXPECT_FALSE(fs.exists(kFirstFile + ".damaged").value()) << "its mark goes with it";
}

TEST_F(JournalDamageTest, ADamagedFileKeepsItsNewNameAfterAPowerCut) {
  fill();
  fs.flip_bit(kFirstFile, place_of("event-2"), 0);
  boot(fs);
  ASSERT_TRUE(write(1, "more"));
  sync();
  journal->recycle_below(journal->synced().next());
  settle(executor, storage);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto copy = fs.clone();
    Random random(seed);
    copy->power_cut(random);
    EXPECT_TRUE(copy->exists("/data/journal/damaged-journal-00000001").value()) << seed;
    EXPECT_FALSE(copy->exists(kFirstFile).value()) << seed;
  }
}

TEST_F(JournalDamageTest, ADamagedFileThatCannotBeSetAsideIsKeptAndTriedAgain) {
  fill();
  fs.flip_bit(kFirstFile, place_of("event-2"), 0);
  boot(fs);
  ASSERT_TRUE(write(1, "more"));
  sync();
  for (const FsOperation failing : {FsOperation::kRename, FsOperation::kSyncDirectory}) {
    fs.set_fault_hook(
        [failing](FsOperation operation, const std::string&) -> std::optional<FsFault> {
          if (operation != failing) return std::nullopt;
          return FsFault{{ErrorCode::kUnavailable, "Input/output error", "", ""}};
        });
    journal->recycle_below(journal->synced().next());
    settle(executor, storage);
  }
  fs.set_fault_hook(nullptr);
  journal->recycle_below(journal->synced().next());
  settle(executor, storage);
  Random random(1);
  die();
  fs.power_cut(random);
  EXPECT_TRUE(fs.exists("/data/journal/damaged-journal-00000001").value());
  EXPECT_FALSE(fs.exists(kFirstFile).value());
}

// No crash makes a file shorter whose first batch was synced. The last event is not marked by a
// later batch: only the length tells that it is gone.
TEST_F(JournalDamageTest, AFileCutShortIsDamageUnlessItsEndIsSeenToBeEmpty) {
  fill();
  const auto content = fs.contents(kFirstFile).value();
  const std::uint64_t end = place_of("event-5");
  std::size_t harmless = 0;
  std::size_t found = 0;
  for (std::uint64_t size = place_of("event-1") + 200; size < content.size(); size += 24) {
    auto copy = fs.clone();
    ASSERT_TRUE((*copy->open(kFirstFile, OpenMode::kReadWrite))->resize(size));
    const auto read = read_back(*copy, "/data/journal");
    ASSERT_TRUE(read) << size << ": " << read.error().detail;
    const bool whole = read->records.size() == 5;
    const bool damaged = !read->recovery.damage.empty();
    ASSERT_TRUE(whole || damaged) << size;
    if (size < end) ASSERT_TRUE(read->recovery.is_damaged(PartitionNumber{5})) << size;
    if (size >= end + 2 * journal::kBlockBytes) ASSERT_FALSE(damaged) << size;
    (damaged ? found : harmless) += 1;
  }
  EXPECT_GT(found, 100U);
  EXPECT_GT(harmless, 100U);
}

TEST_F(JournalDamageTest, DamageIsReportedAgainAtEachStartUntilACheckpointPasses) {
  fill();
  fs.flip_bit(kFirstFile, place_of("event-2"), 0);
  for (int round = 0; round < 3; ++round) {
    boot(fs);
    ASSERT_EQ(back.recovery.damage.size(), 1U);
    EXPECT_THAT(back.recovery.damage[0].partitions, ElementsAre(PartitionNumber{2}));
    EXPECT_EQ(back.records.size(), 4U);
    die();
    fs.kill();
  }
}

TEST_F(JournalDamageTest, FilesOfAnotherShardOrJournalAreRefused) {
  fill();
  const auto other = recover_journal(fs, "/data/journal", {.shard = ShardIndex{3}}, nullptr,
                                     [](Lsn, const JournalRecord&) { return Result<void>{}; });
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kCorrupt);
}

TEST_F(JournalDamageTest, ANewerVersionIsRefusedByNumber) {
  fill();
  auto header = journal::encode_file_header(
      {.version = 9, .shard = ShardIndex{0}, .journal_id = 1, .first = Lsn{1}});
  auto file = fs.open(kFirstFile, OpenMode::kReadWrite);
  ASSERT_TRUE((*file)->write(0, header));
  const auto read = read_back(fs, "/data/journal");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(read.error().detail, ::testing::HasSubstr("version 9"));
}

// Every bit of a file: what was synced and marked is either read back whole or its partition is
// named. Only the final, unmarked batch may vanish as a tail.
TEST_F(JournalDamageTest, EveryFlippedBitIsFoundOrHarmless) {
  fill();
  const auto content = fs.contents(kFirstFile).value();
  std::size_t end = content.find_last_not_of('\0') + 64;
  std::size_t quarantined = 0;
  for (std::size_t at = 0; at < end; ++at) {
    const bool padding = content[at] == 0 && at > 8300 && at % 64 != 0;
    if (padding && content.compare(at & ~63UL, 64, std::string(64, '\0')) == 0) continue;
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto copy = fs.clone();
      copy->flip_bit(kFirstFile, at, bit);
      const auto read = read_back(*copy, "/data/journal");
      ASSERT_TRUE(read) << at << ": " << read.error().detail;
      std::set<std::string> seen;
      for (const auto& record : read->records) seen.insert(record.body);
      for (std::uint32_t p = 1; p <= 4; ++p) {
        const bool damaged = read->recovery.is_damaged(PartitionNumber{p});
        ASSERT_TRUE(damaged || seen.contains("event-" + std::to_string(p))) << at << "." << bit;
        quarantined += damaged ? 1 : 0;
      }
      ASSERT_LE(seen.size(), 5U);
      for (const std::string& body : seen) ASSERT_TRUE(body.starts_with("event-")) << at;
    }
  }
  EXPECT_GT(quarantined, 100U);
}

// A workload with crashes at seeded moments against a model: what was reported synced is there
// after a power cut, what was committed is there after a kill, and the order is the order written.
class CrashWalk {
 public:
  explicit CrashWalk(std::uint64_t seed) : random_(seed) {}

  void run() {
    for (int life = 0; life < 4 && !::testing::Test::HasFatalFailure(); ++life) {
      start();
      if (::testing::Test::HasFatalFailure()) return;
      work();
      crash();
    }
    start();
    journal_.reset();
  }

 private:
  void start() {
    auto read = read_back(fs_, "/d/j", {.lowest_needed = cut_, .synced_at_least = cut_.previous()});
    ASSERT_TRUE(read) << read.error().detail;
    ASSERT_THAT(read->recovery.damage, IsEmpty());
    std::vector<Written> got;
    for (const auto& record : read->records) got.emplace_back(record.lsn, record.body);
    ASSERT_LE(got.size(), written_.size()) << "a record came from nowhere";
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], written_[i]) << i;
    if (got.size() < written_.size()) {
      ASSERT_GT(written_[got.size()].first, promised_) << "a promised record is lost";
    }
    written_ = std::move(got);
    const JournalOptions options{.fs = fs_,
                                 .directory = "/d/j",
                                 .shard = ShardIndex{0},
                                 .executor = executor_,
                                 .storage = storage_,
                                 .new_journal_id = 77,
                                 .file_bytes = 32 * 1024,
                                 .first_file_bytes = 16 * 1024};
    auto opened =
        Journal::open(options, read->recovery, {kBootType, PartitionNumber{0}, as_bytes("boot")});
    ASSERT_TRUE(opened) << opened.error().detail;
    journal_ = std::move(*opened);
    promised_ = journal_->synced();
    journal_->on_synced([this](Lsn lsn) { promised_ = lsn; });
  }

  void work() {
    const int steps = static_cast<int>(random_.between(1, 60));
    for (int i = 0; i < steps; ++i) {
      switch (random_.below(8)) {
        case 0:
          journal_->want_sync();
          break;
        case 1:
          storage_.run_one();
          break;
        case 2:
          executor_.run_one();
          break;
        case 3:
          executor_.fire(random_.between(0, 12));
          break;
        case 4:
          fs_.write_back(random_);
          break;
        case 5:
          if (random_.chance(1, 4)) cut();
          break;
        default:
          write();
      }
    }
  }

  void write() {
    const std::size_t records = 1 + random_.below(3);
    const Lsn lsn = journal_->written().next();
    for (std::size_t i = 0; i < records; ++i) {
      std::string body = std::to_string(++serial_) + ":";
      body.append(random_.below(random_.chance(1, 10) ? 6000 : 200), 'b');
      journal_->append(1, PartitionNumber{1 + static_cast<std::uint32_t>(random_.below(90))},
                       as_bytes(body));
      written_.emplace_back(lsn, body);
    }
    const auto outcome = journal_->commit();
    ASSERT_TRUE(outcome);
    ASSERT_EQ(*outcome, lsn);
  }

  // A checkpoint through what is synced.
  void cut() {
    cut_ = journal_->synced().next();
    std::erase_if(written_, [&](const Written& record) { return record.first < cut_; });
    journal_->recycle_below(cut_);
  }

  void crash() {
    const Lsn last = journal_->written();
    executor_.forget();
    storage_.forget();
    journal_.reset();
    if (random_.chance(1, 2)) {
      fs_.kill();
      promised_ = last;
    } else {
      fs_.power_cut(random_);
    }
  }

  using Written = std::pair<Lsn, std::string>;
  Random random_;
  MemoryFileSystem fs_;
  ManualExecutor executor_;
  ManualStorage storage_;
  std::unique_ptr<Journal> journal_;
  std::vector<Written> written_;  // not yet cut, in order
  Lsn promised_{0};               // must survive the next crash
  Lsn cut_{1};
  std::uint64_t serial_ = 0;
};

TEST(JournalCrashWalk, Invariant10And13NothingPromisedIsLostInAThousandSeeds) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CrashWalk(seed).run();
    if (::testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

}  // namespace
}  // namespace ackline::io::test

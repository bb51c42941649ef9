// The journal on the machine's own files: what the other tests take from files in memory holds
// there.
#include <gmock/gmock.h>

#include <cstdlib>

#include "ackline/io/fs/posix_file_system.h"
#include "tests/unit/io/journal/journal_fixture.h"

namespace ackline::io::test {
namespace {

TEST_F(JournalTest, OnTheMachinesFilesBatchesRollRecycleAndComeBack) {
  std::string directory = ::testing::TempDir() + "ackline-journal-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  PosixFileSystem disk;
  JournalOptions given = options(disk);
  const JournalOptions real{.fs = disk,
                            .directory = directory + "/shard/journal",
                            .shard = given.shard,
                            .executor = executor,
                            .storage = storage,
                            .new_journal_id = 9,
                            .file_bytes = file_bytes,
                            .first_file_bytes = first_file_bytes};
  std::vector<std::string> expected;
  Lsn cut{1};
  for (int life = 0; life < 3; ++life) {
    const auto read =
        read_back(disk, real.directory, {.lowest_needed = cut, .synced_at_least = cut.previous()});
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(read->bodies(), expected);
    EXPECT_TRUE(read->recovery.damage.empty());
    auto opened = Journal::open(real, read->recovery, {kBootType, PartitionNumber{0}, {}});
    ASSERT_TRUE(opened) << opened.error().detail;
    journal = std::move(*opened);
    for (int i = 0; i < 120; ++i) {
      expected.push_back(std::to_string(life * 1000 + i) + std::string(2000, 'p'));
      ASSERT_TRUE(write(1, expected.back()));
      if (i % 10 == 0) sync();
      if (i == 60) {
        sync();
        cut = journal->synced().next();
        journal->recycle_below(cut);
        settle(executor, storage);
        expected.clear();
      }
    }
    EXPECT_GT(journal->stats().files_made, 1U);
    die();
  }
  EXPECT_TRUE(disk.remove_all(directory));
}

}  // namespace
}  // namespace ackline::io::test

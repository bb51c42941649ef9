// What is missed although nothing in the journal says that it was there: somebody outside knows.
#include <gmock/gmock.h>

#include "tests/unit/io/journal/journal_fixture.h"

namespace ackline::io::test {
namespace {

using ::testing::IsEmpty;

const std::string kFirstFile = "/data/journal/journal-00000001";

class MissingJournalTest : public JournalTest {};

TEST_F(MissingJournalTest, WhatSomebodyOutsideKnowsWasSyncedIsMissedWhenItsFileIsGone) {
  for (const std::string harm : {"deleted", "emptied", "zeroed"}) {
    ASSERT_TRUE(fs.remove_all("/data"));
    ASSERT_TRUE(fs.make_directories("/data/journal"));
    boot(fs);
    const RecoverOptions started{.synced_at_least = journal->synced(),
                                 .journal_id = journal->journal_id()};
    ASSERT_TRUE(write(1, "event-1"));
    sync();
    die();
    EXPECT_THAT(read_back(fs, "/data/journal", started)->recovery.damage, IsEmpty()) << harm;
    if (harm == "deleted") {
      ASSERT_TRUE(fs.remove(kFirstFile));
    } else {
      const std::size_t size = harm == "zeroed" ? fs.contents(kFirstFile)->size() : 0;
      ASSERT_TRUE(write_file_atomic(fs, kFirstFile, std::string(size, '\0')));
    }
    EXPECT_THAT(read_back(fs, "/data/journal")->recovery.damage, IsEmpty()) << harm;
    boot(fs, started);
    ASSERT_EQ(back.recovery.damage.size(), 1U) << harm;
    EXPECT_TRUE(back.recovery.damage[0].every_partition);
    EXPECT_GE(back.recovery.damage[0].last, started.synced_at_least);
    // No lsn is given twice, and what is missing stays missed until a checkpoint has said so.
    EXPECT_GT(journal->synced(), started.synced_at_least);
    const RecoverOptions again{.synced_at_least = journal->synced(),
                               .journal_id = journal->journal_id()};
    die();
    EXPECT_FALSE(read_back(fs, "/data/journal", again)->recovery.damage.empty()) << harm;
  }
}

TEST_F(MissingJournalTest,
       TheFileThatACheckpointWroteBehindIsMissedAlthoughNobodyNeedsWhatWasInIt) {
  boot(fs);
  ASSERT_TRUE(write(1, "event-1"));
  sync();
  const RecoverOptions all{.lowest_needed = journal->synced().next(),
                           .synced_at_least = journal->synced(),
                           .journal_id = journal->journal_id()};
  die();
  EXPECT_THAT(read_back(fs, "/data/journal", all)->recovery.damage, IsEmpty());
  ASSERT_TRUE(fs.remove(kFirstFile));
  boot(fs, all);
  ASSERT_EQ(back.recovery.damage.size(), 1U);
  EXPECT_TRUE(back.recovery.damage[0].every_partition);
  EXPECT_GT(back.recovery.damage[0].last, all.synced_at_least);
  // Also at the next start, as long as no checkpoint has said so.
  die();
  EXPECT_EQ(read_back(fs, "/data/journal", all)->recovery.damage.size(), 1U);
  // A new layout has a checkpoint before it has a journal.
  ASSERT_TRUE(fs.remove_all("/data/journal"));
  RecoverOptions moved = all;
  moved.journal_id = 0;
  EXPECT_THAT(read_back(fs, "/data/journal", moved)->recovery.damage, IsEmpty());
}

TEST_F(MissingJournalTest, TheFilesOfAnotherJournalAreDamageOfEveryPartition) {
  boot(fs);
  ASSERT_TRUE(write(1, "event-1"));
  sync();
  die();
  RecoverOptions started{.journal_id = 0x1234'5678'9abc'def0};
  EXPECT_THAT(read_back(fs, "/data/journal", started)->recovery.damage, IsEmpty());
  started.journal_id = 7;
  const auto found = read_back(fs, "/data/journal", started);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->recovery.damage.size(), 1U);
  EXPECT_TRUE(found->recovery.damage[0].every_partition);
}

}  // namespace
}  // namespace ackline::io::test

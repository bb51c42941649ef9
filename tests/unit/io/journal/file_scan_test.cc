#include "ackline/io/journal/file_scan.h"

#include <gtest/gtest.h>

#include "ackline/io/journal/batch_builder.h"

namespace ackline::io::journal {
namespace {

constexpr std::uint64_t kId = 0xabcdef;

class FileScanTest : public ::testing::Test {
 protected:
  // Appends a batch with one record and returns its checksum.
  std::uint64_t add(Lsn lsn, std::uint64_t previous, std::uint64_t id = kId) {
    BatchBuilder builder;
    builder.add(1, PartitionNumber{7}, as_bytes("body"));
    const auto sealed = builder.seal(id, lsn, Lsn{0}, previous);
    content.append(as_text(sealed.bytes));
    return sealed.checksum;
  }
  [[nodiscard]] FileScan scan() const {
    return scan_file(as_bytes(content),
                     {.journal_id = kId, .first = Lsn{1}, .limit = Lsn{100}, .previous = 0});
  }
  std::string content = std::string(kFirstBatch, '\0');
};

TEST_F(FileScanTest, ABatchOfAnotherChainIsNotTaken) {
  const auto first = add(Lsn{1}, 0);
  add(Lsn{2}, first + 1);
  EXPECT_EQ(scan().batches.size(), 1U);
}

TEST_F(FileScanTest, ABatchOfAnotherJournalIsNotTaken) {
  const auto first = add(Lsn{1}, 0);
  add(Lsn{2}, first, kId + 1);
  EXPECT_EQ(scan().batches.size(), 1U);
}

TEST_F(FileScanTest, OldContentOfALowerLsnEndsTheFile) {
  const auto first = add(Lsn{1}, 0);
  const auto second = add(Lsn{2}, first);
  add(Lsn{1}, 0);
  add(Lsn{2}, second);
  const FileScan found = scan();
  EXPECT_EQ(found.batches.size(), 2U);
  ASSERT_EQ(found.gaps.size(), 1U);
  EXPECT_TRUE(found.gaps[0].named.empty());
}

TEST_F(FileScanTest, TheNextBlockIsTriedToo) {
  const auto first = add(Lsn{1}, 0);
  content.resize(align_up(content.size(), kBlockBytes), 'x');
  add(Lsn{2}, first);
  EXPECT_EQ(scan().batches.size(), 2U);
}

TEST_F(FileScanTest, ALimitEndsTheFileBeforeItsOwnEnd) {
  const auto first = add(Lsn{1}, 0);
  add(Lsn{2}, first);
  const FileScan found = scan_file(
      as_bytes(content), {.journal_id = kId, .first = Lsn{1}, .limit = Lsn{2}, .previous = 0});
  EXPECT_EQ(found.batches.size(), 1U);
  EXPECT_TRUE(found.gaps.empty());
}

}  // namespace
}  // namespace ackline::io::journal

// Files of every released format version are read for ever, and this release still writes the same
// bytes. To make them anew after a new version: run with ACKLINE_WRITE_GOLDEN=1 and review the
// diff.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "ackline/io/checkpoint/checkpoint.h"
#include "ackline/io/fs/posix_file_system.h"
#include "tests/unit/io/journal/journal_fixture.h"

namespace ackline::io::test {
namespace {

const std::string kGolden = std::string(ACKLINE_SOURCE_DIR) + "/tests/golden/";

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 32) {
    const std::string_view row = bytes.substr(at, 32);
    if (row.find_first_not_of('\0') == std::string_view::npos) continue;
    text += fmt::format("{:08x}", at);
    for (const char byte : row) text += fmt::format(" {:02x}", static_cast<unsigned char>(byte));
    text += "\n";
  }
  return text + fmt::format("{:08x}\n", bytes.size());
}

std::string from_hex(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string row(text.substr(0, end));
    text.remove_prefix(end + 1);
    char* at = row.data();
    bytes.resize(std::strtoul(at, &at, 16), '\0');
    while (*at != '\0') bytes.push_back(static_cast<char>(std::strtoul(at, &at, 16)));
  }
  return bytes;
}

// The golden file, after comparing it with what is written now.
std::string golden(const std::string& name, const std::string& written) {
  PosixFileSystem disk;
  if (std::getenv("ACKLINE_WRITE_GOLDEN") != nullptr) {
    EXPECT_TRUE(write_file_atomic(disk, kGolden + name, to_hex(written)));
  }
  const std::string kept = read_file(disk, kGolden + name).value();
  EXPECT_EQ(kept, to_hex(written)) << "the format of " << name << " has changed";
  return from_hex(kept);
}

void put(FileSystem& fs, const std::string& directory, const std::string& name,
         std::string_view content) {
  ASSERT_TRUE(fs.make_directories(directory));
  ASSERT_TRUE(write_file_atomic(fs, join(directory, name), content));
}

class GoldenTest : public JournalTest {
 protected:
  PosixFileSystem disk;
};

TEST_F(GoldenTest, AJournalOfVersionOneIsRead) {
  first_file_bytes = 20 * 1024;
  boot(fs);
  ASSERT_TRUE(write(7, "first"));
  sync();
  for (std::uint32_t p = 1; p <= 70; ++p) {
    journal->append(2, PartitionNumber{p}, as_bytes("many"));
  }
  ASSERT_TRUE(journal->commit());
  const auto now = golden("journal-v1.hex", fs.contents("/data/journal/journal-00000001").value());
  // As the first builds wrote it: the header does not say how long the file is.
  const auto first = from_hex(read_file(disk, kGolden + "journal-v1-without-size.hex").value());
  for (const std::string& bytes : {now, first}) {
    MemoryFileSystem other;
    put(other, "/g", "journal-00000001", bytes);
    const auto read = read_back(other, "/g");
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(read->recovery.last, Lsn{3});
    EXPECT_EQ(read->recovery.synced, Lsn{2});
    EXPECT_TRUE(read->recovery.damage.empty());
    ASSERT_EQ(read->records.size(), 71U);
    EXPECT_EQ(read->records[0], (ReadRecord{Lsn{2}, 1, PartitionNumber{7}, "first"}));
    EXPECT_EQ(read->records[70], (ReadRecord{Lsn{3}, 2, PartitionNumber{70}, "many"}));
  }
}

TEST_F(GoldenTest, ACheckpointOfVersionOneIsRead) {
  auto writer = CheckpointWriter::begin(fs, "/c",
                                        {.shard = ShardIndex{1},
                                         .shard_count = 2,
                                         .data_version = 1,
                                         .created = WallMs{1'700'000'000'000}})
                    .value();
  ASSERT_TRUE(writer->add(PartitionNumber{0}, Lsn{9}, as_bytes("the shard")));
  ASSERT_TRUE(writer->add(PartitionNumber{3}, Lsn{12}, as_bytes("partition three")));
  ASSERT_TRUE(writer->finish(Lsn{9}));
  ASSERT_TRUE(writer->publish(Lsn{12}));
  MemoryFileSystem other;
  put(other, "/g", "checkpoint-00000001",
      golden("checkpoint-v1.hex", fs.contents("/c/checkpoint-00000001").value()));
  put(other, "/g", "MANIFEST", golden("manifest-v1.hex", fs.contents("/c/MANIFEST").value()));
  const auto read = read_checkpoint(other, "/g");
  ASSERT_TRUE(read && read->has_value());
  const Checkpoint& found = **read;
  EXPECT_EQ(found.info.journal_lowest, Lsn{10});
  EXPECT_EQ(found.info.journal_synced, Lsn{12});
  ASSERT_EQ(found.sections.size(), 2U);
  EXPECT_EQ(found.sections[1].body, "partition three");
}

}  // namespace
}  // namespace ackline::io::test

#include "ackline/io/checkpoint/checkpoint.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "ackline/io/checkpoint/format.h"
#include "ackline/io/fs/memory_file_system.h"

namespace ackline::io {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kDirectory = "/data/checkpoint";

class CheckpointTest : public ::testing::Test {
 protected:
  // State of each partition as "<tag>-<partition>", taken at lsn 10 * partition.
  static std::string body(const std::string& tag, std::uint32_t partition) {
    return tag + "-" + std::to_string(partition);
  }

  Result<CheckpointInfo> write(FileSystem& disk, const std::string& tag, std::uint32_t partitions,
                               Lsn journal_synced = Lsn{1000}) {
    auto writer = CheckpointWriter::begin(
        disk, kDirectory,
        {.shard = ShardIndex{1}, .shard_count = 4, .data_version = 3, .created = WallMs{42}});
    if (!writer) return fail(writer);
    for (std::uint32_t p = 1; p <= partitions; ++p) {
      if (auto done = (*writer)->add(PartitionNumber{p}, Lsn{10 * p}, as_bytes(body(tag, p)));
          !done) {
        return fail(done);
      }
    }
    auto info = (*writer)->finish(Lsn{1000});
    if (!info) return info;
    if (auto done = (*writer)->publish(journal_synced); !done) return fail(done);
    return info;
  }

  MemoryFileSystem fs;
};

TEST_F(CheckpointTest, AFreshDirectoryHasNone) {
  const auto read = read_checkpoint(fs, kDirectory);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->has_value());
}

TEST_F(CheckpointTest, WhatIsPublishedIsReadBack) {
  ASSERT_TRUE(write(fs, "a", 5));
  const auto read = read_checkpoint(fs, kDirectory).value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->info.shard, ShardIndex{1});
  EXPECT_EQ(read->info.shard_count, 4U);
  EXPECT_EQ(read->info.data_version, 3U);
  EXPECT_EQ(read->info.created, WallMs{42});
  EXPECT_EQ(read->info.journal_lowest, Lsn{11});
  EXPECT_EQ(read->info.journal_synced, Lsn{50});
  ASSERT_EQ(read->sections.size(), 5U);
  EXPECT_EQ(read->sections[4].body, "a-5");
  EXPECT_EQ(read->sections[4].applied, Lsn{50});
  EXPECT_THAT(read->damaged, IsEmpty());
  EXPECT_EQ(read->repaired, 0U);
}

TEST_F(CheckpointTest, APartitionYoungerThanTheCheckpointIsReplayed) {
  auto writer = CheckpointWriter::begin(fs, kDirectory, {}).value();
  ASSERT_TRUE(writer->add(PartitionNumber{1}, Lsn{120}, as_bytes("x")));
  const auto info = writer->finish(Lsn{99}).value();
  EXPECT_EQ(info.journal_lowest, Lsn{100});
  EXPECT_EQ(info.journal_synced, Lsn{120});
}

TEST_F(CheckpointTest, AnEmptyShardHasACheckpointToo) {
  ASSERT_TRUE(write(fs, "a", 0));
  const auto read = read_checkpoint(fs, kDirectory).value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->info.journal_lowest, Lsn{1001});
  EXPECT_THAT(read->sections, IsEmpty());
}

TEST_F(CheckpointTest, Rule8ItIsNotPublishedAheadOfTheJournal) {
  const auto outcome = write(fs, "a", 5, Lsn{49});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kStale);
  EXPECT_FALSE(read_checkpoint(fs, kDirectory).value().has_value());
  EXPECT_THAT(fs.files(), IsEmpty());
}

TEST_F(CheckpointTest, OlderFilesGoWhenTheNextIsDurable) {
  ASSERT_TRUE(write(fs, "a", 5));
  ASSERT_TRUE(write(fs, "b", 2));
  EXPECT_EQ(fs.files().size(), 2U);
  const auto read = read_checkpoint(fs, kDirectory).value();
  EXPECT_EQ(read->info.sequence, 2U);
  EXPECT_EQ(read->sections[0].body, "b-1");
}

TEST_F(CheckpointTest, AnAbandonedWriterLeavesTheOldOneInForce) {
  ASSERT_TRUE(write(fs, "a", 5));
  {
    auto writer = CheckpointWriter::begin(fs, kDirectory, {}).value();
    ASSERT_TRUE(writer->add(PartitionNumber{1}, Lsn{1}, as_bytes("b")));
  }
  EXPECT_EQ(fs.files().size(), 2U);
  EXPECT_EQ(read_checkpoint(fs, kDirectory).value()->sections[0].body, "a-1");
}

TEST_F(CheckpointTest, EachCrashPointLeavesTheOldOrTheNewOne) {
  ASSERT_TRUE(write(fs, "old", 3));
  for (int step = 0; step < 30; ++step) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      auto disk = fs.clone();
      int left = step;
      disk->set_fault_hook([&](FsOperation, const std::string&) -> std::optional<FsFault> {
        if (left-- > 0) return std::nullopt;
        return FsFault{{ErrorCode::kUnavailable, "dead", "", ""}, 30};
      });
      const bool published = write(*disk, "new", 3).has_value();
      disk->set_fault_hook(nullptr);
      Random random(seed);
      disk->power_cut(random);
      const auto read = read_checkpoint(*disk, kDirectory);
      ASSERT_TRUE(read) << step << " " << read.error().detail;
      ASSERT_TRUE(read->has_value()) << step;
      EXPECT_THAT((*read)->damaged, IsEmpty());
      EXPECT_FALSE((*read)->unnamed_damage);
      ASSERT_EQ((*read)->sections.size(), 3U);
      const std::string& found = (*read)->sections[2].body;
      EXPECT_TRUE(found == "new-3" || (!published && found == "old-3")) << step << found;
    }
  }
}

TEST_F(CheckpointTest, AFullDiskLeavesTheOldOneAndNoLitter) {
  ASSERT_TRUE(write(fs, "old", 3));
  fs.set_capacity(3000);
  for (int i = 0; i < 5; ++i) {
    const auto outcome = write(fs, std::string(1000, 'n'), 3);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::kFull);
  }
  EXPECT_LE(fs.files().size(), 3U);
  fs.set_capacity(UINT64_MAX);
  EXPECT_EQ(read_checkpoint(fs, kDirectory).value()->sections[0].body, "old-1");
  EXPECT_TRUE(write(fs, "new", 3));
}

TEST_F(CheckpointTest, NewerVersionsAreRefusedByNumber) {
  ASSERT_TRUE(write(fs, "a", 1));
  const auto data = read_checkpoint(fs, kDirectory, 2);
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(data.error().detail, HasSubstr("data version 3"));

  std::string manifest = read_file(fs, kDirectory + "/MANIFEST").value();
  manifest[8] = 7;
  manifest.resize(checkpoint::kManifestBytes - 8);
  ByteWriter(manifest).u64(checksum64(as_bytes(manifest)));
  ASSERT_TRUE(write_file_atomic(fs, kDirectory + "/MANIFEST", manifest + manifest));
  const auto format = read_checkpoint(fs, kDirectory);
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(format.error().detail, HasSubstr("version 7"));
}

TEST_F(CheckpointTest, AnUnreadableManifestOrAMissingFileIsNotAFreshStart) {
  ASSERT_TRUE(write(fs, "a", 1));
  auto lost = fs.clone();
  ASSERT_TRUE(lost->remove(kDirectory + "/checkpoint-00000001"));
  EXPECT_EQ(read_checkpoint(*lost, kDirectory).error().code, ErrorCode::kCorrupt);
  fs.flip_bit(kDirectory + "/MANIFEST", 30, 1);
  EXPECT_EQ(read_checkpoint(fs, kDirectory).value()->repaired, 1U);
  fs.flip_bit(kDirectory + "/MANIFEST", 512 + 30, 1);
  EXPECT_EQ(read_checkpoint(fs, kDirectory).error().code, ErrorCode::kCorrupt);
}

TEST_F(CheckpointTest, AMissingManifestBesideACheckpointAndNoJournalIsNotAFreshStart) {
  ASSERT_TRUE(write(fs, "a", 1));
  ASSERT_TRUE(fs.remove(kDirectory + "/MANIFEST"));
  const auto read = read_checkpoint(fs, kDirectory);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(read.error().detail, HasSubstr("MANIFEST is missing, beside checkpoint-00000001"));
}

TEST_F(CheckpointTest, EveryFlippedBitIsFoundOrHarmless) {
  ASSERT_TRUE(write(fs, "state", 4));
  std::map<std::uint32_t, std::size_t> quarantined;
  for (const std::string& path : fs.files()) {
    const std::size_t size = fs.contents(path)->size();
    for (std::size_t at = 0; at < size; ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        auto copy = fs.clone();
        copy->flip_bit(path, at, bit);
        const auto read = read_checkpoint(*copy, kDirectory);
        ASSERT_TRUE(read && read->has_value()) << path << at;
        const Checkpoint& found = **read;
        EXPECT_FALSE(found.unnamed_damage);
        EXPECT_EQ(found.sections.size() + found.damaged.size(), 4U) << path << at;
        EXPECT_EQ(found.info.journal_lowest, Lsn{11});
        for (const auto& section : found.sections) {
          ASSERT_EQ(section.body, body("state", section.partition.value())) << path << at;
          ASSERT_EQ(section.applied, Lsn{10 * section.partition.value()}) << path << at;
        }
        for (const auto& damaged : found.damaged) ++quarantined[damaged.partition.value()];
      }
    }
  }
  EXPECT_EQ(quarantined.size(), 4U);
  for (const auto& [partition, count] : quarantined) EXPECT_EQ(count, 8 * 7U);
}

TEST_F(CheckpointTest, ATruncatedFileSaysThatSomethingIsMissing) {
  ASSERT_TRUE(write(fs, "state", 4));
  const std::string path = kDirectory + "/checkpoint-00000001";
  const std::string whole = fs.contents(path).value();
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    auto copy = fs.clone();
    ASSERT_TRUE(copy->open(path, OpenMode::kReadWrite).value()->resize(size));
    const auto read = read_checkpoint(*copy, kDirectory);
    ASSERT_TRUE(read) << size;
    const Checkpoint& found = **read;
    EXPECT_TRUE(found.unnamed_damage || found.sections.size() + found.damaged.size() == 4) << size;
    for (const auto& section : found.sections) {
      EXPECT_EQ(section.body, body("state", section.partition.value()));
    }
  }
}

}  // namespace
}  // namespace ackline::io

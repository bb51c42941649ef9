#include "ackline/io/fs/memory_file_system.h"

#include <gmock/gmock.h>

#include <set>

namespace ackline::io {
namespace {

using ::testing::ElementsAre;

std::string text_of(const File& file) {
  std::string text(static_cast<std::size_t>(file.size().value()), '\0');
  EXPECT_TRUE(file.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

class MemoryFileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fs.make_directories("/d"));
    file = fs.open("/d/a", OpenMode::kCreate).value();
  }
  MemoryFileSystem fs;
  std::unique_ptr<File> file;
};

TEST_F(MemoryFileSystemTest, KillKeepsThePageCacheAndEndsHandlesAndLocks) {
  ASSERT_TRUE(file->write(0, as_bytes("unsynced")));
  auto lock = fs.lock("/d/lock").value();
  EXPECT_EQ(fs.lock("/d/lock").error().code, ErrorCode::kInUse);
  fs.kill();
  EXPECT_FALSE(file->write(0, as_bytes("late")));
  EXPECT_FALSE(file->sync());
  EXPECT_EQ(fs.contents("/d/a"), "unsynced");
  auto next = fs.lock("/d/lock");
  EXPECT_TRUE(next);
  lock.reset();  // the dead one does not free the living one's lock
  EXPECT_EQ(fs.lock("/d/lock").error().code, ErrorCode::kInUse);
}

TEST_F(MemoryFileSystemTest, APowerCutKeepsWhatWasSyncedAndTearsTheRest) {
  ASSERT_TRUE(file->write(0, as_bytes(std::string(4096, 'o'))));
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(fs.sync_directory("/d"));
  ASSERT_TRUE(file->write(0, as_bytes(std::string(8192, 'n'))));
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto copy = fs.clone();
    Random random(seed);
    copy->power_cut(random);
    const std::string text = copy->contents("/d/a").value();
    EXPECT_TRUE(text.size() == 4096 || text.size() == 8192);
    for (std::size_t sector = 0; sector < 4096; sector += 512) {
      const std::string_view part = std::string_view(text).substr(sector, 512);
      EXPECT_TRUE(part == std::string(512, 'o') || part == std::string(512, 'n'));
    }
    outcomes.insert(text);
  }
  EXPECT_GT(outcomes.size(), 30U);
}

TEST_F(MemoryFileSystemTest, UnsyncedDirectoryEntriesComeAndGo) {
  ASSERT_TRUE(file->write(0, as_bytes("x")));
  ASSERT_TRUE(file->sync());
  std::set<std::vector<std::string>> outcomes;
  ASSERT_TRUE(fs.open("/d/b", OpenMode::kCreateNew));
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto copy = fs.clone();
    Random random(seed);
    copy->power_cut(random);
    outcomes.insert(copy->files());
  }
  EXPECT_EQ(outcomes.size(), 4U);
  ASSERT_TRUE(fs.sync_directory("/d"));
  Random random(1);
  fs.power_cut(random);
  EXPECT_THAT(fs.files(), ElementsAre("/d/a", "/d/b"));
}

TEST_F(MemoryFileSystemTest, ARenameIsOneChange) {
  ASSERT_TRUE(file->write(0, as_bytes("new")));
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(fs.sync_directory("/d"));
  ASSERT_TRUE(fs.rename("/d/a", "/d/z"));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto copy = fs.clone();
    Random random(seed);
    copy->power_cut(random);
    ASSERT_EQ(copy->files().size(), 1U);
    EXPECT_EQ(copy->contents(copy->files()[0]), "new");
  }
}

TEST_F(MemoryFileSystemTest, AFailedSyncForgetsWhatWasDirty) {
  ASSERT_TRUE(fs.sync_directory("/d"));
  ASSERT_TRUE(file->write(0, as_bytes("lost")));
  fs.set_fault_hook([](FsOperation operation, const std::string&) -> std::optional<FsFault> {
    if (operation != FsOperation::kSync) return std::nullopt;
    return FsFault{{ErrorCode::kUnavailable, "EIO", "", ""}, 0};
  });
  EXPECT_FALSE(file->sync());
  fs.set_fault_hook(nullptr);
  EXPECT_TRUE(file->sync());  // and lies
  EXPECT_EQ(fs.contents("/d/a"), "lost");
  Random random(1);
  fs.power_cut(random);
  EXPECT_NE(fs.contents("/d/a"), "lost");
}

TEST_F(MemoryFileSystemTest, ShortWritesAndMissesAreAsTheHookSays) {
  fs.set_fault_hook([](FsOperation operation, const std::string&) -> std::optional<FsFault> {
    if (operation == FsOperation::kWrite) return FsFault{{ErrorCode::kFull, "", "", ""}, 2};
    if (operation == FsOperation::kReadNowait) return FsFault{{ErrorCode::kTimeout, "", "", ""}, 0};
    return std::nullopt;
  });
  EXPECT_EQ(file->write(0, as_bytes("abc")).error().code, ErrorCode::kFull);
  EXPECT_EQ(text_of(*file), "ab");
  std::byte one{};
  EXPECT_EQ(file->read_nowait(0, {&one, 1}).error().code, ErrorCode::kTimeout);
  EXPECT_EQ(fs.stats().nowait_misses, 1U);
}

TEST_F(MemoryFileSystemTest, CapacityBoundsGrowthOnly) {
  fs.set_capacity(1000);
  ASSERT_TRUE(file->resize(1000));
  EXPECT_TRUE(file->write(0, as_bytes(std::string(1000, 'x'))));
  EXPECT_EQ(file->write(1000, as_bytes("x")).error().code, ErrorCode::kFull);
  EXPECT_EQ(fs.free_bytes("/d").value(), 0U);
  ASSERT_TRUE(file->resize(100));
  EXPECT_EQ(fs.free_bytes("/d").value(), 900U);
  ASSERT_TRUE(file->resize(200));
  EXPECT_EQ(text_of(*file), std::string(100, 'x') + std::string(100, '\0'));
}

TEST_F(MemoryFileSystemTest, FlippedBitsShowInBothImages) {
  ASSERT_TRUE(file->write(0, as_bytes("a")));
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(fs.sync_directory("/d"));
  fs.flip_bit("/d/a", 0, 1);
  EXPECT_EQ(fs.contents("/d/a"), "c");
  Random random(1);
  fs.power_cut(random);
  EXPECT_EQ(fs.contents("/d/a"), "c");
}

TEST_F(MemoryFileSystemTest, TheSameSeedLosesTheSame) {
  ASSERT_TRUE(fs.sync_directory("/d"));
  for (int i = 0; i < 20; ++i) {
    auto other = fs.open("/d/f" + std::to_string(i), OpenMode::kCreate).value();
    ASSERT_TRUE(other->write(0, as_bytes(std::string(9000, 'x'))));
  }
  auto one = fs.clone();
  auto two = fs.clone();
  Random first(5);
  Random second(5);
  one->power_cut(first);
  two->power_cut(second);
  ASSERT_EQ(one->files(), two->files());
  for (const auto& path : one->files()) EXPECT_EQ(one->contents(path), two->contents(path));
}

TEST_F(MemoryFileSystemTest, WriteBackIsASyncNobodyAskedFor) {
  ASSERT_TRUE(fs.sync_directory("/d"));
  ASSERT_TRUE(file->write(0, as_bytes("early")));
  Random random(3);
  for (int i = 0; i < 30; ++i) fs.write_back(random);
  ASSERT_TRUE(file->write(0, as_bytes("later")));
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto copy = fs.clone();
    Random cut(seed);
    copy->power_cut(cut);
    outcomes.insert(copy->contents("/d/a").value());
  }
  EXPECT_THAT(outcomes, ElementsAre("early", "later"));
}

}  // namespace
}  // namespace ackline::io

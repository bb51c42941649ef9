// What every FileSystem does, on the machine's and on the one in memory.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>

#include "ackline/io/fs/memory_file_system.h"
#include "ackline/io/fs/posix_file_system.h"

namespace ackline::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Kind : std::uint8_t { kPosix, kMemory };

class FileSystemContract : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kMemory) {
      fs = std::make_unique<MemoryFileSystem>();
      root = "/root";
      ASSERT_TRUE(fs->make_directories(root));
      return;
    }
    fs = std::make_unique<PosixFileSystem>();
    std::string pattern = ::testing::TempDir() + "ackline-fs-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  void TearDown() override { EXPECT_TRUE(fs->remove_all(root)); }

  [[nodiscard]] std::string at(std::string_view name) const { return join(root, name); }
  static std::string read(const File& file, std::uint64_t position, std::size_t count) {
    std::string text(count, '\0');
    const auto got = file.read(position, std::as_writable_bytes(std::span(text)));
    EXPECT_TRUE(got);
    text.resize(got.value_or(0));
    return text;
  }

  std::unique_ptr<FileSystem> fs;
  std::string root;
};

TEST(FileSystemPaths, TheParentOfAPathIsTheDirectoryThatHoldsIt) {
  EXPECT_EQ(parent_of("/data/journal/a"), "/data/journal");
  EXPECT_EQ(parent_of("/a"), "/");
  EXPECT_EQ(parent_of("a"), ".");
  EXPECT_EQ(parent_of("data/a"), "data");
}

TEST(FileSystemPaths, AFileInTheRootDirectoryIsReplacedToo) {
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.make_directories("/"));
  // As the machine has it: no directory has an empty name.
  fs.set_fault_hook([](FsOperation operation, const std::string& path) -> std::optional<FsFault> {
    if (operation != FsOperation::kSyncDirectory || !path.empty()) return std::nullopt;
    return FsFault{{ErrorCode::kNotFound, "No such file or directory", "", ""}};
  });
  const auto done = write_file_atomic(fs, "/a", "text");
  EXPECT_TRUE(done) << done.error().detail;
  EXPECT_EQ(read_file(fs, "/a").value(), "text");
}

TEST_P(FileSystemContract, WritesAreReadBackAndReadsStopAtTheEnd) {
  auto file = fs->open(at("a"), OpenMode::kCreate).value();
  ASSERT_TRUE(file->write(3, as_bytes("hello")));
  EXPECT_EQ(file->size().value(), 8U);
  EXPECT_EQ(read(*file, 0, 100), std::string("\0\0\0hello", 8));
  EXPECT_EQ(read(*file, 5, 2), "ll");
  EXPECT_EQ(read(*file, 8, 5), "");
  EXPECT_EQ(read(*file, 100, 5), "");
  EXPECT_TRUE(file->sync());
  std::string text(5, '\0');
  const auto at_once = file->read_nowait(3, std::as_writable_bytes(std::span(text)));
  if (at_once) {
    EXPECT_EQ(*at_once, 5U);
    EXPECT_EQ(text, "hello");
  } else {
    // The machine may have given up the page meanwhile.
    EXPECT_EQ(GetParam(), Kind::kPosix);
    EXPECT_EQ(at_once.error().code, ErrorCode::kTimeout);
  }
}

TEST_P(FileSystemContract, ResizeGrowsWithZerosAndCuts) {
  auto file = fs->open(at("a"), OpenMode::kCreate).value();
  ASSERT_TRUE(file->write(0, as_bytes("abcdef")));
  ASSERT_TRUE(file->resize(3));
  ASSERT_TRUE(file->resize(10000));
  EXPECT_EQ(file->size().value(), 10000U);
  EXPECT_EQ(read(*file, 0, 6), std::string("abc\0\0\0", 6));
}

TEST_P(FileSystemContract, OpenModes) {
  EXPECT_EQ(fs->open(at("a"), OpenMode::kRead).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(fs->open(at("a"), OpenMode::kReadWrite).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(fs->open(at("a"), OpenMode::kCreateNew));
  const auto again = fs->open(at("a"), OpenMode::kCreateNew);
  EXPECT_EQ(again.error().code, ErrorCode::kStale);
  EXPECT_THAT(again.error().detail, HasSubstr(at("a")));
  EXPECT_TRUE(fs->open(at("a"), OpenMode::kCreate));
  EXPECT_EQ(fs->open(at("no/such"), OpenMode::kCreate).error().code, ErrorCode::kNotFound);
}

TEST_P(FileSystemContract, RenameReplacesAndRemoveRemoves) {
  ASSERT_TRUE(write_file_atomic(*fs, at("a"), "one"));
  ASSERT_TRUE(write_file_atomic(*fs, at("b"), "two"));
  ASSERT_TRUE(fs->rename(at("a"), at("b")));
  EXPECT_EQ(read_file(*fs, at("b")).value(), "one");
  EXPECT_FALSE(fs->exists(at("a")).value());
  EXPECT_EQ(fs->rename(at("a"), at("c")).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(fs->remove(at("b")));
  EXPECT_EQ(fs->remove(at("b")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_file(*fs, at("b")).error().code, ErrorCode::kNotFound);
}

TEST_P(FileSystemContract, AtomicWriteReplacesAndLeavesNothingBeside) {
  ASSERT_TRUE(write_file_atomic(*fs, at("a"), "a longer first one"));
  ASSERT_TRUE(write_file_atomic(*fs, at("a"), "short"));
  EXPECT_EQ(read_file(*fs, at("a")).value(), "short");
  EXPECT_THAT(fs->list(root).value(), ElementsAre("a"));
}

TEST_P(FileSystemContract, Directories) {
  ASSERT_TRUE(fs->make_directories(at("x/y/z")));
  ASSERT_TRUE(fs->make_directories(at("x/y/z")));
  ASSERT_TRUE(write_file_atomic(*fs, at("x/y/f"), "f"));
  ASSERT_TRUE(write_file_atomic(*fs, at("x/y/e"), "e"));
  EXPECT_THAT(fs->list(at("x/y")).value(), ElementsAre("e", "f", "z"));
  EXPECT_TRUE(fs->exists(at("x/y/z")).value());
  EXPECT_FALSE(fs->make_directories(at("x/y/f")));
  ASSERT_TRUE(fs->sync_directory(at("x/y")));
  ASSERT_TRUE(fs->remove_all(at("x")));
  ASSERT_TRUE(fs->remove_all(at("x")));
  EXPECT_FALSE(fs->exists(at("x/y/f")).value());
  EXPECT_EQ(fs->list(at("x")).error().code, ErrorCode::kNotFound);
}

TEST_P(FileSystemContract, ALockHasOneHolder) {
  auto lock = fs->lock(at("lock"));
  ASSERT_TRUE(lock);
  const auto second = fs->lock(at("lock"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  if (GetParam() == Kind::kPosix) {
    EXPECT_THAT(second.error().detail, HasSubstr(std::to_string(::getpid())));
  }
  lock->reset();
  EXPECT_TRUE(fs->lock(at("lock")));
}

TEST_P(FileSystemContract, FreeBytesAreKnown) {
  EXPECT_GT(fs->free_bytes(root).value(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, FileSystemContract, ::testing::Values(Kind::kPosix, Kind::kMemory),
                         [](const auto& info) {
                           return info.param == Kind::kPosix ? "Posix" : "Memory";
                         });

}  // namespace
}  // namespace ackline::io

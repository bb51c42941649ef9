#include "ackline/io/kv/rocksdb_key_value.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ackline/io/fs/posix_file_system.h"
#include "tests/support/kv/temp_directory.h"
#include "tests/support/process/child.h"

namespace ackline::io {
namespace {

namespace stdfs = std::filesystem;
using ackline::testing::TempDirectory;

// A file that cannot be made larger.
class FixedFile final : public File {
 public:
  explicit FixedFile(std::unique_ptr<File> behind) : behind_(std::move(behind)) {}
  Result<void> write(std::uint64_t position, ByteView bytes) override {
    return behind_->write(position, bytes);
  }
  Result<std::size_t> read(std::uint64_t position, std::span<std::byte> out) const override {
    return behind_->read(position, out);
  }
  Result<std::size_t> read_nowait(std::uint64_t position, std::span<std::byte> out) const override {
    return behind_->read_nowait(position, out);
  }
  Result<void> sync() override { return behind_->sync(); }
  Result<void> resize(std::uint64_t) override { return fail(ErrorCode::kFull, "no space left"); }
  Result<std::uint64_t> size() const override { return behind_->size(); }

 private:
  const std::unique_ptr<File> behind_;
};

// The real files, with a free space that the test decides on.
class SmallDisk final : public FileSystem {
 public:
  std::uint64_t free = 1ULL << 30U;
  bool refuses_resize = false;
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    auto file = real_.open(path, mode);
    if (!file || !refuses_resize) return file;
    return std::make_unique<FixedFile>(std::move(*file));
  }
  Result<bool> exists(const std::string& path) override { return real_.exists(path); }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return real_.rename(from, to);
  }
  Result<void> remove(const std::string& path) override { return real_.remove(path); }
  Result<void> make_directories(const std::string& path) override {
    return real_.make_directories(path);
  }
  Result<std::vector<std::string>> list(const std::string& directory) override {
    return real_.list(directory);
  }
  Result<void> remove_all(const std::string& path) override { return real_.remove_all(path); }
  Result<void> sync_directory(const std::string& directory) override {
    return real_.sync_directory(directory);
  }
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    return real_.lock(path);
  }
  Result<std::uint64_t> free_bytes(const std::string&) override { return free; }

 private:
  PosixFileSystem real_;
};

class RocksDbKeyValueTest : public ::testing::Test {
 protected:
  static RocksDbOptions options() {
    RocksDbOptions out;
    out.guard_bytes = 10'000'000;
    out.reserve_bytes = 1'000'000;
    out.write_buffer_bytes = 64 << 10;
    return out;
  }
  Result<std::unique_ptr<KeyValue>> open() { return open_rocksdb(disk_, path_, options()); }
  [[nodiscard]] std::string reserve() const { return path_ + "/ACKLINE_RESERVE"; }
  // The largest file with this ending.
  [[nodiscard]] std::string largest(std::string_view extension) const {
    std::string best;
    std::uintmax_t size = 0;
    for (const auto& entry : stdfs::directory_iterator(path_)) {
      if (entry.path().extension() == extension && entry.file_size() > size) {
        size = entry.file_size();
        best = entry.path();
      }
    }
    return best;
  }
  static void flip(const std::string& path, std::uintmax_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 0x10));
  }

  TempDirectory directory_;
  SmallDisk disk_;
  std::string path_ = directory_.path() + "/kv";
};

TEST_F(RocksDbKeyValueTest, WritesAreRefusedBelowTheGuardAndTheReserveIsGivenBack) {
  auto kv = open();
  ASSERT_TRUE(kv) << kv.error().detail;
  ASSERT_TRUE((*kv)->write({{"a", "1"}}, true));
  EXPECT_TRUE(stdfs::exists(reserve()));
  disk_.free = 9'999'999;
  const auto refused = (*kv)->write({{"b", "2"}}, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFull);
  EXPECT_NE(refused.error().detail.find(path_), std::string::npos);
  EXPECT_FALSE(stdfs::exists(reserve()));
  EXPECT_EQ(*(*kv)->get("b"), std::nullopt);
  EXPECT_EQ(**(*kv)->get("a"), "1");
}

TEST_F(RocksDbKeyValueTest, WritesGoOnByThemselvesOnceGuardAndReserveFitAgain) {
  auto kv = open();
  ASSERT_TRUE(kv);
  disk_.free = 5'000'000;
  ASSERT_FALSE((*kv)->write({{"a", "1"}}, true));
  disk_.free = 10'500'000;  // the guard fits, the reserve does not: it would flap
  EXPECT_FALSE((*kv)->write({{"a", "1"}}, true));
  disk_.free = 12'000'000;
  EXPECT_TRUE((*kv)->write({{"a", "1"}}, true));
  EXPECT_TRUE(stdfs::exists(reserve()));
  EXPECT_EQ(stdfs::file_size(reserve()), 1'000'000U);
}

TEST_F(RocksDbKeyValueTest, AReserveThatAKillLeftTooSmallIsMadeAgain) {
  ASSERT_TRUE(disk_.make_directories(path_));
  ASSERT_TRUE(disk_.open(reserve(), OpenMode::kCreateNew));
  const auto kv = open();
  ASSERT_TRUE(kv);
  EXPECT_EQ(stdfs::file_size(reserve()), 1'000'000U);
}

TEST_F(RocksDbKeyValueTest, AReserveThatCannotBeMadeLeavesNoFileThatLooksLikeOne) {
  disk_.refuses_resize = true;
  ASSERT_TRUE(open());
  EXPECT_FALSE(stdfs::exists(reserve()));
}

TEST_F(RocksDbKeyValueTest, AFullDiskAtTheStartOpensForReadingAndRefusesWrites) {
  {
    auto kv = open();
    ASSERT_TRUE(kv);
    ASSERT_TRUE((*kv)->write({{"a", "1"}}, true));
  }
  disk_.free = 5'000'000;
  auto kv = open();
  ASSERT_TRUE(kv) << kv.error().detail;
  EXPECT_FALSE(stdfs::exists(reserve()));
  EXPECT_EQ(**(*kv)->get("a"), "1");
  EXPECT_EQ((*kv)->write({{"b", "2"}}, true).error().code, ErrorCode::kFull);
  kv->reset();
  disk_.free = 1000;  // not even room to open
  EXPECT_EQ(open().error().code, ErrorCode::kFull);
}

TEST_F(RocksDbKeyValueTest, AStoreWithoutTheFileThatNamesTheOthersIsNotMadeAnew) {
  EXPECT_FALSE(*rocksdb_is_made(disk_, path_));
  {
    auto kv = open();
    ASSERT_TRUE(kv);
    ASSERT_TRUE((*kv)->write({{"a", "1"}}, true));
  }
  EXPECT_TRUE(*rocksdb_is_made(disk_, path_));
  stdfs::rename(path_ + "/CURRENT", directory_.path() + "/kept");
  EXPECT_EQ(rocksdb_is_made(disk_, path_).error().code, ErrorCode::kCorrupt);
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(refused.error().detail.find(path_), std::string::npos);
  EXPECT_FALSE(refused.error().remedy.empty());
  EXPECT_FALSE(stdfs::exists(path_ + "/CURRENT"));
  stdfs::rename(directory_.path() + "/kept", path_ + "/CURRENT");
  auto kv = open();
  ASSERT_TRUE(kv) << kv.error().detail;
  EXPECT_EQ(**(*kv)->get("a"), "1");
}

TEST_F(RocksDbKeyValueTest, WhatACrashLeavesOfMakingAStoreIsNoStore) {
  stdfs::create_directories(path_);
  for (const char* name : {"LOCK", "IDENTITY", "MANIFEST-000001", "000001.dbtmp"}) {
    std::ofstream(path_ + "/" + name) << "";
  }
  EXPECT_FALSE(*rocksdb_is_made(disk_, path_));
  EXPECT_TRUE(open());
}

TEST_F(RocksDbKeyValueTest, KillNineLosesNoWriteSyncedOrNot) {
  if (const auto path = ackline::testing::told_by_parent()) {
    path_ = *path;
    auto kv = open();
    for (int i = 0; kv && i < 1000; ++i) {
      if (!(*kv)->write({{"k" + std::to_string(i), "v"}}, false)) {
        ::_exit(1);
      }
    }
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_TRUE(WIFSIGNALED(ackline::testing::run_this_test_in_a_child(path_)));
  auto kv = open();
  ASSERT_TRUE(kv) << kv.error().detail;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE((*kv)->get("k" + std::to_string(i))->has_value()) << i;
  }
}

TEST_F(RocksDbKeyValueTest, ASecondProcessOnTheSameDirectoryIsRefused) {
  if (const auto path = ackline::testing::told_by_parent()) {
    path_ = *path;
    const auto second = open();
    ::_exit(!second && second.error().code == ErrorCode::kInUse ? 0 : 1);
  }
  auto kv = open();
  ASSERT_TRUE(kv);
  const int status = ackline::testing::run_this_test_in_a_child(path_);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(RocksDbKeyValueTest, AFlippedBitInATableIsCorruptAndNamesThePath) {
  {
    auto kv = open();
    ASSERT_TRUE(kv);
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE((*kv)->write({{"k" + std::to_string(i), std::string(1000, 'v')}}, false));
    }
  }
  {
    ASSERT_TRUE(open());
  }  // replays the log into tables
  const std::string table = largest(".sst");
  ASSERT_FALSE(table.empty());
  flip(table, 100);
  const auto kv = open();
  std::optional<Error> error;
  if (!kv) {
    error = kv.error();
  } else {
    for (int i = 0; i < 300 && !error; ++i) {
      const auto value = (*kv)->get("k" + std::to_string(i));
      if (!value) {
        error = value.error();
      } else {
        EXPECT_EQ(*value, std::string(1000, 'v'));
      }
    }
  }
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kCorrupt);
  EXPECT_NE(error->detail.find(path_), std::string::npos);
  EXPECT_FALSE(error->remedy.empty());
}

TEST_F(RocksDbKeyValueTest, AFlippedBitInTheMiddleOfTheLogIsCorruptAtOpen) {
  {
    auto kv = open();
    ASSERT_TRUE(kv);
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE((*kv)->write({{"k" + std::to_string(i), std::string(100, 'v')}}, true));
    }
  }
  const std::string log = largest(".log");
  ASSERT_FALSE(log.empty());
  flip(log, stdfs::file_size(log) / 2);
  const auto kv = open();
  ASSERT_FALSE(kv);
  EXPECT_EQ(kv.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(kv.error().detail.find(path_), std::string::npos);
}

TEST_F(RocksDbKeyValueTest, ATornLastWriteIsCutAway) {
  {
    auto kv = open();
    ASSERT_TRUE(kv);
    ASSERT_TRUE((*kv)->write({{"whole", "1"}}, true));
    ASSERT_TRUE((*kv)->write({{"torn", std::string(500, 'v')}}, false));
  }
  const std::string log = largest(".log");
  stdfs::resize_file(log, stdfs::file_size(log) - 10);
  auto kv = open();
  ASSERT_TRUE(kv) << kv.error().detail;
  EXPECT_EQ(**(*kv)->get("whole"), "1");
  EXPECT_EQ(*(*kv)->get("torn"), std::nullopt);
}

TEST_F(RocksDbKeyValueTest, AMissingTableIsCorruptAtOpen) {
  {
    auto kv = open();
    ASSERT_TRUE(kv);
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE((*kv)->write({{"k" + std::to_string(i), std::string(1000, 'v')}}, false));
    }
  }
  {
    ASSERT_TRUE(open());
  }
  stdfs::remove(largest(".sst"));
  const auto kv = open();
  ASSERT_FALSE(kv);
  EXPECT_EQ(kv.error().code, ErrorCode::kCorrupt) << kv.error().detail;
}

TEST_F(RocksDbKeyValueTest, APathThatIsNoDirectoryIsAnErrorThatNamesIt) {
  std::ofstream(path_) << "a file";
  const auto kv = open();
  ASSERT_FALSE(kv);
  EXPECT_EQ(kv.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(kv.error().detail.find(path_), std::string::npos);
}

TEST_F(RocksDbKeyValueTest, NoInfoLogIsWritten) {
  auto kv = open();
  ASSERT_TRUE(kv);
  EXPECT_FALSE(stdfs::exists(path_ + "/LOG"));
}

}  // namespace
}  // namespace ackline::io

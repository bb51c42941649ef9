#include "ackline/state/data_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>

#include "ackline/io/fs/memory_file_system.h"
#include "ackline/io/fs/posix_file_system.h"
#include "ackline/state/store_factory.h"
#include "tests/support/kv/temp_directory.h"
#include "tests/support/process/child.h"

namespace ackline::state {
namespace {

class DataDirectoryTest : public ::testing::Test {
 protected:
  Result<DataDirectory> open() {
    return DataDirectory::open(fs_, "data", {.entropy = [this] { return ++entropy_ * kOdd; }});
  }
  // In one copy, and then in both.
  void flip_each_bit(const std::string& path) {
    const std::string good = *fs_.contents(path);
    const auto flip = [&](std::size_t bit) {
      fs_.flip_bit(path, bit / 8, static_cast<unsigned>(bit % 8));
    };
    const std::size_t half = good.size() * 4;
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      flip(bit);
      {
        const auto opened = open();
        ASSERT_TRUE(opened) << path << " bit " << bit;
        EXPECT_EQ(opened->worn().size(), 1U);
      }
      flip(bit % half + (bit < half ? half : 0));
      const auto opened = open();
      EXPECT_FALSE(opened) << path << " bit " << bit;
      if (!opened) {
        EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
        EXPECT_NE(opened.error().detail.find(path), std::string::npos);
        EXPECT_FALSE(opened.error().remedy.empty());
      }
      flip(bit);
      flip(bit % half + (bit < half ? half : 0));
    }
    EXPECT_EQ(*fs_.contents(path), good);
    const std::string one_copy = good.substr(good.size() / 2);
    for (const std::string& worn : {one_copy, good.substr(0, 4), std::string()}) {
      ASSERT_TRUE(io::write_file_atomic(fs_, path, worn));
      auto opened = open();
      EXPECT_EQ(opened.has_value(), worn == one_copy) << path;
      if (opened) EXPECT_TRUE(opened->next_epoch());
    }
    ASSERT_TRUE(io::write_file_atomic(fs_, path, good));
  }

  static constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  io::MemoryFileSystem fs_;
  std::uint64_t entropy_ = 0;
};

TEST_F(DataDirectoryTest, SaltAndKeyAreMadeOnceAndKept) {
  std::uint32_t salt = 0;
  std::array<std::byte, 16> key{};
  {
    const auto first = open();
    ASSERT_TRUE(first) << first.error().detail;
    salt = first->salt();
    key = first->id_key();
    EXPECT_LT(salt, 1U << 20U);
    EXPECT_NE(key, (std::array<std::byte, 16>{}));
  }
  const auto again = open();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->salt(), salt);
  EXPECT_EQ(again->id_key(), key);
  io::MemoryFileSystem elsewhere;
  const auto other = DataDirectory::open(elsewhere, "data", {.entropy = [] { return 12345ULL; }});
  ASSERT_TRUE(other);
  EXPECT_NE(other->salt(), salt);
  EXPECT_NE(other->id_key(), key);
}

TEST_F(DataDirectoryTest, Invariant12TheBootEpochGrowsOverEveryKindOfDeathOnceItWasHandedOut) {
  Random random(1);
  std::uint32_t last = 0;
  for (int round = 0; round < 30; ++round) {
    {
      auto directory = open();
      ASSERT_TRUE(directory) << directory.error().detail;
      const auto epoch = directory->next_epoch();
      ASSERT_TRUE(epoch);
      EXPECT_GT(epoch->value(), last);
      last = epoch->value();
    }
    if (round % 2 == 0) {
      fs_.power_cut(random);
    } else {
      fs_.kill();
    }
  }
  EXPECT_EQ(last, 30U);
}

TEST_F(DataDirectoryTest, AFailedEpochWriteIsAnErrorAndTheEpochIsNotUsed) {
  auto directory = open();
  ASSERT_TRUE(directory);
  fs_.set_fault_hook(
      [](io::FsOperation operation, const std::string&) -> std::optional<io::FsFault> {
        if (operation == io::FsOperation::kSync) {
          return io::FsFault{Error{ErrorCode::kUnavailable, "EIO", {}, {}}, 0};
        }
        return std::nullopt;
      });
  EXPECT_FALSE(directory->next_epoch());
  fs_.set_fault_hook({});
  EXPECT_TRUE(directory->next_epoch());
}

TEST_F(DataDirectoryTest, APowerCutWhileItIsMadeLeavesADirectoryThatOpens) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    io::MemoryFileSystem disk;
    Random random(seed);
    int operations = static_cast<int>(random.below(40));
    disk.set_fault_hook([&](io::FsOperation, const std::string&) -> std::optional<io::FsFault> {
      return operations-- > 0
                 ? std::nullopt
                 : std::optional(io::FsFault{Error{ErrorCode::kUnavailable, "off", {}, {}}, 0});
    });
    const auto entropy = [&] { return random.next(); };
    (void)DataDirectory::open(disk, "data", {.entropy = entropy});
    disk.set_fault_hook({});
    disk.power_cut(random);
    auto after = DataDirectory::open(disk, "data", {.entropy = entropy});
    ASSERT_TRUE(after) << seed << ": " << after.error().detail;
    EXPECT_TRUE(after->next_epoch());
  }
}

TEST_F(DataDirectoryTest, AFlippedBitOfItsFilesIsMendedAndOneInBothCopiesIsCorrupt) {
  {
    ASSERT_TRUE(open());
  }
  for (const char* name : {"data/salt", "data/id.key", "data/epoch", "data/format"}) {
    flip_each_bit(name);
  }
}

TEST_F(DataDirectoryTest, AStartMakesWornFilesWholeAgain) {
  {
    ASSERT_TRUE(open());
  }
  std::map<std::string, std::string> good;
  for (const char* name : {"data/salt", "data/id.key", "data/format"}) {
    good[name] = *fs_.contents(name);
    fs_.flip_bit(name, 3, 1);
  }
  auto directory = open();
  ASSERT_TRUE(directory);
  for (const auto& [name, bytes] : good)
    EXPECT_NE(*fs_.contents(name), bytes) << "only a start writes";
  ASSERT_TRUE(directory->next_epoch());
  for (const auto& [name, bytes] : good) EXPECT_EQ(*fs_.contents(name), bytes);
  EXPECT_TRUE(directory->worn().empty());
}

TEST_F(DataDirectoryTest, AMissingFileOfACompleteDirectoryIsDamageNotAFreshStart) {
  {
    ASSERT_TRUE(open());
  }
  for (const char* name : {"data/salt", "data/id.key", "data/epoch"}) {
    const std::string good = *fs_.contents(name);
    ASSERT_TRUE(fs_.remove(name));
    EXPECT_EQ(open().error().code, ErrorCode::kCorrupt) << name;
    ASSERT_TRUE(io::write_file_atomic(fs_, name, good));
  }
  ASSERT_TRUE(fs_.remove("data/format"));
  ASSERT_TRUE(fs_.make_directories("data/journal"));
  EXPECT_EQ(open().error().code, ErrorCode::kCorrupt);
}

TEST_F(DataDirectoryTest, ANewerFormatIsRefusedByName) {
  {
    ASSERT_TRUE(open());
  }
  // "format", the number 2 as four bytes, its checksum.
  std::string line = "format 02000000 ";
  const std::string bytes("\x02\0\0\0", 4);
  std::string sum;
  for (int shift = 60; shift >= 0; shift -= 4) {
    sum +=
        "0123456789abcdef"[(checksum64(as_bytes(bytes), checksum64(as_bytes("format"))) >> shift) &
                           15U];
  }
  ASSERT_TRUE(io::write_file_atomic(fs_, "data/format", line + sum + "\n"));
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(opened.error().detail.find("format 2"), std::string::npos) << opened.error().detail;
}

TEST_F(DataDirectoryTest, TheAdminTokenIsMadeOnceAndAnOperatorsOwnIsTaken) {
  auto directory = open();
  ASSERT_TRUE(directory);
  const auto token = directory->admin_token();
  ASSERT_TRUE(token);
  EXPECT_EQ(token->size(), 43U);  // 32 bytes as base64url
  EXPECT_EQ(token->find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789-_"),
            std::string::npos);
  EXPECT_EQ(*directory->admin_token(), *token);
  ASSERT_TRUE(io::write_file_atomic(fs_, "data/admin.token", "a-token-of-my-own-1234\r\n"));
  EXPECT_EQ(*directory->admin_token(), "a-token-of-my-own-1234");
  for (const char* bad : {"", "\n", "short", "has a space in the middle"}) {
    ASSERT_TRUE(io::write_file_atomic(fs_, "data/admin.token", bad));
    EXPECT_EQ(directory->admin_token().error().code, ErrorCode::kCorrupt);
  }
}

TEST_F(DataDirectoryTest, MetaThatIsMissingBesideDataIsNotNew) {
  const auto directory = open();
  ASSERT_TRUE(directory);
  EXPECT_FALSE(*meta_is_made(fs_, *directory));
  ASSERT_TRUE(fs_.make_directories("data/meta"));
  ASSERT_TRUE(fs_.make_directories("data/log"));
  ASSERT_TRUE(fs_.make_directories("data/journal"));
  EXPECT_FALSE(*meta_is_made(fs_, *directory));  // a first start that was interrupted
  for (const std::string data : {"data/journal/1-0", "data/log/1"}) {
    ASSERT_TRUE(fs_.make_directories(data));
    const auto missing = meta_is_made(fs_, *directory);
    ASSERT_FALSE(missing) << data;
    EXPECT_EQ(missing.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(missing.error().detail.find("data/meta"), std::string::npos);
    EXPECT_FALSE(missing.error().remedy.empty());
    ASSERT_TRUE(fs_.remove_all(data));
  }
  ASSERT_TRUE(fs_.make_directories("data/journal/1-0"));
  ASSERT_TRUE(io::write_file_atomic(fs_, "data/meta/CURRENT", "MANIFEST-000005\n"));
  EXPECT_TRUE(*meta_is_made(fs_, *directory));
}

TEST_F(DataDirectoryTest, PathsLieBelowTheDirectory) {
  const auto directory = open();
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->meta_path(), "data/meta");
  EXPECT_EQ(directory->offsets_path(), "data/offsets");
  EXPECT_EQ(directory->log_path(), "data/log");
}

TEST(DataDirectoryOnDisk, ASecondProcessIsRefusedAndToldTheFirstOnesPid) {
  io::PosixFileSystem fs;
  const auto entropy = [] { return entropy_seed(); };
  if (const auto path = ackline::testing::told_by_parent()) {
    const auto second = DataDirectory::open(fs, *path, {.entropy = entropy});
    const bool right = !second && second.error().code == ErrorCode::kInUse &&
                       second.error().detail.find(std::to_string(::getppid())) != std::string::npos;
    ::_exit(right ? 0 : 1);
  }
  ackline::testing::TempDirectory temp;
  const std::string path = temp.path() + "/data";
  const auto first = DataDirectory::open(fs, path, {.entropy = entropy});
  ASSERT_TRUE(first) << first.error().detail;
  const int status = ackline::testing::run_this_test_in_a_child(path);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(DataDirectoryOnDisk, OnlyItsOwnerMayReadIt) {
  ackline::testing::TempDirectory temp;
  io::PosixFileSystem fs;
  const std::string path = temp.path() + "/data";
  auto directory = DataDirectory::open(fs, path, {.entropy = [] { return entropy_seed(); }});
  ASSERT_TRUE(directory);
  ASSERT_TRUE(directory->admin_token());
  const auto mode = [](const std::string& of) {
    struct stat info{};
    EXPECT_EQ(::stat(of.c_str(), &info), 0);
    return info.st_mode & 0777U;
  };
  EXPECT_EQ(mode(path), 0700U);
  for (const char* name : {"/salt", "/id.key", "/epoch", "/format", "/admin.token"}) {
    EXPECT_EQ(mode(path + name), 0600U) << name;
  }
}

}  // namespace
}  // namespace ackline::state

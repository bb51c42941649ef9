#include "ackline/runtime/data_parts.h"

#include <gtest/gtest.h>

#include "ackline/io/fs/memory_file_system.h"

namespace ackline::runtime {
namespace {

class DataPartsTest : public ::testing::Test {
 protected:
  void make(std::initializer_list<const char*> directories) {
    for (const char* one : directories) ASSERT_TRUE(fs_.make_directories(one));
  }
  // Their paths; each says what to do.
  std::vector<std::string> missing(const KnownParts& known) {
    const auto found = missing_parts(fs_, "/data", known);
    EXPECT_TRUE(found);
    std::vector<std::string> paths;
    for (const MissingPart& one : *found) {
      EXPECT_EQ(one.why.code, ErrorCode::kCorrupt);
      EXPECT_FALSE(one.why.remedy.empty());
      EXPECT_NE(one.why.detail.find(one.path), std::string::npos) << one.why.detail;
      paths.push_back(one.path);
    }
    return paths;
  }
  using Paths = std::vector<std::string>;
  io::MemoryFileSystem fs_;
};

TEST_F(DataPartsTest, WhatAFirstStartLeavesWhereverItEndsIsWhole) {
  EXPECT_EQ(missing({}), Paths());
  make({"/data"});
  EXPECT_EQ(missing({}), Paths());
  // The layout is in meta first, then the journals are made one by one.
  EXPECT_EQ(missing({2U, false, 0}), Paths());
  make({"/data/journal/2-0"});
  EXPECT_EQ(missing({2U, false, 0}), Paths());
  make({"/data/journal/2-1"});
  EXPECT_EQ(missing({2U, true, 3}), Paths());
  // A partition is in meta before it is on disk.
  make({"/data/log/1", "/data/log/2"});
  EXPECT_EQ(missing({2U, true, 5}), Paths());
}

TEST_F(DataPartsTest, WhatAChangedNumberOfShardsLeavesWhereverItEndsIsWhole) {
  make({"/data/journal/1-0", "/data/log/1"});
  make({"/data/journal/2-0"});
  EXPECT_EQ(missing({1U, true, 3}), Paths());
  make({"/data/journal/2-1"});
  EXPECT_EQ(missing({1U, true, 3}), Paths());
  EXPECT_EQ(missing({2U, true, 3}), Paths());
  ASSERT_TRUE(fs_.remove_all("/data/journal/1-0"));
  EXPECT_EQ(missing({2U, true, 3}), Paths());
}

TEST_F(DataPartsTest, AJournalOfTheLayoutThatIsNotThereIsMissingOnceThereIsATopic) {
  make({"/data/journal/2-1"});
  EXPECT_EQ(missing({2U, true, 3}), Paths({"/data/journal/2-0"}));
  ASSERT_TRUE(fs_.remove_all("/data/journal"));
  EXPECT_EQ(missing({2U, true, 3}), Paths({"/data/journal/2-0", "/data/journal/2-1"}));
}

TEST_F(DataPartsTest, MetaThatKnowsLessThanTheDiskLostRecords) {
  make({"/data/journal/1-0"});
  EXPECT_EQ(missing({}), Paths({"/data/meta"}));
  make({"/data/log/3", "/data/log/4"});
  EXPECT_EQ(missing({1U, true, 4}), Paths({"/data/meta"}));
  EXPECT_EQ(missing({1U, true, 5}), Paths());
}

TEST_F(DataPartsTest, WhatIsNotOursIsNoData) {
  make({"/data/log/lost+found", "/data/journal/lost+found"});
  EXPECT_EQ(missing({}), Paths());
}

}  // namespace
}  // namespace ackline::runtime

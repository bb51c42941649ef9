// The bytes of version 1, as files under tests/golden/segment: what was written once must be read
// for ever, and what is written now must not change unnoticed.
#include <cstdlib>

#include "ackline/io/fs/posix_file_system.h"
#include "ackline/log/local/doctor.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/records.h"
#include "tests/unit/log/log_fixture.h"

namespace ackline::log {
namespace {

class SegmentGolden : public LogTest {
 protected:
  static std::string golden(const std::string& name) {
    const std::string here = __FILE__;
    return here.substr(0, here.rfind("tests/")) + "tests/golden/segment/" + name;
  }

  // Two segments of partition 7 from offset 5 on: three events and one.
  void write() {
    options_.segment_bytes = 200;
    open(encode_section({Offset(5), Offset(5), {}}));
    append({"{\"n\":5}", ""}, WallMs(1764417600000));
    append({std::string(40, 'z')}, WallMs(1764417599000));
    append({"the next segment"}, WallMs(1764417601000));
    sync_journal();
    checkpoint();
  }

  void compare(const std::string& name, const std::string& bytes) {
    io::PosixFileSystem fs;
    if (std::getenv("ACKLINE_UPDATE_GOLDEN") != nullptr) {
      ASSERT_TRUE(fs.make_directories(golden("")));
      ASSERT_TRUE(io::write_file_atomic(fs, golden(name), bytes));
    }
    const Result<std::string> want = io::read_file(fs, golden(name));
    ASSERT_TRUE(want) << golden(name);
    EXPECT_EQ(bytes, *want) << name;
  }
};

TEST_F(SegmentGolden, TheWriterMakesTheSameBytesAsEver) {
  write();
  compare("00000000000000000005.log", *fs_->contents(file("00000000000000000005.log")));
  compare("00000000000000000005.idx", *fs_->contents(file("00000000000000000005.idx")));
  compare("publish.bin", std::get<std::string>(journal_[0]));
  compare("section.bin", *section_);
}

TEST_F(SegmentGolden, BothReadersReadThem) {
  write();
  io::PosixFileSystem disk;
  const auto load = [&](const std::string& name) { return *io::read_file(disk, golden(name)); };
  for (const char* name : {"00000000000000000005.log", "00000000000000000005.idx"}) {
    ASSERT_TRUE(io::write_file_atomic(*fs_, file(name), load(name)));
  }
  section_ = load("section.bin");
  ASSERT_TRUE(reopen());
  expect_model(Offset(5));
  EXPECT_EQ(log_->log_start(), Offset(5));
  EXPECT_EQ(log_->next_offset(), Offset(9));
  const Result<PartitionReport> report = examine_partition(*fs_, directory(), kNumber, *section_);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->problems.empty());
  EXPECT_EQ(report->events, 4);
  const auto info = LocalPartition::describe_publish(as_bytes(load("publish.bin")));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->base, Offset(5));
  EXPECT_EQ(info->events, 2U);
}

TEST(SegmentFormat, NamesAreTwentyDigitsAndReadBack) {
  EXPECT_EQ(format::segment_name(Offset(42)), "00000000000000000042.log");
  EXPECT_EQ(format::parse_segment_name("00000000000000000042.log"), Offset(42));
  EXPECT_EQ(format::parse_index_name("00000000000000000042.idx"), Offset(42));
  for (const char* name :
       {"0000000000000000042.log", "00000000000000000042.idx", "x", "", "0000000000000000004x.log",
        "-0000000000000000042.log", "99999999999999999999.log", "00000000000000000042.log.stray"}) {
    EXPECT_FALSE(format::parse_segment_name(name)) << name;
  }
  EXPECT_EQ(format::partition_directory("/data", PartitionNumber(12)), "/data/log/12");
}

TEST(SegmentFormat, AnIndexIsOfItsOwnSegmentOnly) {
  SegmentIndex index;
  const SegmentFacts facts{Offset(10), Offset(100), 50000, WallMs(900)};
  index.add({Offset(10), 32, kNoTime}, 8192);
  index.add({Offset(11), 532, WallMs(-4)}, 8192);
  index.add({Offset(40), 20000, WallMs(-4)}, 8192);
  index.add({Offset(80), 40000, WallMs(800)}, 8192);
  ASSERT_EQ(index.entries().size(), 3U);
  const std::string bytes = encode_index_file(PartitionNumber(3), facts, index);
  const Result<SegmentIndex> read = decode_index_file(PartitionNumber(3), facts, as_bytes(bytes));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->entries(), index.entries());
  EXPECT_FALSE(decode_index_file(PartitionNumber(4), facts, as_bytes(bytes)));
  SegmentFacts other = facts;
  other.length += 1;
  EXPECT_FALSE(decode_index_file(PartitionNumber(3), other, as_bytes(bytes)));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_index_file(PartitionNumber(3), facts, as_bytes(bytes.substr(0, size))));
  }
}

TEST(SegmentFormat, AnIndexFindsTheEntryAroundAnOffsetAndATime) {
  SegmentIndex index;
  index.add({Offset(10), 32, kNoTime}, 1);
  index.add({Offset(40), 20000, WallMs(500)}, 1);
  index.add({Offset(80), 40000, WallMs(800)}, 1);
  EXPECT_FALSE(index.before(Offset(9)));
  EXPECT_EQ(index.before(Offset(39))->position, 32U);
  EXPECT_EQ(index.before(Offset(40))->position, 20000U);
  EXPECT_EQ(index.after(Offset(40))->position, 40000U);
  EXPECT_FALSE(index.after(Offset(80)));
  EXPECT_EQ(index.before_time(WallMs(500))->position, 32U);
  EXPECT_EQ(index.before_time(WallMs(501))->position, 20000U);
  EXPECT_EQ(index.before_time(WallMs(9000))->position, 40000U);
  index.cut(Offset(40));
  EXPECT_EQ(index.entries().size(), 1U);
}

}  // namespace
}  // namespace ackline::log

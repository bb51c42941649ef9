#include "ackline/event/partitioner.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/unit/event/golden.h"

namespace ackline::event {
namespace {

TEST(Partitioner, Murmur2IsThatOfKafkasClient) {
  constexpr std::array<std::uint32_t, 6> kCounts = {1, 3, 4, 7, 16, 100};
  const Partitioner partitioner = Partitioner::make(PartitionerKind::kMurmur2).value();
  const auto rows = golden_rows("murmur2.tsv");
  ASSERT_GE(rows.size(), 190U);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 2 + kCounts.size());
    const std::string key = from_hex(row[0]);
    EXPECT_EQ(static_cast<std::int32_t>(murmur2(key)), std::stol(row[1])) << row[0];
    for (std::size_t i = 0; i < kCounts.size(); ++i) {
      EXPECT_EQ(partitioner.pick(key, kCounts[i]).value(), std::stoul(row[2 + i])) << row[0];
    }
  }
}

TEST(Partitioner, Phash2IsThatOfErlang) {
  constexpr std::array<std::uint32_t, 6> kCounts = {1, 3, 4, 7, 16, 100};
  const Partitioner partitioner = Partitioner::make(PartitionerKind::kPhash2).value();
  const auto rows = golden_rows("phash2.tsv");
  ASSERT_GE(rows.size(), 200U);
  std::array<bool, 40> lengths{};
  bool from_the_seed = false;
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 2 + kCounts.size());
    const std::string key = from_hex(row[0]);
    EXPECT_EQ(phash2(key), std::stoul(row[1])) << row[0];
    for (std::size_t i = 0; i < kCounts.size(); ++i) {
      EXPECT_EQ(partitioner.pick(key, kCounts[i]).value(), std::stoul(row[2 + i])) << row[0];
    }
    if (key.size() < lengths.size()) lengths[key.size()] = true;
    from_the_seed = from_the_seed || key == "EUR-EURIBOR-6M";
  }
  // Every length of a last block, after none, one and two whole ones.
  for (std::size_t i = 0; i < lengths.size(); ++i) EXPECT_TRUE(lengths[i]) << i;
  EXPECT_TRUE(from_the_seed);
}

TEST(Partitioner, NamesAreReadAndSuggested) {
  EXPECT_EQ(parse_partitioner("murmur2"), PartitionerKind::kMurmur2);
  EXPECT_EQ(parse_partitioner("phash2"), PartitionerKind::kPhash2);
  EXPECT_EQ(partitioner_name(PartitionerKind::kMurmur2), "murmur2");
  EXPECT_EQ(partitioner_name(PartitionerKind::kPhash2), "phash2");
  const auto bad = parse_partitioner("murmur");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().word(), "bad_value");
  EXPECT_EQ(bad.error().remedy, "Did you mean murmur2?");
}

TEST(Partitioner, OneThatThisBuildDoesNotHaveIsUnsupported) {
  const auto made = Partitioner::make(static_cast<PartitionerKind>(3));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().word(), "unsupported");
  EXPECT_NE(made.error().detail.find("number 3"), std::string::npos);
}

}  // namespace
}  // namespace ackline::event

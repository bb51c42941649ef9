#include "tests/conformance/key_value_suite.h"

namespace ackline::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, KeyValueSuite, ::testing::Values(&memory_kv_disk));
INSTANTIATE_TEST_SUITE_P(RocksDb, KeyValueSuite, ::testing::Values(&rocksdb_kv_disk));

TEST(MemoryKeyValue, AKilledProcessKeepsItsUnsyncedWritesAndItsHandleIsDead) {
  MemoryKeyValueDisk disk;
  auto first = disk.open();
  ASSERT_TRUE(first);
  ASSERT_TRUE((*first)->write({{"a", "1"}}, false));
  disk.kill();
  EXPECT_EQ((*first)->get("a").error().code, ErrorCode::kUnavailable);
  auto second = disk.open();
  ASSERT_TRUE(second);
  EXPECT_EQ(**(*second)->get("a"), "1");
}

TEST(MemoryKeyValue, APowerCutLosesOnlyATailOfUnsyncedWrites) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    MemoryKeyValueDisk disk;
    auto kv = disk.open();
    ASSERT_TRUE((*kv)->write({{"0", "x"}}, true));
    for (int i = 1; i <= 5; ++i) {
      ASSERT_TRUE((*kv)->write({{std::to_string(i), "x"}}, false));
    }
    Random random(seed);
    disk.power_cut(random);
    auto after = disk.open();
    std::string seen;
    ASSERT_TRUE((*after)->scan("", "", [&](std::string_view key, std::string_view) {
      seen += key;
      return true;
    }));
    EXPECT_TRUE(std::string("012345").starts_with(seen)) << seen;
    EXPECT_TRUE(seen.starts_with("0"));
  }
}

}  // namespace
}  // namespace ackline::testing

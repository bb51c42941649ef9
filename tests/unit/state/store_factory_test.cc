#include "ackline/state/store_factory.h"

#include <gtest/gtest.h>

#include "ackline/io/fs/posix_file_system.h"
#include "tests/support/kv/temp_directory.h"
#include "tests/support/manual_clock.h"

namespace ackline::state {
namespace {

class StoreFactoryTest : public ::testing::Test {
 protected:
  Result<Stores> open() {
    options_.meta_path = temp_.path() + "/meta";
    options_.offset_path = temp_.path() + "/offsets";
    return open_stores(fs_, clock_, options_);
  }
  ackline::testing::TempDirectory temp_;
  ackline::testing::ManualClock clock_;
  io::PosixFileSystem fs_;
  StoreOptions options_;
};

TEST_F(StoreFactoryTest, TheStoresThatItMakesKeepWhatTheyAreGiven) {
  const OffsetKey key{"t", "g", PartitionIndex(1)};
  const OffsetValue value{Incarnation(1), ProgressNumber(1), Generation(1), Offset(41)};
  {
    auto stores = open();
    ASSERT_TRUE(stores) << stores.error().detail;
    EXPECT_TRUE(*stores->offsets->write_offset(key, value));
    EXPECT_TRUE(stores->meta->put("/em/x", "1"));
    EXPECT_EQ(stores->offsets->name(), "offsets (rocksdb)");
    EXPECT_EQ(stores->subscriptions->name(), "subscriptions (meta)");
  }
  auto stores = open();
  ASSERT_TRUE(stores) << stores.error().detail;
  EXPECT_EQ(**stores->offsets->read_offset(key), value);
  EXPECT_EQ((*stores->meta->get("/em/x"))->value, "1");
}

TEST_F(StoreFactoryTest, AnUnknownTypeIsRefusedWithTheKnownOnes) {
  const auto refused = [&](std::string_view field, std::string_view known) {
    const auto stores = open();
    return !stores && stores.error().code == ErrorCode::kBadValue &&
           stores.error().field == field &&
           stores.error().detail.find("'zookeeper'") != std::string::npos &&
           stores.error().detail.find(known) != std::string::npos;
  };
  options_.meta_type = "zookeeper";
  EXPECT_TRUE(refused("meta.type", "local"));
  options_ = {};
  options_.offset_type = "zookeeper";
  EXPECT_TRUE(refused("offset.type", "rocksdb"));
  options_ = {};
  options_.delivery_type = "zookeeper";
  EXPECT_TRUE(refused("delivery.store", "journal, rocksdb"));
}

TEST_F(StoreFactoryTest, StoresInUseByAnotherProcessAreRefused) {
  const auto first = open();
  ASSERT_TRUE(first);
  EXPECT_EQ(open().error().code, ErrorCode::kInUse);
}

}  // namespace
}  // namespace ackline::state

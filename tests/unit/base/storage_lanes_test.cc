#include "ackline/base/storage_lanes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace ackline {
namespace {

TEST(StorageLanes, NoPurposeWaitsForAnother) {
  std::map<std::uint32_t, std::string> purposes;
  const auto add = [&purposes](std::uint32_t lane, const std::string& purpose) {
    const auto [at, fresh] = purposes.try_emplace(lane, purpose);
    EXPECT_EQ(at->second, purpose) << lane;
  };
  for (std::uint32_t i = 0; i < 1024; ++i) {
    add(storage_lane::journal_sync(ShardIndex{i}), "journal sync");
    add(storage_lane::journal_files(ShardIndex{i}), "journal files");
    add(storage_lane::checkpoint(ShardIndex{i}), "checkpoint");
    add(storage_lane::delivery_rows(ShardIndex{i}), "delivery rows");
    add(storage_lane::log_read(PartitionNumber{i}), "log read");
    add(storage_lane::replay_sift(PartitionNumber{i}), "replay sift");
  }
  add(storage_lane::meta(), "meta");
  add(storage_lane::offsets(), "offsets");
  add(storage_lane::audit(), "audit");
  add(storage_lane::recount(), "recount");
  add(storage_lane::disk_space(), "disk space");
  EXPECT_EQ(purposes.size(), 4U * 1024 + 2 * 64 + 5);
}

}  // namespace
}  // namespace ackline

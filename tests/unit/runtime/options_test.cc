// From configuration to options: what a key alone does not show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ackline/runtime/options_from_config.h"

namespace ackline::runtime {
namespace {

using ::testing::HasSubstr;

Result<Config> load(std::vector<std::string> definitions) {
  ConfigSources sources;
  sources.definitions = std::move(definitions);
  return Config::load(sources);
}

NodeOptions with_reserve(std::string_view reserve) {
  return node_options(load({"disk.reserve=" + std::string(reserve)}).value());
}

// The next journal file is made while publishing is refused already: it comes out of the reserve,
// beside settles and checkpoints.
TEST(Options, TheJournalsFilesFitTheDiskReserve) {
  for (const char* reserve : {"8MiB", "16MiB", "64MiB", "256MiB"}) {
    const ShardOptions shard = with_reserve(reserve).shard;
    EXPECT_EQ(shard.journal_file_bytes, shard.disk_reserve_bytes / 8) << reserve;
  }
  EXPECT_EQ(with_reserve("10GiB").shard.journal_file_bytes, ShardOptions().journal_file_bytes);
  EXPECT_EQ(with_reserve("1MiB").shard.journal_file_bytes, 1U << 20U);
}

TEST(Options, Invariant29TheTopologyIsLocalStickyPullAlsoWhenItIsBlank) {
  EXPECT_EQ(load({})->string("delivery.topology"), "LOCAL_STICKY_PULL");
  EXPECT_EQ(load({"delivery.topology="})->string("delivery.topology"), "LOCAL_STICKY_PULL");
}

TEST(Options, Invariant29AnUnknownTopologyIsRefusedWithKeyValueAndWhatIsAllowed) {
  const auto unknown = load({"delivery.topology=STICKY"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kBadValue);
  const std::string told = unknown.error().detail + " " + unknown.error().remedy;
  EXPECT_THAT(told, HasSubstr("delivery.topology"));
  EXPECT_THAT(told, HasSubstr("STICKY"));
  EXPECT_THAT(told, HasSubstr("LOCAL_STICKY_PULL"));
}

TEST(Options, Invariant29ATopologyThatThisBuildHasNotIsRefusedByName) {
  const auto owned = load({"delivery.topology=PARTITION_OWNED_PULL"});
  ASSERT_FALSE(owned);
  const std::string told = owned.error().detail + " " + owned.error().remedy;
  EXPECT_THAT(told, HasSubstr("delivery.topology"));
  EXPECT_THAT(told, HasSubstr("PARTITION_OWNED_PULL"));
  EXPECT_THAT(told, HasSubstr("LOCAL_STICKY_PULL"));
}

}  // namespace
}  // namespace ackline::runtime

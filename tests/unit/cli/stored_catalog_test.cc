// What the doctor says of a meta store in which single records are damaged.
#include <gmock/gmock.h>

#include <algorithm>

#include "ackline/base/clock.h"
#include "ackline/cli/stored_catalog.h"
#include "ackline/io/kv/rocksdb_key_value.h"
#include "ackline/meta/local/local_meta_store.h"
#include "tests/unit/cli/stopped_server.h"

namespace ackline::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class StoredCatalogTest : public StoppedServer {
 protected:
  void SetUp() override {
    start_server();
    publish(3);
    stop_server();
  }
  void put(const std::string& key, const std::string& value) {
    auto kv = io::open_rocksdb(fs_, meta_path());
    ASSERT_TRUE(kv) << kv.error().detail;
    const SystemClock clock;
    auto meta = meta::open_local_meta_store(**kv, clock);
    ASSERT_TRUE(meta) << meta.error().detail;
    ASSERT_TRUE((*meta)->put(key, value));
  }
  std::string meta_path() const { return path() + "/meta"; }
};

TEST_F(StoredCatalogTest, EveryRecordThatCannotBeReadIsToldAndTheOthersAreRead) {
  const std::string topic = std::string(runtime::kTopicsPrefix) + "torn";
  const std::string group = std::string(runtime::kGroupsPrefix) + "torn";
  put(topic, "x");
  put(group, "x");
  std::vector<BadRecord> bad;
  const auto catalog = read_stored_catalog(fs_, meta_path(), &bad);
  ASSERT_TRUE(catalog) << catalog.error().detail;
  EXPECT_TRUE(catalog->topics.contains("orders"));
  ASSERT_THAT(bad, SizeIs(2));
  EXPECT_EQ(bad[0].key, topic);
  EXPECT_EQ(bad[1].key, group);
  const auto strict = read_stored_catalog(fs_, meta_path());
  ASSERT_FALSE(strict) << "who acts on it wants all of it";
  EXPECT_THAT(strict.error().detail, HasSubstr(topic));

  const Examination found = examine_data_directory(fs_, path());
  for (const std::string& key : {topic, group}) {
    EXPECT_EQ(std::ranges::count(found.findings, key, &Finding::where), 1) << text_of(found);
  }
  EXPECT_EQ(found.worst(), FindingLevel::kDamage);
  EXPECT_THAT(text_of(found), HasSubstr("orders/0")) << "its partitions are looked at by name";
}

}  // namespace
}  // namespace ackline::cli

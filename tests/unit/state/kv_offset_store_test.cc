#include "ackline/state/backend/kv_offset_store.h"

#include "ackline/base/bytes.h"
#include "ackline/state/backend/sealed_value.h"
#include "tests/conformance/offset_store_suite.h"
#include "tests/support/kv/kv_backends.h"

namespace ackline::testing {
namespace {

// Owns the KeyValue under the store.
class KvHome final : public OffsetStoreHome {
 public:
  explicit KvHome(std::unique_ptr<KvDisk> disk) : disk_(std::move(disk)) {}
  Result<std::unique_ptr<state::OffsetStore>> open() override {
    kv_.reset();
    auto kv = disk_->open();
    if (!kv) {
      return fail(kv);
    }
    kv_ = std::move(*kv);
    return state::open_kv_offset_store(*kv_);
  }

 private:
  std::unique_ptr<KvDisk> disk_;
  std::unique_ptr<io::KeyValue> kv_;
};

std::unique_ptr<OffsetStoreHome> offsets_in_memory() {
  return std::make_unique<KvHome>(memory_kv_disk());
}
std::unique_ptr<OffsetStoreHome> offsets_on_rocksdb() {
  return std::make_unique<KvHome>(rocksdb_kv_disk());
}

INSTANTIATE_TEST_SUITE_P(Memory, OffsetStoreSuite, ::testing::Values(&offsets_in_memory));
INSTANTIATE_TEST_SUITE_P(RocksDb, OffsetStoreSuite, ::testing::Values(&offsets_on_rocksdb));

class KvOffsetStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { restart(); }
  void restart() {
    store_.reset();
    kv_.reset();
    kv_ = std::move(*disk_.open());
    auto opened = state::open_kv_offset_store(*kv_);
    ASSERT_TRUE(opened) << opened.error().detail;
    store_ = std::move(*opened);
  }
  Result<bool> write(std::int64_t frontier) {
    return store_->write_offset(
        kKey, {Incarnation(1), ProgressNumber(1), Generation(1), Offset(frontier)});
  }

  const state::OffsetKey kKey{"t", "g", PartitionIndex(0)};
  MemoryKeyValueDisk disk_;
  std::unique_ptr<io::KeyValue> kv_;
  std::unique_ptr<state::OffsetStore> store_;
};

TEST_F(KvOffsetStoreTest, Upstream5290AFailedWriteIsAnErrorAndTheOldValueStays) {
  ASSERT_TRUE(write(5));
  disk_.set_capacity(0);
  EXPECT_EQ(write(6).error().code, ErrorCode::kFull);
  EXPECT_FALSE(store_->health().ok);
  EXPECT_EQ((*store_->read_offset(kKey))->frontier, Offset(5));
  disk_.set_capacity(UINT64_MAX);
  EXPECT_TRUE(*write(6));
  EXPECT_TRUE(store_->health().ok);
}

TEST_F(KvOffsetStoreTest, AnOutageOnReadIsAnErrorNotNeverWritten) {
  ASSERT_TRUE(write(5));
  disk_.set_fault_hook([](KvOperation) {
    return std::optional(KvFault{Error{ErrorCode::kUnavailable, "away", {}, {}}, false});
  });
  EXPECT_EQ(store_->read_offset(kKey).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(write(1).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->read_all_offsets("").error().code, ErrorCode::kUnavailable);
}

TEST_F(KvOffsetStoreTest, APowerCutLosesAtMostWhatCameAfterTheLastFlush) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::int64_t base = static_cast<std::int64_t>(seed) * 10;
    ASSERT_TRUE(write(base));
    ASSERT_TRUE(store_->flush());
    ASSERT_TRUE(write(base + 1));
    ASSERT_TRUE(write(base + 2));
    Random random(seed);
    store_.reset();
    disk_.power_cut(random);
    restart();
    const Offset after = (*store_->read_offset(kKey))->frontier;
    EXPECT_GE(after, Offset(base));
    EXPECT_LE(after, Offset(base + 2));
  }
}

TEST_F(KvOffsetStoreTest, EveryFlippedBitIsCorruptAndNeverGuessed) {
  ASSERT_TRUE(write(123'456));
  const std::string good = **kv_->get("t#g#0");
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_TRUE(kv_->write({{"t#g#0", bad}}, true));
    const auto read = store_->read_offset(kKey);
    ASSERT_FALSE(read) << "bit " << bit;
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(read.error().detail.find("t#g#0"), std::string::npos);
    // It is not overwritten either: what was there is not known.
    EXPECT_EQ(write(999'999).error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(state::open_kv_offset_store(*kv_).error().code, ErrorCode::kCorrupt);
  }
}

TEST_F(KvOffsetStoreTest, ATruncatedValueIsCorrupt) {
  ASSERT_TRUE(write(1));
  const std::string good = **kv_->get("t#g#0");
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_TRUE(kv_->write({{"t#g#0", good.substr(0, size)}}, true));
    EXPECT_EQ(store_->read_offset(kKey).error().code, ErrorCode::kCorrupt);
  }
}

TEST_F(KvOffsetStoreTest, ANewerVersionIsRefusedByName) {
  ASSERT_TRUE(kv_->write({{"t#g#0", state::seal(3, "t#g#0", "whatever")}}, true));
  const auto read = store_->read_offset(kKey);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(read.error().detail.find("version 3"), std::string::npos);
}

TEST_F(KvOffsetStoreTest, ARecordFromBeforeProgressWasInItIsReadAndReplaced) {
  std::string fields;
  ByteWriter out(fields);
  out.u64(1);
  out.u32(4);
  out.u64(41);
  ASSERT_TRUE(kv_->write({{"t#g#0", state::seal(1, "t#g#0", fields)}}, true));
  const auto read = store_->read_offset(kKey);
  ASSERT_TRUE(read && *read);
  EXPECT_EQ(**read, (state::OffsetValue{Incarnation(1), {}, Generation(4), Offset(41)}));
  EXPECT_TRUE((*read)->is_of(Incarnation(1), ProgressNumber(7)));
  EXPECT_TRUE(*write(0));
  EXPECT_EQ((*store_->read_offset(kKey))->frontier, Offset(0));
}

TEST_F(KvOffsetStoreTest, AKeyThatWeDidNotWriteIsCorrupt) {
  for (const char* key : {"t", "t#g", "t#g#", "t#g#x", "t#g#007", "t#g#1#2", "t#g#99999999999"}) {
    ASSERT_TRUE(kv_->write({{key, "x"}}, true));
    EXPECT_EQ(store_->read_all_offsets("").error().code, ErrorCode::kCorrupt) << key;
    ASSERT_TRUE(kv_->write({{key, std::nullopt}}, true));
  }
}

}  // namespace
}  // namespace ackline::testing

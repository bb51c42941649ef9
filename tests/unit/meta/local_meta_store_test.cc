#include "ackline/meta/local/local_meta_store.h"

#include "ackline/meta/local/local_record.h"
#include "tests/conformance/meta_store_suite.h"

namespace ackline::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(LocalInMemory, MetaStoreSuite, ::testing::Values(&local_meta_in_memory));
INSTANTIATE_TEST_SUITE_P(LocalOnRocksDb, MetaStoreSuite, ::testing::Values(&local_meta_on_rocksdb));

// The local store over the model's disk, with its faults at hand.
class LocalMetaStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { restart(); }
  void restart() {
    store_.reset();
    kv_.reset();
    kv_ = std::move(*disk_.open());
    auto opened = meta::open_local_meta_store(*kv_, clock_);
    ASSERT_TRUE(opened) << opened.error().detail;
    store_ = std::move(*opened);
  }
  void fail_writes(ErrorCode code, bool applied) {
    disk_.set_fault_hook([=](KvOperation operation) -> std::optional<KvFault> {
      if (operation != KvOperation::kWrite) {
        return std::nullopt;
      }
      return KvFault{Error{code, "injected", {}, {}}, applied};
    });
  }

  ManualClock clock_;
  MemoryKeyValueDisk disk_;
  std::unique_ptr<io::KeyValue> kv_;
  std::unique_ptr<meta::LocalMetaStore> store_;
};

TEST_F(LocalMetaStoreTest, WhatWasAnsweredSurvivesAPowerCut) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto revision = store_->put("a", std::to_string(seed));
    ASSERT_TRUE(revision);
    Random random(seed);
    store_.reset();
    disk_.power_cut(random);
    restart();
    EXPECT_EQ((*store_->get("a"))->value, std::to_string(seed));
    EXPECT_EQ((*store_->get("a"))->revision, *revision);
  }
}

TEST_F(LocalMetaStoreTest, AnOutageIsAnErrorNeverAnEmptyAnswer) {
  ASSERT_TRUE(store_->put("a", "1"));
  disk_.set_fault_hook([](KvOperation) {
    return std::optional(KvFault{Error{ErrorCode::kUnavailable, "away", {}, {}}, false});
  });
  EXPECT_EQ(store_->get("a").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->get_with_prefix("").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->put("a", "2").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->try_acquire("a", "1", "2", {}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->remove("a").error().code, ErrorCode::kUnavailable);
  disk_.set_fault_hook({});
  EXPECT_EQ((*store_->get("a"))->value, "1");
}

TEST_F(LocalMetaStoreTest, AFullDiskRefusesTheWriteAndTellsNoWatch) {
  int events = 0;
  auto watching = store_->watch("", [&](const meta::WatchEvent&) { ++events; });
  ASSERT_TRUE(watching);
  disk_.set_capacity(0);
  EXPECT_EQ(store_->put("a", "1").error().code, ErrorCode::kFull);
  EXPECT_EQ(events, 0);
  EXPECT_FALSE(*store_->get("a"));
  disk_.set_capacity(UINT64_MAX);
  EXPECT_TRUE(store_->put("a", "1"));
  EXPECT_EQ(events, 1);
}

TEST_F(LocalMetaStoreTest, Invariant27TheRevisionOfAnAmbiguousWriteIsNeverGivenAgain) {
  ASSERT_TRUE(store_->put("a", "1"));
  fail_writes(ErrorCode::kAmbiguous, true);
  EXPECT_EQ(store_->put("a", "2").error().code, ErrorCode::kAmbiguous);
  disk_.set_fault_hook({});
  const auto there = store_->get("a");
  ASSERT_TRUE(there && *there);
  EXPECT_EQ((*there)->value, "2");
  EXPECT_GT(*store_->put("b", "1"), (*there)->revision);
}

TEST_F(LocalMetaStoreTest, RecordsOfADeadProcessesSessionsAreGoneAfterARestart) {
  const auto session = store_->open_session(1'000'000);
  ASSERT_TRUE(store_->put("tied", "1", *session));
  const auto free = store_->put("free", "1");
  restart();
  EXPECT_FALSE(*store_->get("tied"));
  EXPECT_TRUE(*store_->get("free"));
  EXPECT_GT(*store_->put("x", ""), *free);
}

TEST_F(LocalMetaStoreTest, EveryFlippedBitIsCorruptOrRefusedByNameAtOpen) {
  ASSERT_TRUE(store_->put("key", "value"));
  store_.reset();
  for (const char* raw_key : {"r", "kkey"}) {
    const std::string good = **kv_->get(raw_key);
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      ASSERT_TRUE(kv_->write({{raw_key, bad}}, true));
      const auto opened = meta::open_local_meta_store(*kv_, clock_);
      ASSERT_FALSE(opened) << raw_key << " bit " << bit;
      EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
      EXPECT_NE(opened.error().detail.find(std::string_view(raw_key) == "r" ? "'r'" : "'key'"),
                std::string::npos);
    }
    ASSERT_TRUE(kv_->write({{raw_key, good}}, true));
  }
  EXPECT_TRUE(meta::open_local_meta_store(*kv_, clock_));
}

TEST_F(LocalMetaStoreTest, AValueUnderAnotherKeyIsCorrupt) {
  ASSERT_TRUE(store_->put("one", "value"));
  ASSERT_TRUE(kv_->write({{"ktwo", **kv_->get("kone")}}, true));
  EXPECT_EQ(store_->get("two").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(store_->get_with_prefix("t").error().code, ErrorCode::kCorrupt);
}

TEST_F(LocalMetaStoreTest, ALostRevisionRecordIsCorruptNotAFreshStart) {
  ASSERT_TRUE(store_->put("a", "1"));
  store_.reset();
  ASSERT_TRUE(kv_->write({{"r", std::nullopt}}, true));
  EXPECT_EQ(meta::open_local_meta_store(*kv_, clock_).error().code, ErrorCode::kCorrupt);
}

TEST_F(LocalMetaStoreTest, AWatchMayOutliveTheStore) {
  auto watching = store_->watch("", [](const meta::WatchEvent&) {});
  ASSERT_TRUE(watching);
  store_.reset();
  watching->reset();
}

}  // namespace
}  // namespace ackline::testing

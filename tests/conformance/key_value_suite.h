// What every KeyValue does. Include in one source of a test binary and instantiate with a factory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/kv/kv_backends.h"

namespace ackline::testing {

class KeyValueSuite : public ::testing::TestWithParam<KvDiskFactory> {
 protected:
  void SetUp() override { reopen(); }
  void reopen() {
    kv_.reset();
    auto opened = disk_->open();
    ASSERT_TRUE(opened) << opened.error().detail;
    kv_ = std::move(*opened);
  }
  void put(std::string key, std::string value) {
    const auto written = kv_->write({{std::move(key), std::move(value)}}, false);
    ASSERT_TRUE(written) << written.error().detail;
  }
  std::optional<std::string> get(std::string_view key) {
    auto value = kv_->get(key);
    EXPECT_TRUE(value);
    return value ? *value : std::nullopt;
  }
  std::vector<std::string> keys(std::string_view prefix, std::string_view from = {}) {
    std::vector<std::string> out;
    EXPECT_TRUE(kv_->scan(prefix, from, [&](std::string_view key, std::string_view) {
      out.emplace_back(key);
      return true;
    }));
    return out;
  }

  std::unique_ptr<KvDisk> disk_ = GetParam()();
  std::unique_ptr<io::KeyValue> kv_;
};

TEST_P(KeyValueSuite, AMissingKeyAndAnEmptyValueDiffer) {
  put("empty", "");
  EXPECT_EQ(get("empty"), std::optional<std::string>(""));
  EXPECT_EQ(get("missing"), std::nullopt);
}

TEST_P(KeyValueSuite, KeysAndValuesMayHoldAnyBytes) {
  const std::string key("\0k\xff", 3);
  const std::string value("\0\n\xff\x80", 4);
  put(key, value);
  EXPECT_EQ(get(key), value);
}

TEST_P(KeyValueSuite, AScanIsInByteOrderFromWhereItIsToldAndStaysBelowItsPrefix) {
  for (const char* key : {"b2", "a", "b1", "b", "c", "b\xff"}) {
    put(key, "v");
  }
  EXPECT_EQ(keys("b"), (std::vector<std::string>{"b", "b1", "b2", "b\xff"}));
  EXPECT_EQ(keys("b", "b1"), (std::vector<std::string>{"b1", "b2", "b\xff"}));
  EXPECT_EQ(keys("b", "a"), (std::vector<std::string>{"b", "b1", "b2", "b\xff"}));
  EXPECT_EQ(keys("b", "c"), std::vector<std::string>{});
  EXPECT_EQ(keys("").size(), 6U);
}

TEST_P(KeyValueSuite, AScanStopsWhenItsVisitorSaysSo) {
  put("a", "1");
  put("b", "2");
  int seen = 0;
  EXPECT_TRUE(kv_->scan("", "", [&](std::string_view, std::string_view) {
    ++seen;
    return false;
  }));
  EXPECT_EQ(seen, 1);
}

TEST_P(KeyValueSuite, AScanSeesOneMomentAlthoughItsVisitorWrites) {
  put("a", "1");
  put("c", "3");
  std::vector<std::string> seen;
  EXPECT_TRUE(kv_->scan("", "", [&](std::string_view key, std::string_view) {
    seen.emplace_back(key);
    put("b", "2");
    return true;
  }));
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(keys("").size(), 3U);
}

TEST_P(KeyValueSuite, ABatchPutsAndRemovesInOrderTheLastWriteOfAKeyCounts) {
  put("gone", "x");
  ASSERT_TRUE(kv_->write(
      {{"gone", std::nullopt}, {"twice", "1"}, {"twice", "2"}, {"back", "1"}, {"back", {}}}, true));
  EXPECT_EQ(get("gone"), std::nullopt);
  EXPECT_EQ(get("twice"), "2");
  EXPECT_EQ(get("back"), std::nullopt);
}

TEST_P(KeyValueSuite, WritesAreThereAfterReopening) {
  put("unsynced", "1");
  ASSERT_TRUE(kv_->write({{"synced", "2"}}, true));
  ASSERT_TRUE(kv_->flush());
  reopen();
  EXPECT_EQ(get("unsynced"), "1");
  EXPECT_EQ(get("synced"), "2");
}

TEST_P(KeyValueSuite, ASecondOpenIsRefusedAsInUse) {
  const auto second = disk_->open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
}

TEST_P(KeyValueSuite, ManyThreadsWriteAndReadAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string key = "k" + std::to_string(t) + "-" + std::to_string(i);
        EXPECT_TRUE(kv_->write({{key, key}}, i % 10 == 0));
        EXPECT_EQ(get(key), key);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(keys("k").size(), 200U);
}

}  // namespace ackline::testing

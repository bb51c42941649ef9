#include "ackline/meta/caching_meta_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/kv/meta_backends.h"

namespace ackline::meta {
namespace {

using ackline::testing::ManualClock;
using ackline::testing::MemoryKeyValueDisk;

// Another store as seen over a network that can fail: its watches can be lost, its reads refused.
class RemoteView final : public MetaStore {
 public:
  explicit RemoteView(MetaStore& behind) : behind_(behind) {}
  bool away = false;
  // Runs in the middle of the next prefix read, after the data was taken.
  std::function<void()> during_read;

  void lose_watches() {
    const std::vector<WatchCallback> lost = std::exchange(callbacks_, {});
    passing_ = false;
    for (const WatchCallback& callback : lost) {
      callback({WatchEvent::Kind::kLost, {}});
    }
  }

  using MetaStore::put;
  Result<std::optional<Entry>> get(std::string_view key) override { return behind_.get(key); }
  Result<PrefixRead> get_with_prefix(std::string_view prefix) override {
    if (away) {
      return fail(ErrorCode::kUnavailable, "meta is away");
    }
    auto read = behind_.get_with_prefix(prefix);
    if (during_read) {
      std::exchange(during_read, {})();
    }
    return read;
  }
  Result<Revision> put(std::string_view key, std::string_view value, SessionId session) override {
    return behind_.put(key, value, session);
  }
  Result<Written> put_if_absent(std::string_view key, std::string_view value,
                                SessionId session) override {
    return behind_.put_if_absent(key, value, session);
  }
  Result<Written> try_acquire(std::string_view key, std::optional<std::string_view> expected,
                              std::string_view value, SessionId session) override {
    return behind_.try_acquire(key, expected, value, session);
  }
  Result<Written> remove(std::string_view key) override { return behind_.remove(key); }
  Result<Written> commit(const Transaction& transaction) override {
    return behind_.commit(transaction);
  }
  Result<std::unique_ptr<Watch>> watch(std::string_view prefix, WatchCallback callback) override {
    if (away) {
      return fail(ErrorCode::kUnavailable, "meta is away");
    }
    callbacks_.push_back(callback);
    passing_ = true;
    return behind_.watch(prefix, [this, callback](const WatchEvent& event) {
      if (passing_) {
        callback(event);
      }
    });
  }
  Result<SessionId> open_session(std::uint64_t ttl_ms) override {
    return behind_.open_session(ttl_ms);
  }
  Result<void> keep_alive(SessionId session) override { return behind_.keep_alive(session); }
  Result<void> close_session(SessionId session) override { return behind_.close_session(session); }

 private:
  MetaStore& behind_;
  std::vector<WatchCallback> callbacks_;
  std::atomic<bool> passing_ = false;
};

class CachingMetaStoreTest : public ::testing::Test {
 protected:
  using Cache = CachingMetaStore<std::string, int>;
  void SetUp() override {
    kv_ = std::move(*disk_.open());
    local_ = std::move(*open_local_meta_store(*kv_, clock_));
    remote_ = std::make_unique<RemoteView>(*local_);
    cache_ = std::make_unique<Cache>(
        *remote_, clock_, "c/",
        CacheCodec<std::string, int>{
            [](std::string_view key) { return Result<std::string>(std::string(key)); },
            [](const std::string&, std::string_view value) -> Result<int> {
              return value.starts_with('x') ? Result<int>(fail(ErrorCode::kCorrupt, "not a number"))
                                            : Result<int>(std::stoi(std::string(value)));
            }},
        Cache::Hooks{[this] { ++lost_; },
                     [this](const std::string& key, const Cached<int>* now) {
                       told_ += (now != nullptr ? "+" : "-") + key;
                     }});
  }
  void put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(local_->put("c/" + key, value));
  }
  std::string content() {
    std::string out;
    cache_->for_each([&](const std::string& key, const Cached<int>& cached) {
      out += key + std::to_string(cached.value);
      return true;
    });
    return out;
  }

  ManualClock clock_;
  MemoryKeyValueDisk disk_;
  std::unique_ptr<io::KeyValue> kv_;
  std::unique_ptr<LocalMetaStore> local_;
  std::unique_ptr<RemoteView> remote_;
  int lost_ = 0;
  std::string told_;
  std::unique_ptr<Cache> cache_;
};

TEST_F(CachingMetaStoreTest, IsFilledByAReadAndKeptByTheWatch) {
  put("a", "1");
  ASSERT_TRUE(cache_->refresh());
  EXPECT_EQ(content(), "a1");
  put("b", "2");
  put("a", "3");
  EXPECT_EQ(content(), "a3b2");
  ASSERT_TRUE(local_->remove("c/a"));
  EXPECT_EQ(content(), "b2");
  EXPECT_EQ(told_, "+a+b+a-a");
  EXPECT_EQ(cache_->age_ms(), 0U);
}

TEST_F(CachingMetaStoreTest, ALostWatchIsRebuiltByReadingAgain) {
  put("a", "1");
  put("b", "1");
  ASSERT_TRUE(cache_->refresh());
  remote_->lose_watches();
  EXPECT_EQ(lost_, 1);
  put("b", "2");
  put("c", "3");
  ASSERT_TRUE(local_->remove("c/a"));
  clock_.advance(70);
  EXPECT_EQ(content(), "a1b1");  // what was known, with its age
  EXPECT_EQ(cache_->age_ms(), 70U);
  told_.clear();
  ASSERT_TRUE(cache_->refresh());
  EXPECT_EQ(content(), "b2c3");
  EXPECT_EQ(told_, "-a+b+c");
  EXPECT_EQ(cache_->age_ms(), 0U);
}

TEST_F(CachingMetaStoreTest, ReadsGoOnDuringAnOutageAndItsAgeGrows) {
  put("a", "1");
  ASSERT_TRUE(cache_->refresh());
  remote_->lose_watches();
  remote_->away = true;
  clock_.advance(50);
  EXPECT_EQ(cache_->refresh().error().code, ErrorCode::kUnavailable);
  clock_.advance(50);
  EXPECT_EQ(content(), "a1");
  EXPECT_EQ(cache_->age_ms(), 100U);
  remote_->away = false;
  ASSERT_TRUE(cache_->refresh());
  EXPECT_EQ(cache_->age_ms(), 0U);
  put("a", "2");
  EXPECT_EQ(content(), "a2");
}

TEST_F(CachingMetaStoreTest, WritesDuringTheReadAreNeitherLostNorUndone) {
  put("a", "1");
  put("b", "1");
  remote_->during_read = [this] {
    put("a", "2");
    ASSERT_TRUE(local_->remove("c/b"));
    put("c", "3");
  };
  ASSERT_TRUE(cache_->refresh());
  EXPECT_EQ(content(), "a2c3");
}

TEST_F(CachingMetaStoreTest, AWatchLostDuringTheReadFailsTheRefreshAndIsRepeated) {
  put("a", "1");
  remote_->during_read = [this] {
    remote_->lose_watches();
    put("a", "2");
  };
  EXPECT_EQ(cache_->refresh().error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(cache_->refresh());
  EXPECT_EQ(content(), "a2");
}

TEST_F(CachingMetaStoreTest, OnesOwnOldWriteDoesNotUndoANewerEvent) {
  ASSERT_TRUE(cache_->refresh());
  const auto first = local_->put("c/a", "1");
  put("a", "2");
  cache_->note_put("a", 1, *first);
  EXPECT_EQ(content(), "a2");
  const auto second = local_->put("c/a", "3");
  ASSERT_TRUE(local_->remove("c/a"));
  cache_->note_put("a", 3, *second);
  EXPECT_EQ(content(), "");
}

TEST_F(CachingMetaStoreTest, OnesOwnWriteIsThereAtOnce) {
  ASSERT_TRUE(cache_->refresh());
  remote_->lose_watches();
  const auto revision = local_->put("c/a", "1");
  cache_->note_put("a", 1, *revision);
  EXPECT_EQ(content(), "a1");
  const auto removed = local_->remove("c/a");
  cache_->note_remove("a", removed->revision);
  EXPECT_EQ(content(), "");
}

TEST_F(CachingMetaStoreTest, ADamagedRecordFailsTheReadNamingItsKey) {
  put("bad", "x");
  const auto refreshed = cache_->refresh();
  ASSERT_FALSE(refreshed);
  EXPECT_EQ(refreshed.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(refreshed.error().detail.find("c/bad"), std::string::npos);
}

TEST_F(CachingMetaStoreTest, ADamagedRecordSeenByTheWatchTakesTheKeyOutAndIsCounted) {
  put("a", "1");
  ASSERT_TRUE(cache_->refresh());
  put("a", "x");
  EXPECT_EQ(content(), "");
  EXPECT_EQ(cache_->unreadable_count(), 1U);
  put("a", "2");
  EXPECT_EQ(content(), "a2");
}

TEST_F(CachingMetaStoreTest, ManyRemovalsAreForgottenWithoutBringingAKeyBack) {
  ASSERT_TRUE(cache_->refresh());
  Revision first;
  for (int i = 0; i < 5000; ++i) {
    const auto written = local_->put("c/" + std::to_string(i), "1");
    first = i == 0 ? *written : first;
    ASSERT_TRUE(local_->remove("c/" + std::to_string(i)));
  }
  cache_->note_put("0", 1, first);
  EXPECT_EQ(content(), "");
}

TEST_F(CachingMetaStoreTest, EndsUpAsMetaIsAfterManyThreadsWroteWhileItWasRefreshed) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string key = "c/" + std::to_string((i * 7 + t) % 20);
        if (i % 3 == 2) {
          EXPECT_TRUE(local_->remove(key));
        } else {
          EXPECT_TRUE(local_->put(key, std::to_string(i)));
        }
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(cache_->refresh());
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::string direct;
  for (const Entry& entry : local_->get_with_prefix("c/")->entries) {
    direct += entry.key.substr(2) + entry.value;
  }
  EXPECT_EQ(content(), direct);
}

}  // namespace
}  // namespace ackline::meta

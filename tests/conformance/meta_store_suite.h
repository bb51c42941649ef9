// What every MetaStore does. Include in one source of a test binary and instantiate with a factory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/kv/meta_backends.h"

namespace ackline::testing {

class MetaStoreSuite : public ::testing::TestWithParam<MetaServiceFactory> {
 protected:
  meta::MetaStore& store() { return service_->store(); }
  std::optional<std::string> value(std::string_view key) {
    const auto entry = store().get(key);
    EXPECT_TRUE(entry);
    return entry && *entry ? std::optional((*entry)->value) : std::nullopt;
  }
  meta::Revision put(std::string_view key, std::string_view text, meta::SessionId session = {}) {
    const auto revision = store().put(key, text, session);
    EXPECT_TRUE(revision);
    return revision ? *revision : meta::Revision();
  }
  // A watch that writes down what it sees: "+key=value", "-key".
  std::unique_ptr<meta::Watch> watch(std::string_view prefix, std::vector<std::string>& log) {
    auto made = store().watch(prefix, [&log](const meta::WatchEvent& event) {
      if (event.kind == meta::WatchEvent::Kind::kPut) {
        log.push_back("+" + event.entry.key + "=" + event.entry.value);
      } else if (event.kind == meta::WatchEvent::Kind::kRemove) {
        log.push_back("-" + event.entry.key);
      } else {
        log.push_back("lost");
      }
    });
    EXPECT_TRUE(made);
    return made ? std::move(*made) : nullptr;
  }

  std::unique_ptr<MetaService> service_ = GetParam()();
};

TEST_P(MetaStoreSuite, AMissingKeyAndAnEmptyValueDiffer) {
  EXPECT_EQ(value("a"), std::nullopt);
  put("a", "");
  EXPECT_EQ(value("a"), "");
}

TEST_P(MetaStoreSuite, EveryWriteHasAHigherRevisionAndReadsReturnIt) {
  const auto first = put("a", "1");
  const auto second = put("b", "1");
  const auto third = put("a", "2");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_EQ((*store().get("a"))->revision, third);
  EXPECT_EQ((*store().get("b"))->revision, second);
}

TEST_P(MetaStoreSuite, Invariant27RevisionsOnlyGrowOverRemovalsAndRestarts) {
  put("a", "1");
  const auto removed = store().remove("a");
  ASSERT_TRUE(removed && removed->done);
  service_->restart();
  const auto after = put("a", "2");
  EXPECT_GT(after, removed->revision);
}

TEST_P(MetaStoreSuite, RecordsSurviveARestart) {
  const auto revision = put("/em/x", std::string("\0bytes\xff", 7));
  service_->restart();
  const auto entry = store().get("/em/x");
  ASSERT_TRUE(entry && *entry);
  EXPECT_EQ((*entry)->value, std::string("\0bytes\xff", 7));
  EXPECT_EQ((*entry)->revision, revision);
}

TEST_P(MetaStoreSuite, APrefixReadIsInOrderAndSaysAsOfWhichRevision) {
  put("p/b", "2");
  put("p/a", "1");
  const auto last = put("q", "3");
  const auto read = store().get_with_prefix("p/");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->entries.size(), 2U);
  EXPECT_EQ(read->entries[0].key, "p/a");
  EXPECT_EQ(read->entries[1].value, "2");
  EXPECT_GE(read->as_of, last);
  EXPECT_TRUE(store().get_with_prefix("zzz")->entries.empty());
}

TEST_P(MetaStoreSuite, PutIfAbsentWritesOnceAndShowsTheLoserWhatIsThere) {
  const auto first = store().put_if_absent("a", "1", {});
  const auto second = store().put_if_absent("a", "2", {});
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(first->done);
  EXPECT_FALSE(second->done);
  EXPECT_EQ(second->revision, first->revision);
  EXPECT_EQ(value("a"), "1");
}

TEST_P(MetaStoreSuite, TryAcquireComparesTheValueAndTellsAbsentFromEmpty) {
  EXPECT_FALSE(store().try_acquire("a", "", "x", {})->done);
  EXPECT_TRUE(store().try_acquire("a", std::nullopt, "", {})->done);
  EXPECT_FALSE(store().try_acquire("a", std::nullopt, "x", {})->done);
  EXPECT_TRUE(store().try_acquire("a", "", "x", {})->done);
  EXPECT_FALSE(store().try_acquire("a", "y", "z", {})->done);
  EXPECT_EQ(value("a"), "x");
}

TEST_P(MetaStoreSuite, RemovingIsDoneOnlyWhenTheKeyWasThere) {
  put("a", "1");
  EXPECT_TRUE(store().remove("a")->done);
  EXPECT_FALSE(store().remove("a")->done);
  EXPECT_EQ(value("a"), std::nullopt);
}

TEST_P(MetaStoreSuite, ATransactionComparesARevisionAndWritesOthersUnderOneRevision) {
  const auto owner = put("owner", "me");
  meta::Transaction transaction{{{"owner", owner}, {"new", meta::Revision()}},
                                {{"new", "1", {}}, {"other", "2", {}}}};
  const auto done = store().commit(transaction);
  ASSERT_TRUE(done && done->done);
  EXPECT_EQ((*store().get("new"))->revision, done->revision);
  EXPECT_EQ((*store().get("other"))->revision, done->revision);
}

TEST_P(MetaStoreSuite, Invariant27AStaleOwnersTransactionWritesNothing) {
  const auto stale = put("owner", "old");
  const auto current = put("owner", "new");
  const auto fenced = store().commit({{{"owner", stale}}, {{"a", "1", {}}, {"b", "2", {}}}});
  ASSERT_TRUE(fenced);
  EXPECT_FALSE(fenced->done);
  EXPECT_EQ(fenced->revision, current);
  EXPECT_EQ(value("a"), std::nullopt);
  EXPECT_EQ(value("b"), std::nullopt);
}

TEST_P(MetaStoreSuite, ATransactionMayRemove) {
  put("a", "1");
  ASSERT_TRUE(store().commit({{}, {{"a", std::nullopt, {}}, {"b", "2", {}}}})->done);
  EXPECT_EQ(value("a"), std::nullopt);
  EXPECT_EQ(value("b"), "2");
}

TEST_P(MetaStoreSuite, TooLargeTransactionsAreRefusedWhole) {
  meta::Transaction many;
  for (std::size_t i = 0; i <= meta::kTransactionMaxOperations; ++i) {
    many.writes.push_back({"k" + std::to_string(i), "v", {}});
  }
  EXPECT_EQ(store().commit(many).error().code, ErrorCode::kTooLarge);
  const meta::Transaction big{{}, {{"k0", std::string(meta::kTransactionMaxBytes, 'v'), {}}}};
  EXPECT_EQ(store().commit(big).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(value("k0"), std::nullopt);
}

TEST_P(MetaStoreSuite, OneOfManyThatRegisterAtOnceWins) {
  for (int round = 0; round < 5; ++round) {
    const std::string key = "race" + std::to_string(round);
    std::atomic<int> won = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const auto outcome = store().put_if_absent(key, std::to_string(t), {});
        won += outcome && outcome->done ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(won, 1);
  }
}

TEST_P(MetaStoreSuite, ACounterRaisedByCompareAndSetFromManyThreadsLosesNoStep) {
  put("counter", "0");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int done = 0; done < 25;) {
        const std::string now = *value("counter");
        const std::string next = std::to_string(std::stoi(now) + 1);
        const auto outcome = store().try_acquire("counter", now, next, {});
        done += outcome && outcome->done ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(value("counter"), "100");
}

TEST_P(MetaStoreSuite, AWatchSeesTheLaterWritesBelowItsPrefixInOrder) {
  put("p/before", "0");
  std::vector<std::string> log;
  const auto watching = watch("p/", log);
  put("p/a", "1");
  put("other", "x");
  put("p/a", "2");
  ASSERT_TRUE(store().remove("p/a"));
  ASSERT_TRUE(store().remove("p/missing"));
  ASSERT_TRUE(store().try_acquire("p/b", "nope", "3", {}));
  EXPECT_EQ(log, (std::vector<std::string>{"+p/a=1", "+p/a=2", "-p/a"}));
}

TEST_P(MetaStoreSuite, AWatchSeesWritesOfManyThreadsInRevisionOrder) {
  std::vector<meta::Revision> seen;  // callbacks run one at a time
  auto watching = store().watch(
      "w/", [&](const meta::WatchEvent& event) { seen.push_back(event.entry.revision); });
  ASSERT_TRUE(watching);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        put("w/" + std::to_string(t), std::to_string(i));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  watching->reset();
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST_P(MetaStoreSuite, AnEndedWatchIsCalledNoMoreAndMayEndItself) {
  std::vector<std::string> log;
  auto watching = watch("p/", log);
  put("p/a", "1");
  watching.reset();
  put("p/a", "2");
  EXPECT_EQ(log.size(), 1U);

  std::unique_ptr<meta::Watch> self;
  int calls = 0;
  auto made = store().watch("s/", [&](const meta::WatchEvent&) {
    ++calls;
    self.reset();
  });
  ASSERT_TRUE(made);
  self = std::move(*made);
  put("s/a", "1");
  put("s/a", "2");
  EXPECT_EQ(calls, 1);
}

TEST_P(MetaStoreSuite, AWatchCallbackMayWriteToTheStore) {
  std::vector<std::string> log;
  const auto watching = watch("out/", log);
  auto relay = store().watch("in/", [&](const meta::WatchEvent& event) {
    put("out/" + event.entry.value, event.entry.value);
  });
  ASSERT_TRUE(relay);
  put("in/a", "1");
  put("in/a", "2");
  EXPECT_EQ(log, (std::vector<std::string>{"+out/1=1", "+out/2=2"}));
}

TEST_P(MetaStoreSuite, ASessionsRecordsGoWhenItIsNotKeptAlive) {
  const auto session = store().open_session(1000);
  ASSERT_TRUE(session);
  put("tied", "1", *session);
  put("free", "1");
  std::vector<std::string> log;
  const auto watching = watch("", log);
  service_->advance(900);
  ASSERT_TRUE(store().keep_alive(*session));
  service_->advance(900);
  EXPECT_EQ(value("tied"), "1");
  service_->advance(200);
  EXPECT_EQ(value("tied"), std::nullopt);
  EXPECT_EQ(value("free"), "1");
  EXPECT_EQ(store().keep_alive(*session).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store().put("tied", "2", *session).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(log, (std::vector<std::string>{"-tied"}));
}

TEST_P(MetaStoreSuite, ClosingASessionEndsItNowAndTwiceIsFine) {
  const auto session = store().open_session(1000);
  ASSERT_TRUE(session);
  put("tied", "1", *session);
  ASSERT_TRUE(store().close_session(*session));
  EXPECT_EQ(value("tied"), std::nullopt);
  EXPECT_TRUE(store().close_session(*session));
}

TEST_P(MetaStoreSuite, ARecordWrittenAgainWithoutASessionOutlivesIt) {
  const auto session = store().open_session(1000);
  ASSERT_TRUE(session);
  put("a", "1", *session);
  put("a", "2");
  ASSERT_TRUE(store().close_session(*session));
  EXPECT_EQ(value("a"), "2");
}

}  // namespace ackline::testing

// What every SubscriptionStore does. Include once and instantiate.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ackline/state/subscription_store.h"

namespace ackline::testing {

class SubscriptionHome {
 public:
  virtual ~SubscriptionHome() = default;
  // Stores of two instances that share what is behind them.
  [[nodiscard]] virtual state::SubscriptionStore& store() = 0;
  [[nodiscard]] virtual state::SubscriptionStore& other() = 0;
  virtual void restart() = 0;
};
using SubscriptionFactory = std::unique_ptr<SubscriptionHome> (*)();

class SubscriptionStoreSuite : public ::testing::TestWithParam<SubscriptionFactory> {
 protected:
  state::SubscriptionStore& store() { return home_->store(); }
  static state::Subscription subscription(std::string topic, std::string client) {
    state::Subscription out;
    out.topic = std::move(topic);
    out.client_id = std::move(client);
    out.group = "g";
    out.incarnation = Incarnation(2);
    out.number = ClientNumber(77);
    out.mode = "CLUSTERING";
    out.principal = "alice";
    out.instance = "host:10105";
    out.partitions = {PartitionIndex(0), PartitionIndex(3)};
    out.max_in_flight = 1000;
    out.max_in_flight_bytes = 64ULL << 20U;
    out.ack_timeout_ms = 30'000;
    out.max_lease_ms = 600'000;
    out.filter = R"({"exact":{"type":"a"}})";
    out.webhook = "";
    out.created_at = WallMs(1'790'000'000'000);
    out.last_seen_at = WallMs(1'790'000'000'001);
    return out;
  }
  meta::Revision put(const state::Subscription& value, meta::Revision expected = {}) {
    const auto written = store().put(value, expected);
    EXPECT_TRUE(written && written->done);
    return written ? written->revision : meta::Revision();
  }
  static std::string clients(const std::vector<state::StoredSubscription>& targets) {
    std::string out;
    for (const state::StoredSubscription& target : targets) {
      out += target.subscription.client_id + " ";
    }
    return out;
  }

  std::unique_ptr<SubscriptionHome> home_ = GetParam()();
};

TEST_P(SubscriptionStoreSuite, WhatWasPutIsReadWithItsRevisionAndAllItsFields) {
  const auto value = subscription("orders", "c1");
  const auto revision = put(value);
  const auto read = store().read("orders", "c1");
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->subscription, value);
  EXPECT_EQ((*read)->revision, revision);
  EXPECT_FALSE(*store().read("orders", "c2"));
}

TEST_P(SubscriptionStoreSuite, OfTwoThatRegisterOneClientAtOnceOneWinsAndTheOtherSeesIt) {
  std::atomic<int> won = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto value = subscription("orders", "c1");
      value.instance = "host" + std::to_string(t);
      const auto written = store().put(value, {});
      EXPECT_TRUE(written);
      won += written && written->done ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(won, 1);
}

TEST_P(SubscriptionStoreSuite, AnUpdateNamesTheRevisionItReadOrChangesNothing) {
  const auto first = put(subscription("orders", "c1"));
  auto changed = subscription("orders", "c1");
  changed.max_in_flight = 5;
  const auto second = put(changed, first);
  const auto stale = store().put(subscription("orders", "c1"), first);
  ASSERT_TRUE(stale);
  EXPECT_FALSE(stale->done);
  EXPECT_EQ(stale->revision, second);
  EXPECT_EQ((*store().read("orders", "c1"))->subscription.max_in_flight, 5U);
}

TEST_P(SubscriptionStoreSuite, TargetsAreThoseOfTheTopicThatMatch) {
  put(subscription("orders", "c2"));
  put(subscription("orders", "c1"));
  put(subscription("orders.eu", "c3"));
  EXPECT_EQ(clients(store().targets_for("orders", nullptr)), "c1 c2 ");
  EXPECT_EQ(clients(store().targets_for(
                "orders", [](const state::Subscription& s) { return s.client_id == "c2"; })),
            "c2 ");
  EXPECT_TRUE(store().targets_for("missing", nullptr).empty());
  EXPECT_EQ(store().topics(), (std::vector<std::string>{"orders", "orders.eu"}));
}

TEST_P(SubscriptionStoreSuite, TheInstanceOfAClientIsThatOfItsNewestSubscription) {
  EXPECT_EQ(store().instance_of("c1"), std::nullopt);
  auto first = subscription("a", "c1");
  first.instance = "one";
  auto second = subscription("b", "c1");
  second.instance = "two";
  put(second);
  put(first);
  EXPECT_EQ(store().instance_of("c1"), "one");
  ASSERT_TRUE(store().remove("a", "c1")->done);
  EXPECT_EQ(store().instance_of("c1"), "two");
  ASSERT_TRUE(store().remove("b", "c1")->done);
  EXPECT_EQ(store().instance_of("c1"), std::nullopt);
}

TEST_P(SubscriptionStoreSuite, AnotherInstanceSeesChanges) {
  put(subscription("orders", "c1"));
  EXPECT_EQ(clients(home_->other().targets_for("orders", nullptr)), "c1 ");
  EXPECT_EQ(home_->other().instance_of("c1"), "host:10105");
  ASSERT_TRUE(store().remove("orders", "c1"));
  EXPECT_TRUE(home_->other().targets_for("orders", nullptr).empty());
  EXPECT_EQ(home_->other().cache_age_ms(), 0U);
}

TEST_P(SubscriptionStoreSuite, RemovingIsDoneOnlyWhenItWasThere) {
  put(subscription("orders", "c1"));
  EXPECT_TRUE(store().remove("orders", "c1")->done);
  EXPECT_FALSE(store().remove("orders", "c1")->done);
  EXPECT_TRUE(store().topics().empty());
}

TEST_P(SubscriptionStoreSuite, SubscriptionsSurviveARestart) {
  const auto value = subscription("orders", "c1");
  put(value);
  home_->restart();
  EXPECT_EQ(clients(store().targets_for("orders", nullptr)), "c1 ");
  EXPECT_EQ(store().instance_of("c1"), "host:10105");
  EXPECT_EQ((*store().read("orders", "c1"))->subscription, value);
}

TEST_P(SubscriptionStoreSuite, NamesThatCouldMakeOneKeyLookLikeAnotherAreRefused) {
  for (const char* name : {"", "a/b", "a#b", "a@b"}) {
    EXPECT_EQ(store().put(subscription(name, "c"), {}).error().code, ErrorCode::kBadName);
    EXPECT_EQ(store().put(subscription("t", name), {}).error().code, ErrorCode::kBadName);
    EXPECT_EQ(store().read(name, "c").error().code, ErrorCode::kBadName);
    EXPECT_EQ(store().remove("t", name).error().code, ErrorCode::kBadName);
  }
}

TEST_P(SubscriptionStoreSuite, AClosedStoreAnswersUnavailable) {
  ASSERT_TRUE(store().flush());
  ASSERT_TRUE(store().close());
  EXPECT_TRUE(store().close());
  EXPECT_EQ(store().put(subscription("t", "c"), {}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store().read("t", "c").error().code, ErrorCode::kUnavailable);
}

}  // namespace ackline::testing

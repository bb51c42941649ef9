#include "ackline/runtime/plans.h"

#include <gtest/gtest.h>

#include "ackline/runtime/removals.h"

namespace ackline::runtime {
namespace {

class Plans : public testing::Test {
 protected:
  // Plans the change and takes it into the catalog, as the control plane does.
  Result<Plan> run(Control::Planner planner) {
    auto plan = planner(catalog, numbers);
    if (plan) {
      for (const Change& change : plan->delta) catalog.apply(change);
    }
    return plan;
  }
  TopicPtr make_topic(const std::string& name, std::uint32_t partitions = 2) {
    api::TopicCreate request;
    request.name = name;
    request.partitions = partitions;
    auto out = std::make_shared<TopicPtr>();
    EXPECT_TRUE(run(plan_topic(options, request, false, WallMs(7), out)));
    return *out;
  }
  Result<SubscribeOutcome> subscribe(api::SubscribeRequest request, SubscribeFacts facts = {}) {
    const auto name = group_of(request, catalog);
    if (!facts.group && name) facts.group = catalog.group(request.topic, *name);
    if (facts.start.empty()) facts.start = {{0, Offset(5)}, {1, Offset(0)}};
    auto out = std::make_shared<SubscribeOutcome>();
    auto plan =
        run(plan_subscribe(options, std::move(request), std::move(facts), WallMs(1000), out));
    if (!plan) return fail(plan);
    return *out;
  }
  static api::TopicCreate request_for(const std::string& name) {
    api::TopicCreate one;
    one.name = name;
    return one;
  }
  static api::SubscribeRequest request(const std::string& client, const std::string& topic) {
    api::SubscribeRequest one;
    one.client_id = client;
    one.topic = topic;
    return one;
  }

  NodeOptions options;
  Catalog catalog;
  Numbers numbers;
};

TEST_F(Plans, EachTopicGetsNumbersThatNoOtherHad) {
  const TopicPtr first = make_topic("a");
  Plan gone;
  plan_remove_topic(catalog, *first, gone);
  for (const Change& change : gone.delta) catalog.apply(change);
  const TopicPtr second = make_topic("a");
  EXPECT_NE(first->incarnation, second->incarnation);
  for (const PartitionNumber number : second->partitions) {
    EXPECT_EQ(std::ranges::find(first->partitions, number), first->partitions.end());
    EXPECT_EQ(std::ranges::find(first->dead_letters, number), first->dead_letters.end());
  }
}

TEST_F(Plans, AnExistingTopicIsKeptByUseAndRefusedByCreate) {
  const TopicPtr made = make_topic("a");
  auto out = std::make_shared<TopicPtr>();
  ASSERT_TRUE(run(plan_topic(options, request_for("a"), true, WallMs(8), out)));
  EXPECT_EQ(*out, made);
  EXPECT_EQ(made->created_at, WallMs(7));
  const auto refused = run(plan_topic(options, request_for("a"), false, WallMs(8), out));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
}

TEST_F(Plans, Invariant4TheStartIsResolvedOnceAndStays) {
  make_topic("a");
  auto first = subscribe(request("c1", "a"));
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->answer.created);
  EXPECT_EQ(first->answer.group, "default");
  EXPECT_EQ(first->answer.start.at(0), Offset(5));
  SubscribeFacts later;
  later.start = {{0, Offset(50)}, {1, Offset(50)}};
  auto second = subscribe(request("c2", "a"), later);
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->answer.created);
  EXPECT_EQ(second->answer.start.at(0), Offset(5));
}

TEST_F(Plans, APolicyThatDiffersIsAConflictWhileOthersLive) {
  make_topic("a");
  ASSERT_TRUE(subscribe(request("c1", "a")));
  auto want = request("c2", "a");
  want.max_attempts = 9;
  SubscribeFacts facts;
  facts.others_live = true;
  auto refused = subscribe(want, facts);
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->answer.conflicts.size(), 1U);
  EXPECT_EQ(refused->answer.conflicts[0].key, "maxAttempts");
  EXPECT_EQ(refused->answer.conflicts[0].have_json, "6");
  EXPECT_EQ(refused->answer.conflicts[0].want_json, "9");
  facts.others_live = false;
  auto taken = subscribe(want, facts);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->answer.conflicts.empty());
  EXPECT_EQ(catalog.group("a", "default")->policy.max_attempts, 9U);
}

TEST_F(Plans, FactsOfAGroupThatCameOrChangedSinceAreGatheredAgain) {
  make_topic("a");
  const auto plan_with = [this](SubscribeFacts facts) {
    facts.start = {{0, Offset(0)}, {1, Offset(0)}};
    auto out = std::make_shared<SubscribeOutcome>();
    auto want = request("c2", "a");
    want.max_attempts = 9;
    const auto plan =
        plan_subscribe(options, want, std::move(facts), WallMs(1000), out)(catalog, numbers);
    EXPECT_TRUE(plan);
    EXPECT_EQ(plan->delta.empty(), out->look_again);
    return out->look_again;
  };
  ASSERT_TRUE(subscribe(request("c1", "a")));
  SubscribeFacts facts;
  EXPECT_TRUE(plan_with(facts));  // it was not there
  facts.group = catalog.group("a", "default");
  EXPECT_FALSE(plan_with(facts));
  auto want = request("c1", "a");
  want.max_attempts = 7;
  ASSERT_TRUE(subscribe(want));
  EXPECT_TRUE(plan_with(facts));  // it had another policy
  catalog.apply(RemoveGroup{"a", "default"});
  EXPECT_TRUE(plan_with(facts));  // it is gone
}

TEST_F(Plans, OrderingChangesOnlyWithNothingInFlight) {
  make_topic("a");
  ASSERT_TRUE(subscribe(request("c1", "a")));
  auto want = request("c1", "a");
  want.ordering = delivery::Ordering::kKey;
  SubscribeFacts facts;
  facts.in_flight = 1;
  EXPECT_EQ(subscribe(want, facts)->answer.conflicts.size(), 1U);
  facts.in_flight = 0;
  EXPECT_TRUE(subscribe(want, facts)->answer.conflicts.empty());
}

TEST_F(Plans, OneSubscriptionPerTopicAndClient) {
  make_topic("a");
  ASSERT_TRUE(subscribe(request("c1", "a")));
  auto other = request("c1", "a");
  other.group = "another";
  const auto refused = subscribe(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAlreadySubscribed);
}

TEST_F(Plans, ABroadcastClientIsItsOwnGroupAndEndsWithIt) {
  make_topic("a");
  auto broadcast = request("b1", "a");
  broadcast.mode = delivery::Mode::kBroadcasting;
  ASSERT_TRUE(subscribe(broadcast));
  ASSERT_NE(catalog.group("a", "b1"), nullptr);
  broadcast.group = "shared";
  EXPECT_FALSE(subscribe(broadcast));
  Plan plan;
  plan_unsubscribe(catalog, *catalog.subscription("a", "b1"), WallMs(5), plan);
  for (const Change& change : plan.delta) catalog.apply(change);
  EXPECT_EQ(catalog.group("a", "b1"), nullptr);
  EXPECT_EQ(catalog.subscription("a", "b1"), nullptr);
}

TEST_F(Plans, ABroadcastClientThatHasAGroupsNameIsAConflict) {
  make_topic("a");
  auto one = request("c1", "a");
  one.group = "billing";
  ASSERT_TRUE(subscribe(one));
  auto broadcast = request("billing", "a");
  broadcast.mode = delivery::Mode::kBroadcasting;
  const auto refused = subscribe(broadcast);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kGroupConflict);
}

TEST_F(Plans, Invariant30TheLastClientOfAGroupMarksItEmpty) {
  make_topic("a");
  ASSERT_TRUE(subscribe(request("c1", "a")));
  ASSERT_TRUE(subscribe(request("c2", "a")));
  for (const char* client : {"c1", "c2"}) {
    EXPECT_EQ(catalog.group("a", "default")->empty_since, WallMs{0});
    Plan plan;
    plan_unsubscribe(catalog, *catalog.subscription("a", client), WallMs(77), plan);
    for (const Change& change : plan.delta) catalog.apply(change);
  }
  EXPECT_EQ(catalog.group("a", "default")->empty_since, WallMs(77));
  ASSERT_TRUE(subscribe(request("c3", "a")));
  EXPECT_EQ(catalog.group("a", "default")->empty_since, WallMs{0});
}

TEST_F(Plans, Invariant31ATopicTakesItsGroupsSubscriptionsAndLanesAlong) {
  const TopicPtr topic = make_topic("a");
  ASSERT_TRUE(subscribe(request("c1", "a")));
  auto lane = std::make_shared<Lane>();
  lane->number = ProgressNumber(numbers.progress++);
  lane->topic = "a";
  lane->group_number = catalog.group("a", "default")->number;
  catalog.apply(LanePtr(lane));
  Plan plan;
  plan_remove_topic(catalog, *topic, plan);
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_FALSE(plan.writes.front().value);  // the topic's own record first: the tombstone
  for (const Change& change : plan.delta) catalog.apply(change);
  EXPECT_EQ(catalog.topic_count() + catalog.group_count() + catalog.subscription_count(), 0U);
  EXPECT_TRUE(catalog.lanes().empty());
  EXPECT_FALSE(catalog.place(topic->partitions[0]));
}

TEST_F(Plans, LimitsAreSaid) {
  options.topics_max = 1;
  make_topic("a");
  auto out = std::make_shared<TopicPtr>();
  const auto refused = run(plan_topic(options, request_for("b"), true, WallMs(8), out));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kRateLimited);
  EXPECT_NE(refused.error().remedy.find("limits.topics"), std::string::npos);
}

}  // namespace
}  // namespace ackline::runtime

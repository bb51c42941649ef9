#include "ackline/runtime/sessions.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/manual_executor.h"

namespace ackline::runtime {
namespace {

// One home shard with a client on a topic of two partitions; what it asks of owners is written
// down.
class SessionsTest : public ::testing::Test {
 protected:
  SessionsTest()
      : ids(5, {}),
        sessions({.home = ShardIndex(0), .shards = 1}, executor, catalog, ids, links()) {
    auto topic = std::make_shared<Topic>();
    topic->name = "t";
    topic->partitions = {PartitionNumber(1), PartitionNumber(3)};
    topic->dead_letters = {PartitionNumber(2), PartitionNumber(4)};
    catalog.apply(TopicPtr(topic));
    auto group = std::make_shared<Group>();
    group->number = ProgressNumber(9);
    group->topic = "t";
    group->name = "g";
    catalog.apply(GroupPtr(group));
    auto one = std::make_shared<Subscription>();
    one->topic = "t";
    one->client_id = "c";
    one->group = "g";
    one->number = ClientNumber(7);
    one->max_in_flight = 50;
    subscription = one;
    catalog.apply(SubscriptionPtr(one));
    sessions.adopt({SubscriptionPtr(one)});
  }

  OwnerLink links() {
    OwnerLink link;
    link.set_window = [this](ShardIndex, ClientNumber, std::uint32_t events, std::uint64_t) {
      said.push_back(fmt::format("window {}", events));
    };
    link.set_demand = [this](ShardIndex, ClientNumber, std::uint32_t events) {
      said.push_back(events == delivery::Dispatcher::kUnlimited ? "demand all"
                                                                : fmt::format("demand {}", events));
    };
    link.connected = [this](ShardIndex, ClientNumber) { said.emplace_back("connected"); };
    link.disconnected = [this](ShardIndex, ClientNumber) { said.emplace_back("disconnected"); };
    link.withdraw = [this](ShardIndex, delivery::DeliveryId id) {
      said.push_back(fmt::format("withdraw {}", id.offset.value()));
    };
    link.when_offered = [this](ShardIndex, Task done) { rounds.push_back(std::move(done)); };
    return link;
  }

  delivery::Offer offer(std::int64_t offset) {
    delivery::Offer one;
    one.client = ClientNumber(7);
    one.group = ProgressNumber(9);
    one.partition = PartitionNumber(1);
    one.offset = Offset(offset);
    one.id = {Epoch(1), ProgressNumber(9), PartitionIndex(0), Offset(offset), 0, 1};
    return one;
  }

  void poll(std::uint32_t max, std::int64_t timeout_ms) {
    number = sessions.poll("c", "10.0.0.1:1", max, timeout_ms,
                           [this](Result<std::vector<channel::Delivery>> got) {
                             ++answers;
                             outcome = std::move(got);
                           });
  }

  ackline::testing::ManualExecutor executor;
  Catalog catalog;
  delivery::DeliveryIdCodec ids;
  std::vector<std::string> said;
  std::vector<Task> rounds;
  Sessions sessions;
  SubscriptionPtr subscription;
  int answers = 0;
  std::uint64_t number = 0;
  Result<std::vector<channel::Delivery>> outcome;
};

TEST_F(SessionsTest, Invariant20TheClientsCreditIsLentToTheOwners) {
  EXPECT_EQ(said, (std::vector<std::string>{"window 50"}));
}

TEST_F(SessionsTest, APollAsksForWhatItTakesAndStopsWhenItHasSomething) {
  said.clear();
  poll(10, 1000);
  EXPECT_EQ(said, (std::vector<std::string>{"demand 10"}));
  sessions.on_offers({offer(0), offer(1)});
  ASSERT_EQ(answers, 1);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->size(), 2U);
  EXPECT_EQ((*outcome)[0].topic, "t");
  EXPECT_EQ(said.back(), "demand 0");
}

TEST_F(SessionsTest, Invariant14WhatAPollCannotTakeIsWithdrawn) {
  poll(1, 1000);
  sessions.on_offers({offer(0), offer(1)});
  EXPECT_EQ(outcome->size(), 1U);
  EXPECT_NE(std::ranges::find(said, "withdraw 1"), said.end());
}

TEST_F(SessionsTest, APollEndsEmptyAfterItsTime) {
  poll(10, 1000);
  executor.advance(999);
  EXPECT_EQ(answers, 0);
  executor.advance(1);
  EXPECT_EQ(answers, 0) << "the owners may have something on its way";
  ASSERT_EQ(rounds.size(), 1U);
  rounds[0]();
  ASSERT_EQ(answers, 1);
  EXPECT_TRUE(outcome && outcome->empty());
  EXPECT_EQ(executor.timers(), 0U);
}

TEST_F(SessionsTest, APollTakesWhatWasOnItsWayWhenItsTimeWasOver) {
  poll(10, 0);
  executor.advance(0);
  sessions.on_offers({offer(0)});
  ASSERT_EQ(answers, 1);
  EXPECT_EQ(outcome->size(), 1U);
  rounds.at(0)();
  EXPECT_EQ(answers, 1);
}

TEST_F(SessionsTest, APollEndsAlthoughAnOwnerDoesNotAnswer) {
  poll(10, 0);
  executor.advance(0);
  executor.advance(1'000);
  EXPECT_EQ(answers, 1);
}

TEST_F(SessionsTest, Invariant14AnOfferForAPollThatWentAwayIsWithdrawn) {
  poll(10, 1000);
  sessions.cancel_poll("c", number);
  EXPECT_TRUE(answers == 1 && outcome && outcome->empty());  // its peer may have half a connection
  sessions.on_offers({offer(3)});
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(said.back(), "withdraw 3");
  EXPECT_EQ(executor.timers(), 0U);
}

TEST_F(SessionsTest, APollBesideAStreamIsRefusedAndAStreamReplacesAStream) {
  std::vector<channel::EndReason> ends;
  StreamEnd end{[](std::vector<channel::Delivery>) {},
                [&ends](channel::EndReason reason) { ends.push_back(reason); }};
  ASSERT_TRUE(sessions.open_stream("c", end));
  EXPECT_EQ(said.back(), "demand all");
  poll(1, 0);
  ASSERT_EQ(answers, 1);
  EXPECT_EQ(outcome.error().code, ErrorCode::kStreamOpen);
  ASSERT_TRUE(sessions.open_stream("c", end));
  EXPECT_EQ(ends, (std::vector{channel::EndReason::kReplaced}));
}

TEST_F(SessionsTest, TheAddressOfAClientIsItsChannelsElseItsLastCalls) {
  const auto remote = [this] { return sessions.views().front().remote; };
  EXPECT_EQ(remote(), "");
  sessions.seen("c", "10.0.0.9:1");
  EXPECT_EQ(remote(), "10.0.0.9:1");
  StreamEnd end{[](std::vector<channel::Delivery>) {}, [](channel::EndReason) {}, "10.0.0.9:2"};
  const auto stream = sessions.open_stream("c", end);
  ASSERT_TRUE(stream);
  sessions.seen("c", "10.0.0.9:3");  // acks come by another connection
  EXPECT_EQ(remote(), "10.0.0.9:2");
  sessions.close_stream("c", *stream);
  EXPECT_EQ(remote(), "10.0.0.9:2");
  poll(1, 1000);
  EXPECT_EQ(remote(), "10.0.0.1:1");
}

TEST_F(SessionsTest, AStreamThatBreaksIsADisconnect) {
  StreamEnd end{[](std::vector<channel::Delivery>) {}, [](channel::EndReason) {}};
  const auto stream = sessions.open_stream("c", end);
  ASSERT_TRUE(stream);
  sessions.close_stream("c", *stream);
  EXPECT_EQ(said.back(), "disconnected");
  said.clear();
  sessions.close_stream("c", *stream);  // the old one's end comes late: nothing happens
  EXPECT_TRUE(said.empty());
}

// The owner learns of the break after it has made the offer, and counts it to the stream.
TEST_F(SessionsTest, Invariant14AnOfferMadeForAStreamIsNotGivenToThePollThatFollows) {
  StreamEnd end{[](std::vector<channel::Delivery>) {}, [](channel::EndReason) {}};
  const auto stream = sessions.open_stream("c", end);
  ASSERT_TRUE(stream);
  auto streamed = offer(3);
  streamed.streamed = true;
  sessions.close_stream("c", *stream);
  poll(10, 1000);
  sessions.on_offers({streamed});
  EXPECT_EQ(answers, 0);
  EXPECT_EQ(said.back(), "withdraw 3");
  sessions.on_offers({offer(4)});
  EXPECT_EQ(answers, 1);
}

TEST_F(SessionsTest, ASubscriptionThatIsRepeatedOnAnOpenStreamSendsNothingAgain) {
  StreamEnd end{[](std::vector<channel::Delivery>) {}, [](channel::EndReason) {}};
  ASSERT_TRUE(sessions.open_stream("c", end));
  said.clear();
  sessions.adopt({subscription});
  EXPECT_EQ(said, (std::vector<std::string>{"window 50"}));
}

TEST_F(SessionsTest, AnEndedSubscriptionEndsTheStreamWithItsWord) {
  std::vector<channel::EndReason> ends;
  StreamEnd end{[](std::vector<channel::Delivery>) {},
                [&ends](channel::EndReason reason) { ends.push_back(reason); }};
  ASSERT_TRUE(sessions.open_stream("c", end));
  const RemoveSubscription gone{"t", "c"};
  catalog.apply(gone);
  sessions.adopt({gone});
  EXPECT_EQ(ends, (std::vector{channel::EndReason::kUnsubscribed}));
  poll(1, 0);
  EXPECT_EQ(outcome.error().code, ErrorCode::kClientUnknown);
}

TEST_F(SessionsTest, ADrainEndsPollsAndRefusesNewOnes) {
  poll(1, 60'000);
  sessions.set_draining(true);
  sessions.end_all(channel::EndReason::kDraining);
  ASSERT_EQ(answers, 1);
  EXPECT_TRUE(outcome && outcome->empty());
  poll(1, 0);
  EXPECT_EQ(outcome.error().code, ErrorCode::kDraining);
}

}  // namespace
}  // namespace ackline::runtime

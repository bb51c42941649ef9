// What a position means on the partitions of a topic: where a group starts, a replay and a reset.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ackline/runtime/catalog_records.h"
#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using delivery::Verb;
using ::testing::HasSubstr;

struct PositionsTest : ::testing::Test {
  NodeRig rig;

  // Ten events in partition 0, two in partition 1.
  void SetUp() override {
    api::TopicCreate request;
    request.name = "t";
    request.partitions = 2;
    ASSERT_TRUE(rig.ask<api::TopicItem>(
        [&](auto done) { rig.admin().create_topic(request, std::move(done)); }));
    rig.publish(10, "t", 0);
    rig.publish(2, "t", 1);
    ASSERT_TRUE(rig.subscribe("c"));
  }
  Result<api::ReopenAnswer> reopen(api::ReopenQuery query) {
    query.topic = "t";
    query.group = "g";
    return rig.ask<api::ReopenAnswer>(
        [&](auto done) { rig.admin().reopen(std::move(query), std::move(done)); });
  }
  static api::ReopenQuery reset_to(api::Position to, std::vector<std::uint32_t> partitions) {
    api::ReopenQuery query;
    query.reset = true;
    query.to = std::move(to);
    query.partitions = std::move(partitions);
    return query;
  }
};

TEST_F(PositionsTest, AResetOfOnePartitionIsNotHeldToTheLengthOfTheOthers) {
  const api::Position to = api::AtOffsets{.all = Offset(5), .some = {}};
  const auto done = reopen(reset_to(to, {0}));
  ASSERT_TRUE(done) << done.error().detail;
  ASSERT_EQ(done->partitions.size(), 1U);
  EXPECT_EQ(done->partitions.at(0)->report.frontier_after, Offset(4));
  // One that is named is.
  const auto refused = reopen(reset_to(to, {0, 1}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadValue);
  EXPECT_THAT(refused.error().detail, HasSubstr("partition 1"));
}

TEST_F(PositionsTest, APartitionThatTheTopicDoesNotHaveIsRefusedWhereverAPositionGoesIn) {
  const api::Position beyond = api::AtOffsets{.all = {}, .some = {{0, Offset(1)}, {9, Offset(0)}}};
  const auto reset = reopen(reset_to(beyond, {}));
  ASSERT_FALSE(reset);
  EXPECT_EQ(reset.error().code, ErrorCode::kBadValue);
  EXPECT_THAT(reset.error().detail, HasSubstr("partition 9 is out of range"));
  for (const char* group : {"new", "g"}) {
    api::SubscribeRequest request;
    request.client_id = "d";
    request.topic = "t";
    request.group = group;
    request.start = beyond;
    const auto refused = rig.ask<api::Subscribed>(
        [&](auto done) { rig.traffic().subscribe(std::move(request), std::move(done)); });
    ASSERT_FALSE(refused) << group;
    EXPECT_EQ(refused.error().code, ErrorCode::kBadValue);
  }
}

TEST_F(PositionsTest, AReplayByFilterTakesOnlyThePartitionsThatAreNamed) {
  for (const std::string& id : rig.poll("c")) EXPECT_EQ(rig.settled(Verb::kAck, "c", id), "acked");
  rig.pass(100);
  api::ReopenQuery query;
  query.to = api::Earliest{};
  query.until = api::AtOffsets{.all = Offset(2), .some = {}};
  query.partitions = {1};
  query.dry_run = true;
  const auto done = reopen(query);
  ASSERT_TRUE(done) << done.error().detail;
  ASSERT_EQ(done->partitions.size(), 1U);
  EXPECT_EQ(done->partitions.at(1)->events, 2U);
}

// Frontier 2, holes at 3 and 7: a replay from 6 opens 6, 8 and 9.
TEST_F(PositionsTest, AReplayOverHolesSaysWhatItOpensAgain) {
  std::unique_ptr<api::Attachment> attachment;
  const auto got = rig.ask<std::vector<channel::Delivery>>(
      [&](auto done) { attachment = rig.traffic().poll("c", {}, 100, 100, std::move(done)); });
  ASSERT_TRUE(got);
  for (const channel::Delivery& one : *got) {
    if (one.partition != PartitionIndex(0) || one.offset == Offset(3) || one.offset == Offset(7))
      continue;
    EXPECT_EQ(rig.settled(Verb::kAck, "c", one.delivery_id), "acked");
  }
  rig.pass(100);
  const auto replay_from = [this](std::int64_t offset) {
    api::ReopenQuery query;
    query.to = api::AtOffsets{.all = Offset(offset), .some = {}};
    query.partitions = {0};
    query.dry_run = true;
    return *reopen(query)->partitions.at(0);
  };
  const api::ReopenPartition some = replay_from(6);
  EXPECT_EQ(some.report.frontier_after, Offset(2));
  EXPECT_EQ(some.events, 3U);
  EXPECT_EQ(some.first, Offset(6));
  EXPECT_EQ(some.last, Offset(9));
  const api::ReopenPartition one = replay_from(9);
  EXPECT_EQ(one.events, 1U);
  EXPECT_GT(one.bytes, 0U);
  EXPECT_EQ(some.bytes, 3 * one.bytes);
  EXPECT_EQ(replay_from(1).first, Offset(1));
  EXPECT_EQ(replay_from(1).bytes, 7 * one.bytes);
  EXPECT_FALSE(replay_from(10).first);
}

TEST_F(PositionsTest, AReplayWhoseOffsetsDoNotFitIntoARecordIsRefusedBeforeTheAuditLine) {
  for (const std::string& id : rig.poll("c")) EXPECT_EQ(rig.settled(Verb::kAck, "c", id), "acked");
  rig.pass(100);
  rig.lane_record_max_bytes = 32;
  rig.restart();
  const auto audited = [this] {
    return io::read_file(rig.fs, "/data/audit.log").value().contains("group.replay");
  };
  api::ReopenQuery query;
  query.to = api::Earliest{};
  query.filter_json = "";
  for (const bool dry_run : {true, false}) {
    query.dry_run = dry_run;
    const auto refused = reopen(query);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
    EXPECT_THAT(refused.error().detail, HasSubstr("12 events match"));
  }
  rig.pass(100);
  EXPECT_FALSE(audited());
  rig.lane_record_max_bytes = NodeOptions{}.lane_record_max_bytes;
  rig.restart();
  ASSERT_TRUE(reopen(query));
  rig.pass(100);
  EXPECT_TRUE(audited());
}

// What the bound is for: the longest lists, and the largest write that meta takes.
TEST(LaneRecords, AMillionEventsInARowFitIntoOneAndAMillionFarApartDoNot) {
  const auto size_of = [](std::int64_t apart) {
    Lane lane;
    lane.kind = state::LaneKind::kReplay;
    auto& offsets = lane.entries[0];
    for (std::int64_t i = 0; i < 1'000'000; ++i) offsets.emplace_back(i * apart);
    return encode(lane).size();
  };
  EXPECT_LE(size_of(1), NodeOptions{}.lane_record_max_bytes);
  EXPECT_GT(size_of(100), NodeOptions{}.lane_record_max_bytes);
}

}  // namespace
}  // namespace ackline::runtime

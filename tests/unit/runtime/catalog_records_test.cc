#include "ackline/runtime/catalog_records.h"

#include <gtest/gtest.h>

#include "ackline/event/filter.h"

namespace ackline::runtime {
namespace {

Topic a_topic() {
  Topic topic;
  topic.name = "orders";
  topic.incarnation = Incarnation(7);
  topic.retention.age_ms = 60'000;
  topic.partitions = {PartitionNumber(3), PartitionNumber(5)};
  topic.dead_letters = {PartitionNumber(4), PartitionNumber(6)};
  topic.created_at = WallMs(1'700'000'000'000);
  return topic;
}

Group a_group() {
  Group group;
  group.number = ProgressNumber(12);
  group.topic = "orders";
  group.name = "billing";
  group.incarnation = Incarnation(7);
  group.policy.ordering = delivery::Ordering::kKey;
  group.policy.max_attempts = 3;
  group.policy.backoff_ms = {10, 20};
  group.filter_json = R"({"exact":{"type":"order.created"}})";
  group.start = {Offset(4), Offset(0)};
  group.empty_since = WallMs(99);
  return group;
}

Lane a_lane() {
  Lane lane;
  lane.number = ProgressNumber(13);
  lane.topic = "orders";
  lane.group = "billing";
  lane.group_number = ProgressNumber(12);
  lane.state = LaneState::kRunning;
  lane.rate_per_second = 100;
  lane.matched = 3;
  lane.started = 2;
  lane.audit_id = "a-4";
  lane.entries[0] = {Offset(1), Offset(100), Offset(1'000'000'000'000)};
  lane.entries[3] = {Offset(7)};
  return lane;
}

TEST(CatalogRecords, ATopicComesBackAsItWasWritten) {
  const auto topic = decode_topic(encode(a_topic()));
  ASSERT_TRUE(topic);
  EXPECT_EQ(encode(*topic), encode(a_topic()));
  EXPECT_EQ(topic->partitions, a_topic().partitions);
  EXPECT_EQ(topic->retention.age_ms, 60'000);
  EXPECT_FALSE(topic->retention.bytes);
}

TEST(CatalogRecords, Invariant4TheResolvedStartOfAGroupIsDurable) {
  const auto group = decode_group(encode(a_group()));
  ASSERT_TRUE(group);
  EXPECT_EQ(group->start, (std::vector{Offset(4), Offset(0)}));
  EXPECT_EQ(group->policy.backoff_ms, (std::vector<std::int64_t>{10, 20}));
  ASSERT_NE(group->policy.filter, nullptr);
  EXPECT_EQ(group->policy.filter->to_json(), a_group().filter_json);
}

TEST(CatalogRecords, Invariant18AJobWithItsChosenOffsetsComesBack) {
  const auto lane = decode_lane(encode(a_lane()));
  ASSERT_TRUE(lane);
  EXPECT_EQ(lane->entries, a_lane().entries);
  EXPECT_EQ(lane->state, LaneState::kRunning);
  EXPECT_EQ(lane->audit_id, "a-4");
}

TEST(CatalogRecords, Invariant18AReplayIsAVersionOfItsOwnThatOlderBuildsRefuse) {
  Lane replay = a_lane();
  replay.kind = state::LaneKind::kReplay;
  replay.gone = 2;
  replay.filter_json = R"({"exact":{"type":"paid"}})";
  const std::string record = encode(replay);
  EXPECT_EQ(record[0], 2);
  EXPECT_EQ(encode(a_lane())[0], 1);  // a redrive is what it always was
  const auto lane = decode_lane(record);
  ASSERT_TRUE(lane) << lane.error().detail;
  EXPECT_EQ(lane->kind, state::LaneKind::kReplay);
  EXPECT_EQ(lane->gone, 2U);
  EXPECT_EQ(lane->filter_json, replay.filter_json);
  EXPECT_EQ(lane->entries, replay.entries);
  // Nothing else has a version 2.
  const auto group = decode_group(record);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, ErrorCode::kUnsupported);
}

TEST(CatalogRecords, AFlippedBitIsNeverGuessed) {
  for (const std::string& record : {encode(a_topic()), encode(a_group()), encode(a_lane()),
                                    encode(Numbers{.partition = 9, .progress = 4})}) {
    for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
      std::string damaged = record;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_FALSE(decode_topic(damaged));
      EXPECT_FALSE(decode_group(damaged));
      EXPECT_FALSE(decode_lane(damaged));
      EXPECT_FALSE(decode_numbers(damaged));
    }
  }
}

TEST(CatalogRecords, WhatAStartWroteOfItsJournalsIsReadBack) {
  const std::string record = encode(std::vector<StartedJournal>{{7, Lsn(3)}, {9, Lsn(1)}});
  const auto read = decode_journals(record);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(read->front().id, 7U);
  EXPECT_EQ(read->front().through, Lsn(3));
  EXPECT_EQ(read->back().id, 9U);
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    std::string damaged = record;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_journals(damaged));
  }
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_FALSE(decode_journals(record.substr(0, size)));
  }
}

TEST(CatalogRecords, CleanStartsAreReadBackAndDamageIsRefused) {
  const std::vector<Epoch> starts = {Epoch(3), Epoch(4'294'967'295)};
  const std::string record = encode(starts);
  const auto read = decode_clean_starts(record);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, starts);
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    std::string damaged = record;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_clean_starts(damaged));
  }
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_FALSE(decode_clean_starts(record.substr(0, size)));
  }
}

TEST(CatalogRecords, ARecordCutAnywhereIsRefused) {
  const std::string record = encode(a_lane());
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_FALSE(decode_lane(record.substr(0, size)));
  }
}

TEST(CatalogRecords, ANewerVersionIsRefusedByName) {
  std::string fields = encode(a_topic());
  fields.resize(fields.size() - 8);
  fields[0] = 2;
  const std::uint64_t sum = checksum64(as_bytes(fields));
  ByteWriter(fields).u64(sum);
  const auto topic = decode_topic(fields);
  ASSERT_FALSE(topic);
  EXPECT_EQ(topic.error().code, ErrorCode::kUnsupported);
}

TEST(CatalogRecords, KeysOfTwoThingsAreNeverTheSame) {
  EXPECT_NE(group_key("a", "b"), topic_key("a"));
  EXPECT_LT(lane_key(ProgressNumber(9)), lane_key(ProgressNumber(10)));  // scans are in order
}

}  // namespace
}  // namespace ackline::runtime

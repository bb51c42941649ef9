// What is said of partitions that are quarantined, and who is hit by damage of a journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ackline/runtime/known_damage.h"
#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kCheckpointMs = 31'000;

struct QuarantineTest : ::testing::Test {
  NodeRig rig;

  void create(const std::string& name, std::uint32_t partitions) {
    api::TopicCreate request;
    request.name = name;
    request.partitions = partitions;
    ASSERT_TRUE(rig.ask<api::TopicItem>(
        [&](auto done) { rig.admin().create_topic(request, std::move(done)); }));
  }
  // Two partitions, dead letters in both; then a start that finds the second one's files gone.
  void lose_second() {
    create("t", 2);
    ASSERT_TRUE(rig.subscribe("c"));
    for (const std::uint32_t partition : {0U, 1U}) rig.publish(4, "t", partition);
    const auto ids = rig.poll("c");
    ASSERT_EQ(ids.size(), 8U);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(rig.settled(delivery::Verb::kReject, "c", ids[i]), "rejected");
    }
    rig.pass(kCheckpointMs);
    std::string lost;  // files come by name
    for (const std::string& path : rig.fs.files()) {
      if (path.starts_with("/data/log/") && path.ends_with(".log") &&
          !io::read_file(rig.fs, path)->contains("dlqreason")) {
        lost = path;
      }
    }
    ASSERT_TRUE(rig.fs.remove(lost));
    rig.restart();
  }
  std::string state_of(const std::string& topic) {
    const auto item =
        rig.ask<api::TopicItem>([&](auto done) { rig.admin().topic(topic, std::move(done)); });
    if (!item) return std::string(item.error().word());
    std::string states;
    for (const auto& [index, one] : item->offsets) {
      states += one.state == api::PartitionState::kQuarantined ? 'q' : 'o';
    }
    return states;
  }
  // Zeroes what stands around the only event with that id: the batch cannot even be named.
  void lose_batch_with(const std::string& id) {
    for (const std::string& path : rig.fs.files()) {
      if (!path.starts_with("/data/journal/1-0/journal-")) continue;
      const std::string content = io::read_file(rig.fs, path).value();
      const auto at = content.find(id);
      if (at == std::string::npos) continue;
      auto file = rig.fs.open(path, io::OpenMode::kReadWrite).value();
      const std::string zeros(800, '\0');
      ASSERT_TRUE(file->write(at - 400, as_bytes(zeros)));
      ASSERT_TRUE(file->sync());
      return;
    }
    FAIL() << "no journal file holds " << id;
  }
};

TEST_F(QuarantineTest, Invariant8AQuarantinedPartitionHasNoNumbers) {
  lose_second();
  ASSERT_EQ(state_of("t"), "oq");
  const auto lag = rig.ask<std::vector<api::GroupLag>>(
      [&](auto done) { rig.admin().lag("t", "g", true, std::move(done)); });
  ASSERT_TRUE(lag);
  EXPECT_FALSE(lag->at(0).partitions.at(1).known);
  ASSERT_TRUE(lag->at(0).audit);
  EXPECT_FALSE(lag->at(0).audit->recount);
  EXPECT_FALSE(lag->at(0).audit->equal);
  const auto group =
      rig.ask<api::GroupItem>([&](auto done) { rig.admin().group("t", "g", std::move(done)); });
  ASSERT_TRUE(group);
  EXPECT_FALSE(group->known);
  EXPECT_EQ(group->generations.at(0), Generation(1));
  EXPECT_EQ(group->generations.at(1), std::nullopt);
  const auto explained = rig.ask<api::ExplainAnswer>(
      [&](auto done) { rig.admin().explain("t", "g", std::nullopt, std::move(done)); });
  ASSERT_TRUE(explained);
  const std::string& why = explained->partitions.at(1).quarantine_detail;
  EXPECT_THAT(why, HasSubstr("partition 1 of t is quarantined: "));
  EXPECT_EQ(why.find("is quarantined"), why.rfind("is quarantined")) << why;
}

TEST_F(QuarantineTest, Invariant8MetricsDoNotShowWhatIsNotKnown) {
  lose_second();
  bool done = false;
  rig.node->refresh_gauges([&done] { done = true; });
  for (int i = 0; i < 100 && !done; ++i) rig.pass(10);
  std::string text;
  rig.metrics.render_prometheus(text);
  for (const char* gone : {"ackline_group_lag_events{", "ackline_group_pending_events{",
                           "ackline_group_oldest_pending_seconds{", "ackline_holes{",
                           "ackline_inflight{", "partition=\"1\"}"}) {
    EXPECT_THAT(text, Not(HasSubstr(gone)));
  }
  EXPECT_THAT(text, HasSubstr("ackline_group_frontier{topic=\"t\",group=\"g\",partition=\"0\"}"));
}

TEST_F(QuarantineTest, ListsSayWhatTheyLeaveOutAndAPartitionByNameIsRefused) {
  lose_second();
  const auto events = [&](std::optional<std::uint32_t> partition) {
    api::EventsQuery query;
    query.topic = "t";
    query.partition = partition;
    query.cursor = {{1, Offset(2)}};
    return rig.ask<api::EventsAnswer>(
        [&](auto done) { rig.admin().events(query, std::move(done)); });
  };
  const auto all = events(std::nullopt);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->items.size(), 4U);
  EXPECT_THAT(all->quarantined, ElementsAre(1U));
  EXPECT_EQ(all->next.at(1), Offset(2)) << "where the caller was";
  EXPECT_EQ(events(1).error().code, ErrorCode::kQuarantined);
  const auto holes = [&](std::optional<std::uint32_t> partition) {
    return rig.ask<api::HolesAnswer>([&](auto done) {
      rig.admin().holes({.topic = "t", .group = "g", .partition = partition, .after = {}},
                        std::move(done));
    });
  };
  ASSERT_TRUE(holes(std::nullopt));
  EXPECT_FALSE(holes(std::nullopt)->total);
  EXPECT_THAT(holes(std::nullopt)->quarantined, ElementsAre(1U));
  EXPECT_TRUE(holes(0)->total);
  EXPECT_EQ(holes(1).error().code, ErrorCode::kQuarantined);
  const auto dead = [&](std::vector<std::string> ids) {
    api::DeadLetterQuery query;
    query.topic = "t";
    query.ids = std::move(ids);
    return rig.ask<api::DeadLetterPage>(
        [&](auto done) { rig.admin().browse_dead(query, std::move(done)); });
  };
  const auto page = dead({});
  ASSERT_TRUE(page);
  EXPECT_FALSE(page->total);
  EXPECT_THAT(page->quarantined, ElementsAre(1U));
  for (const auto& item : page->items) EXPECT_EQ(item.origin_partition, 0U);
  EXPECT_EQ(dead({"t_DLQ:1:0"}).error().code, ErrorCode::kQuarantined);
}

TEST_F(QuarantineTest, AStartAtTheEndOfAQuarantinedPartitionIsRefused) {
  lose_second();
  api::SubscribeRequest request;
  request.client_id = "late";
  request.topic = "t";
  request.group = "late";
  request.start = api::Latest{};
  const auto latest = rig.ask<api::Subscribed>(
      [&](auto done) { rig.traffic().subscribe(request, std::move(done)); });
  ASSERT_FALSE(latest);
  EXPECT_EQ(latest.error().code, ErrorCode::kQuarantined);
  request.start = api::Earliest{};
  EXPECT_TRUE(rig.ask<api::Subscribed>(
      [&](auto done) { rig.traffic().subscribe(request, std::move(done)); }));
}

TEST_F(QuarantineTest, PartitionsThatAreMadeAfterAJournalWasDamagedAreNotHitByIt) {
  create("t", 2);
  rig.publish(1, "t", 0, "the-batch-to-lose");
  rig.publish(3, "t", 1);
  rig.publish(1);
  rig.pass(2000);
  lose_batch_with("the-batch-to-lose");
  rig.restart();
  ASSERT_EQ(state_of("t"), "qq");
  ASSERT_TRUE(rig.ask<api::Removed>(
      [&](auto done) { rig.admin().delete_topic("t", true, std::move(done)); }));
  create("t", 1);
  create("new", 1);
  rig.publish(6, "new");
  rig.publish(7, "t");
  rig.restart();  // before a checkpoint
  EXPECT_EQ(state_of("t"), "o");
  EXPECT_EQ(state_of("new"), "o");
  ASSERT_TRUE(rig.subscribe("c", {}, "new"));
  EXPECT_EQ(rig.poll("c").size(), 6U);
  rig.restart();
  EXPECT_EQ(state_of("new"), "o");
}

TEST_F(QuarantineTest, WhatWasHitStaysHitAtTheNextStart) {
  create("t", 2);
  rig.publish(1, "t", 0, "the-batch-to-lose");
  rig.publish(3, "t", 1);
  rig.pass(2000);
  lose_batch_with("the-batch-to-lose");
  rig.restart();
  ASSERT_EQ(state_of("t"), "qq");
  create("new", 1);
  rig.restart();
  EXPECT_EQ(state_of("t"), "qq");
  EXPECT_EQ(state_of("new"), "o");
}

TEST(KnownDamage, HitsWhatWasThereWhenItWasFoundAndNothingYounger) {
  io::JournalRecovery found;
  found.synced = Lsn{20};
  found.damage.push_back({Lsn{5}, Lsn{8}, true, {}, {}});
  KnownDamage known;
  EXPECT_GT(known.partitions_hit(found.damage[0]), 1'000'000U);
  known.note(found, Lsn{1}, 7);
  EXPECT_EQ(known.encode(), "20:7");
  known.note(found, Lsn{1}, 9);
  EXPECT_EQ(known.partitions_hit(found.damage[0]), 7U) << "the first start that found it counts";
  // Its file was set aside: now all of it is missing.
  EXPECT_EQ(known.partitions_hit({Lsn{1}, Lsn{20}, true, {}, {}}), 7U);
  found.synced = Lsn{40};
  found.damage.push_back({Lsn{30}, Lsn{30}, true, {}, {}});
  known.note(found, Lsn{1}, 12);
  EXPECT_EQ(known.encode(), "20:7,40:12");
  EXPECT_EQ(known.partitions_hit(found.damage[0]), 7U);
  EXPECT_EQ(known.partitions_hit(found.damage[1]), 12U);
  EXPECT_EQ(KnownDamage::decode(known.encode()), known);
  found.damage.clear();
  known.note(found, Lsn{21}, 12);
  EXPECT_EQ(known.encode(), "40:12") << "what is not read any more is forgotten";
  for (const char* bad : {"x", "20", "20:", "20:7,", "20:7;"}) {
    EXPECT_FALSE(KnownDamage::decode(bad)) << bad;
  }
}

}  // namespace
}  // namespace ackline::runtime

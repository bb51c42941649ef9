// Pages of large dead letters: bounded by their bytes, and nothing is skipped where one ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/runtime/node_rig.h"

namespace ackline::runtime {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kEventBytes = 1U << 20U;

struct DeadLetterPagesTest : ::testing::TestWithParam<std::uint32_t> {
  NodeRig rig{GetParam()};

  // Events of 1 MiB, spread over the partitions, all rejected by their group.
  void make_dead(std::uint32_t partitions, std::size_t count) {
    api::TopicCreate create;
    create.name = "t";
    create.partitions = partitions;
    ASSERT_TRUE(rig.ask<api::TopicItem>(
        [&](auto done) { rig.admin().create_topic(create, std::move(done)); }));
    ASSERT_TRUE(rig.subscribe("c"));
    for (std::size_t i = 0; i < count; ++i) {
      api::PublishRequest request;
      request.topic = "t";
      request.partition = static_cast<std::uint32_t>(i % partitions);
      event::CloudEvent made;
      made.set("id", std::to_string(i));
      made.set("source", "/" + std::string(kEventBytes, 's'));
      made.set("type", "x");
      event::append_frame(made, request.events.emplace_back().frame);
      rig.traffic().publish(std::move(request), [](const Result<api::PublishResults>&) {});
    }
    rig.pass(100);
    std::size_t rejected = 0;
    for (auto ids = rig.poll("c"); !ids.empty(); ids = rig.poll("c")) {
      for (const std::string& id : ids) {
        EXPECT_EQ(rig.settled(delivery::Verb::kReject, "c", id), "rejected");
      }
      rejected += ids.size();
    }
    ASSERT_EQ(rejected, count);
  }
  // All pages, from the first to the one without `next`.
  std::vector<api::DeadLetterPage> pages(std::uint32_t limit) {
    std::vector<api::DeadLetterPage> all;
    api::DeadLetterQuery query;
    query.topic = "t";
    query.max = limit;
    do {
      auto page = rig.ask<api::DeadLetterPage>(
          [&](auto done) { rig.admin().browse_dead(query, std::move(done)); });
      EXPECT_TRUE(page) << page.error().detail;
      if (!page) return all;
      query.after = page->next;
      all.push_back(std::move(*page));
    } while (query.after && all.size() < 100);
    return all;
  }
};

TEST_P(DeadLetterPagesTest, APageOfLargeDeadLettersIsBoundedByItsBytesAndNoneIsSkipped) {
  constexpr std::size_t kCount = 40;
  make_dead(4, kCount);
  std::vector<std::pair<std::uint32_t, Offset>> seen;
  const auto all = pages(1'000);
  for (const api::DeadLetterPage& page : all) {
    EXPECT_EQ(page.total, kCount);
    EXPECT_FALSE(page.items.empty());
    std::size_t bytes = 0;
    for (const api::DeadLetterItem& item : page.items) {
      bytes += item.frame.size();
      seen.emplace_back(item.origin_partition, item.origin_offset);
    }
    // Each shard stops behind the entry that fills its share.
    EXPECT_LE(bytes, api::kPageBytes + GetParam() * (kEventBytes + 4096));
  }
  EXPECT_GT(all.size(), 2U);
  ASSERT_EQ(seen.size(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(seen[i], std::pair(static_cast<std::uint32_t>(i / 10), Offset(i % 10))) << i;
  }
}

TEST_P(DeadLetterPagesTest, ThePageThatEndsWithTheLastEntryHasNoNextOne) {
  make_dead(1, 16);
  const auto all = pages(1'000);
  std::vector<std::size_t> sizes;
  for (const api::DeadLetterPage& page : all) sizes.push_back(page.items.size());
  if (GetParam() == 1) {
    EXPECT_THAT(sizes, ElementsAre(16U));
  } else {
    EXPECT_THAT(sizes, ElementsAre(8U, 8U)) << "one shard has all, and half of a page";
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, DeadLetterPagesTest, ::testing::Values(1U, 2U));

}  // namespace
}  // namespace ackline::runtime

// Credit in bytes: who has none left is asked once, not by every partition at every ack.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

// A lane over every dead letter of the group.
Result<LanePartReport> lane_over_all(Rig& rig) {
  return rig.d->start_lane({.lane = ProgressNumber(50),
                            .group = Rig::kGroup,
                            .partition = Rig::kPartition,
                            .entries = {},
                            .rate_milli = 0},
                           rig.now);
}

// Counts how often the log is read.
class CountingRig : public Rig {
 public:
  ReadStatus read(ProgressKey key, Offset from, std::uint32_t max_events, std::uint32_t max_bytes,
                  log::ReadBatch& out) override {
    ++reads;
    return Rig::read(key, from, max_events, max_bytes, out);
  }
  std::size_t reads = 0;
};

TEST(DispatcherCredit, AnAckDoesNotMakeEveryPartitionReadForAClientWithoutBytesLeft) {
  constexpr std::uint32_t kPartitions = 200;
  CountingRig rig;
  for (std::uint32_t i = 1; i < kPartitions; ++i) rig.partitions[2 * i + 1] = 2 * i + 2;
  rig.groups[Rig::kGroup].policy.ordering = Ordering::kKey;
  rig.boot();
  const ClientNumber client = rig.client("c1");
  const std::size_t frame = Rig::frame_of({.key = "k", .data_bytes = 100}).size();
  rig.d->set_window(client, 1000, 10 * frame);
  for (const auto& [number, dlq] : rig.partitions) {
    for (int i = 0; i < 5; ++i) {
      rig.append({.key = "k" + std::to_string(i), .data_bytes = 100}, PartitionNumber(number));
    }
  }
  rig.run();
  std::vector<Offer> held = rig.take();
  ASSERT_GE(held.size(), 9U);
  rig.reads = 0;
  std::size_t acks = 0;
  for (; acks < 100; ++acks) {
    ASSERT_FALSE(held.empty());
    ASSERT_EQ(word(rig.ack(held.back())), "ok");
    held.pop_back();
    rig.run();
    for (Offer& offer : rig.take()) held.push_back(std::move(offer));
  }
  EXPECT_LE(rig.reads, 4 * acks);
}

TEST(DispatcherCredit, SmallEventsDoNotKeepALargeOneWaitingForEver) {
  Rig rig;
  rig.partitions[3] = 4;
  rig.boot();
  const ClientNumber client = rig.client("c1");
  rig.d->set_window(client, 1000, 4000);
  for (int i = 0; i < 200; ++i) rig.append({.data_bytes = 100}, PartitionNumber(3));
  rig.run();
  rig.append({.id = "large", .data_bytes = 3000});
  std::vector<Offer> held = rig.take();
  bool came = false;
  for (int acks = 0; acks < 100 && !came; ++acks) {
    ASSERT_FALSE(held.empty());
    ASSERT_EQ(word(rig.ack(held.front())), "ok");
    held.erase(held.begin());
    rig.run();
    for (Offer& offer : rig.take()) {
      came = came || offer.partition == Rig::kPartition;
      held.push_back(std::move(offer));
    }
  }
  EXPECT_TRUE(came);
}

// Two partitions; c1 holds an event of about 2000 bytes of its 4000 and waits for one of 3000,
// which small ones of the other partition wait for.
struct ShortRig : Rig {
  static constexpr PartitionNumber kOther{3};
  ShortRig() {
    partitions[3] = 4;
    boot();
    c1 = client("c1");
    d->set_window(c1, 1000, 4000);
    append({.data_bytes = 2000}, kOther);
    run();
    held = take().at(0);
    append({.id = "large", .data_bytes = 3000});
    run();
    append_many(3);
    append({.data_bytes = 100}, kOther);
    run();
    EXPECT_TRUE(take().empty());
  }
  ClientNumber c1;
  Offer held;
};

TEST(DispatcherCredit, AClientTakesSmallEventsWhenTheLargeOneItWasClosedForWentToAnother) {
  ShortRig rig;
  const ClientNumber c2 = rig.client("c2", 1);
  rig.run();
  std::map<ClientNumber, std::vector<Offer>> got;
  for (Offer& offer : rig.take()) got[offer.client].push_back(std::move(offer));
  ASSERT_EQ(got[c2].size(), 1U);
  EXPECT_EQ(got[c2][0].offset, Offset(0));
  EXPECT_EQ(got[c2][0].partition, Rig::kPartition);
  EXPECT_EQ(got[rig.c1].size(), 4U);
}

TEST(DispatcherCredit, AClientWaitsForWhatIsNextWhenTheLargeOneWentAndItIsLargeToo) {
  ShortRig rig;
  rig.append({.data_bytes = 2500}, ShortRig::kOther);
  rig.client("c2", 1);
  rig.run();
  EXPECT_EQ(rig.take().size(), 2U);
  rig.append({.data_bytes = 100});
  rig.run();
  EXPECT_TRUE(rig.take().empty());  // 2500 is first
  ASSERT_EQ(word(rig.ack(rig.held)), "ok");
  rig.run();
  EXPECT_EQ(rig.take().size(), 5U);
}

TEST(DispatcherCredit, AClientTakesSmallEventsWhenTheLargeOneItWasClosedForIsOver) {
  for (const std::string how : {"retention", "reset", "deleted"}) {
    ShortRig rig;
    if (how == "retention") {
      rig.d->on_log_start(Rig::kPartition, Offset(1));
    } else if (how == "reset") {
      ASSERT_TRUE(rig.d->reset(Rig::kKey, rig.ends[Rig::kPartition], false, rig.now));
    } else {
      rig.d->remove_partition(Rig::kPartition);
    }
    rig.run();
    EXPECT_FALSE(rig.take().empty()) << how;
  }
}

TEST(DispatcherCredit, AClientTakesSmallEventsWhenTheRetryItWasClosedForIsSettledLate) {
  Rig rig;
  rig.partitions[3] = 4;
  rig.boot();
  const ClientNumber client = rig.client("c1");
  rig.d->set_window(client, 1000, 5000);
  rig.append({.data_bytes = 2000});
  rig.append({.data_bytes = 1500});
  rig.run();
  const std::vector<Offer> got = rig.take();
  ASSERT_EQ(got.size(), 2U);
  rig.d->set_window(client, 1000, 3000);
  ASSERT_EQ(word(rig.settle(Verb::kNack, got[1].id, "c1", 0)), "ok");
  rig.run();
  rig.append({.data_bytes = 100}, PartitionNumber(3));
  rig.run();
  ASSERT_TRUE(rig.take().empty());
  ASSERT_EQ(word(rig.ack(got[1])), "ok");
  rig.run();
  EXPECT_EQ(rig.take().size(), 1U);
}

TEST(DispatcherCredit, AClientThatHoldsNothingTakesAnEventLargerThanItsWindow) {
  Rig rig;
  rig.boot();
  const ClientNumber client = rig.client("c1");
  rig.d->set_window(client, 1000, 500);
  rig.append({.data_bytes = 100});
  rig.append({.data_bytes = 3000});
  rig.append({.data_bytes = 100});
  rig.run();
  for (std::int64_t offset = 0; offset < 3; ++offset) {
    const std::vector<Offer> offers = rig.take();
    ASSERT_EQ(offers.size(), 1U) << offset;
    EXPECT_EQ(offers[0].offset.value(), offset);
    ASSERT_EQ(word(rig.ack(offers[0])), "ok");
    rig.run();
  }
  EXPECT_EQ(rig.frontier(), 2);
}

TEST(DispatcherCredit, Invariant20LeasesFromBeforeAStartCountWithTheirBytes) {
  for (const bool by_lane : {false, true}) {
    Rig rig;
    rig.boot();
    const ClientNumber client = rig.client("c1");
    const auto frame = static_cast<std::uint32_t>(Rig::frame_of({.data_bytes = 1000}).size());
    rig.append_many(3, {.data_bytes = 1000});
    rig.run();
    std::vector<Offer> held = rig.take();
    if (by_lane) {
      for (const Offer& offer : held) ASSERT_EQ(word(rig.settle(Verb::kReject, offer.id)), "ok");
      rig.run();
      ASSERT_TRUE(lane_over_all(rig));
      rig.run();
      held = rig.take();
    }
    ASSERT_EQ(held.size(), 3U);
    rig.boot(2);
    rig.d->set_window(client, 1000, 4 * frame);
    rig.d->set_demand(client, Dispatcher::kUnlimited);
    rig.append_many(5, {.data_bytes = 1000});
    rig.run();
    EXPECT_EQ(rig.take().size(), 1U) << by_lane;
    for (const Offer& offer : held) ASSERT_EQ(word(rig.ack(offer)), "ok");
    rig.run();
    EXPECT_EQ(rig.take().size(), 3U) << by_lane;
  }
}

TEST(DispatcherCredit, Invariant20ALeaseThatIsSentAgainAfterAStartCountsWithItsBytes) {
  Rig rig;
  rig.partitions[3] = 4;
  rig.boot();
  const ClientNumber client = rig.client("c1");
  const auto frame = static_cast<std::uint32_t>(Rig::frame_of({.data_bytes = 1000}).size());
  rig.append({.data_bytes = 1000});
  rig.run();
  ASSERT_EQ(rig.take().size(), 1U);
  rig.append_many(1, {.data_bytes = 1000});
  rig.boot(2);
  rig.d->set_window(client, 1000, frame + 10);
  rig.d->connected(client, rig.now);
  rig.d->set_demand(client, Dispatcher::kUnlimited);
  rig.run();
  const std::vector<Offer> got = rig.take();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(got[0].resent);
}

TEST(DispatcherCredit, Invariant20ARetryFromBeforeAStartNeedsRoomForItsBytes) {
  Rig rig;
  rig.boot();
  const ClientNumber client = rig.client("c1");
  const auto frame = static_cast<std::uint32_t>(Rig::frame_of({.data_bytes = 1000}).size());
  rig.append_many(2, {.data_bytes = 1000});
  rig.run();
  const std::vector<Offer> got = rig.take();
  ASSERT_EQ(got.size(), 2U);
  ASSERT_EQ(word(rig.settle(Verb::kNack, got[1].id, "c1", 100)), "ok");
  rig.boot(2);
  rig.d->set_window(client, 1000, frame + 10);
  rig.d->set_demand(client, Dispatcher::kUnlimited);
  rig.advance(1000);
  EXPECT_TRUE(rig.take().empty());
  ASSERT_EQ(word(rig.ack(got[0])), "ok");
  rig.run();
  EXPECT_EQ(rig.take_offsets(), std::vector<std::int64_t>{1});
}

TEST(DispatcherCredit, Invariant20ALaneKeepsToTheWindowOfBytes) {
  Rig rig;
  rig.boot();
  const ClientNumber client = rig.client("c1");
  rig.append_many(3, {.data_bytes = 1500});
  rig.run();
  for (const Offer& offer : rig.take()) {
    ASSERT_EQ(word(rig.settle(Verb::kReject, offer.id)), "ok");
  }
  rig.run();
  rig.d->set_window(client, 1000, 4000);
  rig.append({.data_bytes = 2000});
  rig.run();
  ASSERT_EQ(rig.take().size(), 1U);
  ASSERT_TRUE(lane_over_all(rig));
  rig.run();
  std::vector<Offer> got = rig.take();
  ASSERT_EQ(got.size(), 1U);
  for (int left = 3; left > 0; --left) {
    ASSERT_FALSE(got.empty());
    ASSERT_EQ(word(rig.ack(got[0])), "ok");
    rig.run();
    got = rig.take();
  }
  EXPECT_EQ(rig.lanes_done.size(), 1U);
}

}  // namespace
}  // namespace ackline::delivery

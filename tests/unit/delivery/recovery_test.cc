// What is journaled is the state: at any cut between calls a dispatcher made from the checkpoint
// and the records is the one that wrote them.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/unit/delivery/rig.h"

namespace ackline::delivery {
namespace {

// Everything that must survive, as text.
std::string state_of(Dispatcher& d) {
  std::ostringstream out;
  for (const ProgressKey key : d.keys()) {
    const ProgressReport report = *d.progress(key);
    out << key.progress.value() << "/" << key.partition.value() << " gen "
        << report.generation.value() << " frontier " << report.frontier.value() << " start "
        << report.start.value() << " ahead " << report.settled_ahead << " leased "
        << report.in_flight << " waiting " << report.waiting << " dead " << report.dead << " gone "
        << report.gone << "\n";
  }
  std::vector<ProgressKey> all = d.keys();
  for (std::uint32_t lane = 50; lane < 60; ++lane)
    all.push_back({ProgressNumber(lane), Rig::kPartition});
  for (const ProgressKey key : all) {
    std::vector<std::string> lines;
    d.for_each_delivery(key, [&](const DeliveryReport& one) {
      std::ostringstream line;
      line << key.progress.value() << " offset " << one.offset.value() << " epoch "
           << one.id.epoch.value() << " slot " << one.id.slot << " offer " << one.id.offer
           << " attempt " << one.attempt << (one.state == BlockerState::kLeased ? " leased" : "")
           << " client " << one.client.value() << " left " << one.left_ms << "\n";
      lines.push_back(line.str());
    });
    std::ranges::sort(lines);
    for (const std::string& line : lines) out << line;
    for (const DeadEntry& entry : d.dead_entries(key, Offset(0), 10'000)) {
      out << "dead " << entry.source.value() << " at " << entry.dlq.value() << " gen "
          << entry.generation.value() << " state " << static_cast<int>(entry.state) << " redrives "
          << entry.redrives << " " << entry.last_error << "\n";
    }
  }
  for (std::uint32_t number = 50; number < 60; ++number) {
    const LaneReport lane = d.lane(ProgressNumber(number));
    out << "lane " << lane.offered << " " << lane.resolved << " " << lane.dead_again << " "
        << lane.left << "\n";
  }
  return out.str();
}

struct RandomRun : Rig {
  explicit RandomRun(std::uint64_t seed) : random(seed) {
    options.alive_ms = 1;  // marks at every step of the clock: a cut loses no time at all
    GroupPolicy& policy = groups[kGroup].policy;
    policy.max_attempts = 3;
    policy.ordering = random.chance(1, 3) ? Ordering::kKey : Ordering::kNone;
    boot();
    for (const char* name : {"c1", "c2", "c3"}) client(name);
  }
  std::string name_of(ClientNumber number) { return clients[number].client_id; }

  void step() {
    switch (random.below(16)) {
      case 0:
      case 1:
      case 2:
        for (std::uint64_t i = random.below(8); i-- > 0;) {
          append({.key = random.chance(1, 2) ? "k" + std::to_string(random.below(5)) : ""});
        }
        break;
      case 3:
        advance(random.between(1, 40'000));
        break;
      case 4:
        advance(random.between(1, 900));
        break;
      case 5:
        churn();
        break;
      case 6:
        reopen();
        break;
      case 7:
        lanes();
        break;
      default:
        settle_some();
    }
    run();
    for (Offer& offer : take()) held.push_back(std::move(offer));
  }
  void settle_some() {
    for (std::uint64_t i = random.below(6); i-- > 0 && !held.empty();) {
      const std::size_t at = random.below(held.size());
      const Offer offer = held[at];
      const std::string name = name_of(offer.client);
      switch (random.below(8)) {
        case 0:
          static_cast<void>(settle(Verb::kNack, offer.id, name, random.between(0, 5'000)));
          break;
        case 1:
          static_cast<void>(settle(Verb::kReject, offer.id, name));
          break;
        case 2:
          static_cast<void>(settle(Verb::kExtend, offer.id, name, random.between(1, 60'000)));
          continue;
        case 3:
          d->withdraw(offer.id, now);
          break;
        default:
          static_cast<void>(settle(Verb::kAck, offer.id, name));
      }
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  void churn() {
    const ClientNumber which(static_cast<std::uint32_t>(100 + random.below(3)));
    if (random.chance(1, 2)) {
      d->disconnected(which, now);
    } else {
      d->connected(which, now);
      d->set_demand(which, Dispatcher::kUnlimited);
    }
  }
  void reopen() {
    if (random.chance(3, 4)) return;
    const Offset at(static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(ends[kPartition].value() + 1))));
    if (random.chance(1, 2)) {
      static_cast<void>(d->replay(kKey, at, false, now));
    } else {
      static_cast<void>(d->reset(kKey, at, false, now));
    }
  }
  void lanes() {
    if (next_lane < 60 && random.chance(1, 2)) {
      static_cast<void>(d->start_lane({.lane = ProgressNumber(next_lane++),
                                       .group = kGroup,
                                       .partition = kPartition,
                                       .entries = {}},
                                      now));
    } else if (random.chance(1, 4)) {
      d->end_lane(ProgressNumber(static_cast<std::uint32_t>(50 + random.below(10))), now);
    }
  }

  Random random;
  std::vector<Offer> held;
  std::uint32_t next_lane = 50;
};

TEST(Recovery, Invariant3And12And15RecordsOverACheckpointAreTheSameStateAtEveryCut) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomRun rig(seed);
    for (int step = 0; step < 120; ++step) {
      rig.step();
      if (step % 50 == 20) rig.checkpoint();
      if (step % 5 != 0) continue;
      // A twin on a copy of what is on disk; the original goes on.
      Rig twin;
      twin.groups = rig.groups;
      twin.options = rig.options;
      twin.logs = rig.logs;
      twin.ends = rig.ends;
      twin.clients = rig.clients;
      twin.sections = rig.sections;
      twin.applied = rig.applied;
      twin.journal_records = rig.journal_records;
      twin.now = rig.now.plus(123'456);
      twin.boot(2, true);
      ASSERT_EQ(state_of(*rig.d), state_of(*twin.d)) << "seed " << seed << " step " << step;
    }
  }
}

TEST(Recovery, ADamagedSectionIsRefusedAndNeverReadPast) {
  RandomRun rig(7);
  for (int step = 0; step < 200; ++step) rig.step();
  rig.checkpoint();
  const std::string section = rig.sections[Rig::kPartition];
  for (std::size_t cut = 0; cut < section.size(); cut += 7) {
    Dispatcher d(rig.options, rig, Random(1));
    d.add_partition({.number = Rig::kPartition,
                     .index = PartitionIndex(0),
                     .topic = "t",
                     .incarnation = Incarnation(1),
                     .dlq_number = Rig::kDlq,
                     .log_start = Offset(0),
                     .end = rig.ends[Rig::kPartition]});
    d.add_group(rig.groups[Rig::kGroup]);
    EXPECT_FALSE(d.restore(Rig::kPartition, as_bytes(std::string_view(section).substr(0, cut))));
  }
}

TEST(Recovery, Invariant9And17EveryEventIsTerminalAfterAnyNumberOfKills) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomRun rig(seed);
    std::uint32_t epoch = 1;
    for (int step = 0; step < 200; ++step) {
      if (step % 37 == 36) {
        rig.boot(++epoch);
        for (const auto& [number, spec] : rig.clients) {
          rig.d->set_demand(number, Dispatcher::kUnlimited);
        }
      }
      rig.step();
    }
    for (const auto& [number, spec] : rig.clients) {
      rig.d->connected(number, rig.now);
      rig.d->set_demand(number, Dispatcher::kUnlimited);
    }
    for (int round = 0; round < 500; ++round) {
      rig.run();
      for (const Offer& offer : rig.take()) {
        static_cast<void>(rig.ack(offer, rig.name_of(offer.client)));
      }
      rig.advance(5'000);
      if (rig.frontier() == rig.ends[Rig::kPartition].value() - 1) break;
    }
    EXPECT_EQ(rig.frontier(), rig.ends[Rig::kPartition].value() - 1) << "seed " << seed;
    EXPECT_EQ(rig.progress().in_flight + rig.progress().waiting + rig.progress().blocked, 0U);
    for (const ClientReport& client : rig.d->clients()) {
      EXPECT_EQ(client.in_flight_bytes == 0, client.in_flight == 0);
    }
  }
}

}  // namespace
}  // namespace ackline::delivery

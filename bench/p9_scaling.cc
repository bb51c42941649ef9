// P9, in process: P1's workload with keys on one shard's thread and on two at once, each with a
// dispatcher of its own, and on one thread over 16 partitions and over 1 000. Options: --pairs N
// --events N (a round and thread).
#include <fmt/format.h>

#include <memory>
#include <thread>
#include <vector>

#include "bench/support/dispatcher_world.h"
#include "bench/support/rounds.h"

namespace ackline::bench {
namespace {

// A shard: a dispatcher and a thread for each round.
struct Shard {
  explicit Shard(std::uint32_t partitions)
      : world(std::make_unique<World>(true, kWindow, kWindow * 256, partitions)) {
    world->fill();
  }
  void run(std::uint64_t events) {
    for (std::uint64_t done = 0; done < events;) {
      const std::uint64_t acked = world->turn(random);
      if (acked == 0) return;
      done += acked;
      since_tick += acked;
      if (since_tick >= 4000) {
        since_tick = 0;
        world->tick(world->now.plus(1));
      }
      total += acked;
    }
  }
  std::unique_ptr<World> world;
  std::uint64_t since_tick = 0;
  std::uint64_t total = 0;
  Random random{7};
};

struct Lane {
  Lane(std::string name, std::size_t shards, std::uint32_t partitions)
      : rounds{std::move(name), {}, {}} {
    for (std::size_t i = 0; i < shards; ++i) all.push_back(std::make_unique<Shard>(partitions));
  }
  void run(std::uint64_t events) {
    std::vector<std::thread> threads;
    for (const auto& shard : all) {
      threads.emplace_back([&one = *shard, events] { one.run(events); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const auto& shard : all) sum += shard->total;
    return sum;
  }
  Rounds rounds;
  std::vector<std::unique_ptr<Shard>> all;
};

int run(std::uint64_t pairs, std::uint64_t events) {
  std::vector<Lane> lanes;
  lanes.emplace_back("1 shard", 1, 16);
  lanes.emplace_back("2 shards", 2, 16);
  lanes.emplace_back("1000 partitions", 1, 1000);
  for (std::uint64_t pair = 0; pair <= pairs; ++pair) {
    for (Lane& lane : lanes) {
      const std::uint64_t before = lane.total();
      const Stopwatch watch;
      lane.run(events);
      const std::uint64_t done = lane.total() - before;
      if (done < events * lane.all.size()) {
        fmt::print(stderr, "{}: no deliveries came any more\n", lane.rounds.name);
        return 1;
      }
      if (pair > 0) watch.add_to(lane.rounds, done);  // the first is the warm-up
    }
  }
  for (const Lane& lane : lanes) print(lane.rounds);
  return 0;
}

}  // namespace
}  // namespace ackline::bench

int main(int argc, char** argv) {
  using namespace ackline::bench;  // NOLINT
  return run(number_option(argc, argv, "--pairs", 15),
             number_option(argc, argv, "--events", 400'000));
}

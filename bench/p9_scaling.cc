// P9, in process: P1's workload on one shard's thread and on two at once, each with a dispatcher of
// its own; and on one thread over 16 partitions and over 1 000, bare, in key order, and in key
// order with a client whose credit in bytes is what ends first. Options: --pairs N --events N (a
// round and thread) --only NAME (one of the lanes).
#include <fmt/format.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/support/dispatcher_world.h"
#include "bench/support/rounds.h"

namespace ackline::bench {
namespace {

// A shard: a dispatcher and a thread for each round.
struct Shard {
  Shard(bool keys, std::uint64_t window_bytes, std::uint32_t partitions)
      : world(std::make_unique<World>(keys, kWindow, window_bytes, partitions)) {
    world->fill();
  }
  void run(std::uint64_t events) { turns.run(*world, events); }
  std::unique_ptr<World> world;
  Turns turns;
};

struct Lane {
  Lane(std::string name, std::size_t shards, bool keys, std::uint64_t window_bytes,
       std::uint32_t partitions)
      : rounds{std::move(name), {}, {}} {
    for (std::size_t i = 0; i < shards; ++i) {
      all.push_back(std::make_unique<Shard>(keys, window_bytes, partitions));
    }
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
    for (const auto& shard : all) sum += shard->turns.total();
    return sum;
  }
  Rounds rounds;
  std::vector<std::unique_ptr<Shard>> all;
};

int run(std::uint64_t pairs, std::uint64_t events, const std::string& only) {
  std::vector<Lane> lanes;
  constexpr std::uint64_t kFewBytes = kWindow * 256;  // less than so many frames have
  lanes.emplace_back("1 shard", 1, false, kAnyBytes, 16);
  lanes.emplace_back("2 shards", 2, false, kAnyBytes, 16);
  lanes.emplace_back("1000 partitions", 1, false, kAnyBytes, 1000);
  lanes.emplace_back("keys, 16 partitions", 1, true, kAnyBytes, 16);
  lanes.emplace_back("keys, 1000 partitions", 1, true, kAnyBytes, 1000);
  lanes.emplace_back("bytes, 16 partitions", 1, true, kFewBytes, 16);
  lanes.emplace_back("bytes, 1000 partitions", 1, true, kFewBytes, 1000);
  std::erase_if(lanes, [&](const Lane& lane) { return !only.empty() && lane.rounds.name != only; });
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
             number_option(argc, argv, "--events", 400'000), text_option(argc, argv, "--only", ""));
}

// The dispatcher that the programs here drive is the one of `ackline bench in-process`; and P1's
// workload on it, which they share. One thread.
#pragma once

#include <cstdint>
#include <utility>

#include "ackline/cli/load/dispatcher_world.h"

namespace ackline::bench {

using namespace cli::load;  // NOLINT

// Turns of a shard; time goes on by 1 ms every 4 000 acks.
class Turns {
 public:
  // Until `events` are acked; `look` is called once a turn of the clock. False: nothing came any
  // more.
  template <typename Look>
  bool run(World& world, std::uint64_t events, Look&& look) {
    for (std::uint64_t done = 0; done < events;) {
      const std::uint64_t acked = world.turn(random_);
      if (acked == 0) return false;
      done += acked;
      total_ += acked;
      since_tick_ += acked;
      if (since_tick_ < kTickEvery) continue;
      since_tick_ = 0;
      world.tick(world.now.plus(1));
      look();
    }
    return true;
  }
  bool run(World& world, std::uint64_t events) {
    return run(world, events, [] {});
  }
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  static constexpr std::uint64_t kTickEvery = 4000;
  std::uint64_t since_tick_ = 0;
  std::uint64_t total_ = 0;
  Random random_{7};
};

}  // namespace ackline::bench

// P1 and P7: deliver, lease and ack on one thread, in random order within 1 000, every record
// encoded into a buffer; and the memory of a million deliveries in flight.
#include <benchmark/benchmark.h>

#include "bench/support/dispatcher_world.h"

namespace {

using namespace ackline;         // NOLINT: a program of its own
using namespace ackline::bench;  // NOLINT

void deliver_and_ack(benchmark::State& state, World& world) {
  Random random(7);
  world.fill();
  std::uint64_t events = 0;
  for (auto _ : state) {
    events += world.turn(random);
    if (events % 4000 == 0) {
      world.tick(world.now.plus(1));
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
}

void BM_P1_Bare(benchmark::State& state) {
  World world(false, kWindow, kAnyBytes);
  deliver_and_ack(state, world);
}
BENCHMARK(BM_P1_Bare);

void BM_P1_KeysCreditExplain(benchmark::State& state) {
  World world(true, kWindow, kWindow * 256);
  deliver_and_ack(state, world);
  benchmark::DoNotOptimize(world.dispatcher.blocker(kKey, world.now));
}
BENCHMARK(BM_P1_KeysCreditExplain);

// One stuck delivery at the frontier and a million settled above it.
void BM_P1_BehindAHole(benchmark::State& state) {
  World world(false, kWindow, kAnyBytes);
  world.settle_above_a_hole(1'000'000);
  deliver_and_ack(state, world);
}
BENCHMARK(BM_P1_BehindAHole)->Iterations(20'000);

void BM_P7_MemoryOfAMillionInFlight(benchmark::State& state) {
  for (auto _ : state) {
    World world(false, 1'000'000, kAnyBytes);
    world.port.ids.reserve(1'000'000);
    world.fill();
    if (world.port.ids.size() != 1'000'000) {
      std::abort();
    }
    state.counters["MB"] = static_cast<double>(world.dispatcher.memory_bytes()) / 1e6;
  }
}
BENCHMARK(BM_P7_MemoryOfAMillionInFlight)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

// What a timer costs: armed and disarmed (a lease that was acked), and armed until it fires.
#include <benchmark/benchmark.h>

#include <vector>

#include "ackline/base/random.h"
#include "ackline/io/timer_wheel.h"

namespace ackline::io {
namespace {

constexpr std::uint32_t kTimers = 1'000'000;
constexpr std::int64_t kLeaseMs = 30'000;

struct Slot {
  MonoMs due;
  TimerLinks links;
  std::array<std::byte, 40> other;  // a delivery's slot is 56 bytes
};

struct Slots {
  std::vector<Slot> slots{kTimers};
  TimerLinks& timer_links(std::uint32_t index) { return slots[index].links; }
  [[nodiscard]] MonoMs timer_due(std::uint32_t index) const { return slots[index].due; }
};

void ArmAndDisarmAmongAMillion(benchmark::State& state) {
  Slots slots;
  TimerWheel<Slots> wheel{MonoMs(0)};
  Random random(1);
  std::vector<std::uint32_t> order(kTimers);
  for (std::uint32_t i = 0; i < kTimers; ++i) {
    order[i] = static_cast<std::uint32_t>(random.below(kTimers));
    slots.slots[i].due = MonoMs(random.between(1, kLeaseMs));
    wheel.arm(slots, i);
  }
  std::size_t at = 0;
  for (auto _ : state) {
    const std::uint32_t index = order[at++ % kTimers];
    wheel.disarm(slots, index);
    wheel.arm(slots, index);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(ArmAndDisarmAmongAMillion);

// Time goes on by a millisecond at a step; whatever fires is armed for another lease.
void FireAMillionLeases(benchmark::State& state) {
  Slots slots;
  TimerWheel<Slots> wheel{MonoMs(0)};
  Random random(2);
  for (std::uint32_t i = 0; i < kTimers; ++i) {
    slots.slots[i].due = MonoMs(random.between(1, kLeaseMs));
    wheel.arm(slots, i);
  }
  std::int64_t now = 0;
  std::size_t fired = 0;
  for (auto _ : state) {
    ++now;
    fired += wheel.advance(slots, MonoMs(now), ~std::size_t{0}, [&](std::uint32_t index) {
      slots.slots[index].due = MonoMs(now + kLeaseMs);
      wheel.arm(slots, index);
    });
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(fired));
}
BENCHMARK(FireAMillionLeases);

void NextDue(benchmark::State& state) {
  Slots slots;
  TimerWheel<Slots> wheel{MonoMs(0)};
  slots.slots[0].due = MonoMs(kLeaseMs);
  wheel.arm(slots, 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(wheel.next_due());
  }
}
BENCHMARK(NextDue);

}  // namespace
}  // namespace ackline::io

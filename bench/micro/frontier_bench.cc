// What a frontier costs per event: offered, then settled in an order that is random within 1000.
#include <benchmark/benchmark.h>

#include <utility>
#include <vector>

#include "ackline/base/random.h"
#include "ackline/frontier/frontier.h"

namespace ackline::frontier {
namespace {

constexpr std::int64_t kEvents = 1'000'000;
constexpr std::int64_t kWindow = 1000;

// 0 to count - 1, each block of 1000 shuffled.
std::vector<std::int64_t> shuffled(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  Random random(1);
  for (std::int64_t block = 0; block < count; block += kWindow) {
    for (std::int64_t i = 0; i < kWindow; ++i) {
      const auto at = static_cast<std::size_t>(block + i);
      order[at] = block + i;
      std::swap(order[at], order[static_cast<std::size_t>(random.between(block, block + i))]);
    }
  }
  return order;
}

// Offers run one window ahead of settles.
void offer_and_settle(Frontier& frontier, std::int64_t base,
                      const std::vector<std::int64_t>& order) {
  std::int64_t offered = base;
  for (std::int64_t i = 0; i < kWindow; ++i) {
    benchmark::DoNotOptimize(frontier.offer(Offset(offered++)));
  }
  const std::int64_t end = base + kEvents;
  for (const std::int64_t offset : order) {
    benchmark::DoNotOptimize(frontier.settle(Offset(base + offset)));
    if (offered < end) {
      benchmark::DoNotOptimize(frontier.offer(Offset(offered++)));
    }
  }
}

void per_event(benchmark::State& state, std::int64_t events) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * events);
}

void OfferAndSettle(benchmark::State& state) {
  const std::vector<std::int64_t> order = shuffled(kEvents);
  Frontier frontier(Offset(0), 1U << 30U);
  std::int64_t base = 0;
  for (auto _ : state) {
    offer_and_settle(frontier, base, order);
    base += kEvents;
  }
  per_event(state, kEvents);
}
BENCHMARK(OfferAndSettle)->Unit(benchmark::kMillisecond);

// One event is stuck and a million behind it are settled already.
void OfferAndSettlePastAStuckHole(benchmark::State& state) {
  const std::vector<std::int64_t> order = shuffled(kEvents);
  for (auto _ : state) {
    state.PauseTiming();
    Frontier frontier(Offset(0), 1U << 30U);
    for (std::int64_t offset = 0; offset <= kEvents; ++offset) {
      benchmark::DoNotOptimize(frontier.offer(Offset(offset)));
    }
    frontier.settle_range(Offset(1), Offset(kEvents));
    state.ResumeTiming();
    offer_and_settle(frontier, kEvents + 1, order);
  }
  per_event(state, kEvents);
}
BENCHMARK(OfferAndSettlePastAStuckHole)->Unit(benchmark::kMillisecond);

// The stuck one is settled at last: the frontier passes a million events at once.
void AdvanceOverAMillion(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Frontier frontier(Offset(0), 1U << 30U);
    for (std::int64_t offset = 0; offset < kEvents; ++offset) {
      benchmark::DoNotOptimize(frontier.offer(Offset(offset)));
    }
    frontier.settle_range(Offset(1), Offset(kEvents));
    state.ResumeTiming();
    benchmark::DoNotOptimize(frontier.settle(Offset(0)));
  }
}
BENCHMARK(AdvanceOverAMillion)->Unit(benchmark::kMicrosecond)->Iterations(20);

Frontier million_holes() {
  Frontier frontier(Offset(0), 1U << 30U);
  for (std::int64_t offset = 0; offset < 2 * kEvents; ++offset) {
    benchmark::DoNotOptimize(frontier.offer(Offset(offset)));
    if (offset % 2 == 1) {
      benchmark::DoNotOptimize(frontier.settle(Offset(offset)));
    }
  }
  return frontier;
}

void CountAMillionHoles(benchmark::State& state) {
  const Frontier frontier = million_holes();
  for (auto _ : state) {
    benchmark::DoNotOptimize(frontier.holes_count());
  }
}
BENCHMARK(CountAMillionHoles)->Unit(benchmark::kMicrosecond);

void SerialiseAMillionHoles(benchmark::State& state) {
  const Frontier frontier = million_holes();
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    frontier.serialise(bytes);
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
}
BENCHMARK(SerialiseAMillionHoles)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ackline::frontier

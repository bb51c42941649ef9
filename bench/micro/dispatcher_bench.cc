// P1 and P7: deliver, lease and ack on one thread, in random order within 1 000, every record
// encoded into a buffer; and the memory of a million deliveries in flight.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ackline/base/random.h"
#include "ackline/delivery/dispatcher.h"
#include "ackline/event/cloud_event.h"
#include "ackline/event/frame.h"

namespace {

using namespace ackline;            // NOLINT: a program of its own
using namespace ackline::delivery;  // NOLINT

constexpr PartitionNumber kPartition{1};
constexpr ProgressNumber kGroup{10};
constexpr ClientNumber kClient{100};
constexpr ProgressKey kKey{kGroup, kPartition};
constexpr std::size_t kFrames = 4096;
constexpr std::uint32_t kWindow = 1000;

// An endless log of 256-byte events; the journal is a buffer.
class Port final : public DispatcherPort {
 public:
  explicit Port(bool keys) {
    for (std::size_t i = 0; i < kFrames; ++i) {
      event::CloudEvent made;
      made.set("id", std::to_string(i));
      made.set("source", "/shop");
      made.set("type", "order.created");
      if (keys) {
        made.set("partitionkey", "customer-" + std::to_string(i * 2654435761U % kFrames));
      }
      made.set_data(event::DataKind::kBinary, std::string(160, 'x'));
      event::append_frame(made, frames_[i]);
    }
    journal_.reserve(2U << 20U);
  }
  void journal(state::RecordType type, PartitionNumber partition, ByteView body) override {
    journal_.push_back(static_cast<char>(type));
    journal_.push_back(static_cast<char>(partition.value()));
    journal_.append(as_text(body));
    if (journal_.size() > (1U << 20U)) {
      journal_.clear();
    }
  }
  ReadStatus read(ProgressKey /*key*/, Offset from, std::uint32_t max_events,
                  std::uint32_t /*max_bytes*/, log::ReadBatch& out) override {
    out.events.clear();
    out.buffers.assign(1, buffer_);
    for (std::uint32_t i = 0; i < max_events; ++i) {
      const Offset offset = from.plus(i);
      out.events.push_back(
          {.offset = offset,
           .append_time = WallMs(0),
           .frame = as_bytes(frames_[static_cast<std::size_t>(offset.value()) % kFrames])});
    }
    out.next = from.plus(max_events);
    return ReadStatus::kReady;
  }
  void deliver(Offer offer) override { ids.push_back(offer.id); }
  void withdrawn(ClientNumber /*client*/, const DeliveryId& /*id*/) override {}
  void dead_letter(DeadLetterRequest /*request*/) override {}
  void count(ProgressKey /*key*/, DeliveryEvent what, std::uint64_t events) override {
    counts_[static_cast<std::size_t>(what)] += events;
  }
  void lane_part_done(ProgressNumber /*lane*/, PartitionNumber /*partition*/) override {}

  std::vector<DeliveryId> ids;

 private:
  std::array<std::string, kFrames> frames_;
  std::shared_ptr<const void> buffer_ = std::make_shared<int>(0);
  std::string journal_;
  std::array<std::uint64_t, 32> counts_{};
};

struct World {
  World(bool keys, std::uint32_t window, std::uint64_t window_bytes)
      : port(keys), dispatcher({.epoch = Epoch(1)}, port, Random(1)) {
    dispatcher.add_partition({.number = kPartition,
                              .index = PartitionIndex(0),
                              .topic = "t",
                              .incarnation = Incarnation(1),
                              .dlq_number = PartitionNumber(2),
                              .log_start = Offset(0),
                              .end = Offset(INT64_MAX / 2)});
    GroupSpec group{.number = kGroup, .topic = "t", .name = "g", .principal = "", .policy = {}};
    group.policy.ordering = keys ? Ordering::kKey : Ordering::kNone;
    dispatcher.add_group(group);
    dispatcher.open_progress(kKey, Offset(0));
    dispatcher.add_client(
        {.number = kClient, .client_id = "c1", .principal = "", .group = kGroup, .partitions = {}},
        now);
    dispatcher.resume(now, WallMs(0), true);
    dispatcher.set_window(kClient, window, window_bytes);
    dispatcher.set_demand(kClient, Dispatcher::kUnlimited);
  }
  void fill() {
    while (dispatcher.pump(now, WallMs(0), 1U << 20U)) {
    }
  }
  void ack(const DeliveryId& id) {
    const auto answer = dispatcher.settle({.verb = Verb::kAck,
                                           .client_id = "c1",
                                           .principal = "",
                                           .id = id,
                                           .delay_ms = {},
                                           .extend_ms = {},
                                           .reason = {}},
                                          now);
    if (!answer) {
      std::abort();
    }
  }
  MonoMs now{0};
  Port port;
  Dispatcher dispatcher;
};

// A turn of a shard: 100 acks come in, in random order; then what fits is offered.
void deliver_and_ack(benchmark::State& state, World& world) {
  Random random(7);
  world.fill();
  std::vector<DeliveryId> open;
  std::uint64_t events = 0;
  for (auto _ : state) {
    open.insert(open.end(), world.port.ids.begin(), world.port.ids.end());
    world.port.ids.clear();
    for (int i = 0; i < 100 && !open.empty(); ++i) {
      const std::size_t at = random.below(open.size());
      world.ack(open[at]);
      open[at] = open.back();
      open.pop_back();
      ++events;
    }
    if (events % 4000 == 0) {
      world.now = world.now.plus(1);
      world.dispatcher.tick(world.now);
    }
    world.dispatcher.pump(world.now, WallMs(0), 4096);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
}

void BM_P1_Bare(benchmark::State& state) {
  World world(false, kWindow, UINT64_MAX / 2);
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
  World world(false, kWindow, UINT64_MAX / 2);
  world.fill();
  for (std::uint64_t settled = 0; settled < 1'000'000;) {
    std::vector<DeliveryId> ids;
    ids.swap(world.port.ids);
    for (const DeliveryId& id : ids) {
      if (id.offset != Offset(0)) {
        world.ack(id);
        ++settled;
      }
    }
    world.fill();
  }
  deliver_and_ack(state, world);
}
BENCHMARK(BM_P1_BehindAHole)->Iterations(20'000);

void BM_P7_MemoryOfAMillionInFlight(benchmark::State& state) {
  for (auto _ : state) {
    World world(false, 1'000'000, UINT64_MAX / 2);
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

// A dispatcher with one group on some partitions of an endless log of 256-byte events: the workload
// that `ackline bench in-process` shares with the programs of bench/. Owned by a run; one thread. A
// refused ack is a bug and stops the program.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackline/base/check.h"
#include "ackline/base/random.h"
#include "ackline/delivery/dispatcher.h"
#include "ackline/event/cloud_event.h"
#include "ackline/event/frame.h"
#include "ackline/io/journal/journal.h"

namespace ackline::cli::load {

inline constexpr PartitionNumber kPartition{1};
inline constexpr ProgressNumber kGroup{10};
inline constexpr ClientNumber kClient{100};
inline constexpr delivery::ProgressKey kKey{kGroup, kPartition};
inline constexpr std::size_t kFrames = 4096;
inline constexpr std::uint32_t kWindow = 1000;
inline constexpr std::uint64_t kAnyBytes = UINT64_MAX / 2;

// The records go to `journal_to`, or to a buffer that is thrown away when it is full.
class Port final : public delivery::DispatcherPort {
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
    buffered_.reserve(2U << 20U);
  }
  void journal(state::RecordType type, PartitionNumber partition, ByteView body) override {
    if (journal_to != nullptr) {
      journal_to->append(static_cast<std::uint8_t>(type), partition, body);
      return;
    }
    if (records_to != nullptr) {
      ACKLINE_CHECK(records_to->append(type, partition, body).has_value());
      return;
    }
    buffered_.push_back(static_cast<char>(type));
    buffered_.push_back(static_cast<char>(partition.value()));
    buffered_.append(as_text(body));
    if (buffered_.size() > (1U << 20U)) {
      buffered_.clear();
    }
  }
  delivery::ReadStatus read(delivery::ProgressKey /*key*/, Offset from, std::uint32_t max_events,
                            std::uint32_t /*max_bytes*/, log::ReadBatch& out) override {
    out.events.clear();
    out.buffers.assign(1, hold_);
    for (std::uint32_t i = 0; i < max_events; ++i) {
      const Offset offset = from.plus(i);
      out.events.push_back(
          {.offset = offset,
           .append_time = WallMs(0),
           .frame = as_bytes(frames_[static_cast<std::size_t>(offset.value()) % kFrames])});
    }
    out.next = from.plus(max_events);
    return delivery::ReadStatus::kReady;
  }
  void deliver(delivery::Offer offer) override { ids.push_back(offer.id); }
  void dead_letter(delivery::DeadLetterRequest /*request*/) override {}
  void count(delivery::ProgressKey /*key*/, delivery::DeliveryEvent what,
             std::uint64_t events) override {
    counts_[static_cast<std::size_t>(what)] += events;
  }
  void lane_part_done(ProgressNumber /*lane*/, PartitionNumber /*partition*/) override {}
  [[nodiscard]] std::uint64_t count_of(delivery::DeliveryEvent what) const {
    return counts_[static_cast<std::size_t>(what)];
  }

  std::vector<delivery::DeliveryId> ids;
  io::Journal* journal_to = nullptr;
  state::RecordSink* records_to = nullptr;  // without a journal

 private:
  std::array<std::string, kFrames> frames_;
  std::shared_ptr<const void> hold_ = std::make_shared<int>(0);
  std::string buffered_;
  std::array<std::uint64_t, 32> counts_{};
};

struct World {
  World(bool keys, std::uint32_t window, std::uint64_t window_bytes, std::uint32_t partitions = 1)
      // As far past a hole as a workload wants.
      : port(keys), dispatcher({.epoch = Epoch(1), .ahead_max = kAnyBytes}, port, Random(1)) {
    for (std::uint32_t i = 0; i < partitions; ++i) {
      dispatcher.add_partition({.number = partition(i),
                                .index = PartitionIndex(i),
                                .topic = "t",
                                .incarnation = Incarnation(1),
                                .dlq_number = PartitionNumber(partition(i).value() + 1),
                                .log_start = Offset(0),
                                .end = Offset(INT64_MAX / 2)});
    }
    delivery::GroupSpec group{
        .number = kGroup, .topic = "t", .name = "g", .principal = "", .policy = {}};
    group.policy.ordering = keys ? delivery::Ordering::kKey : delivery::Ordering::kNone;
    dispatcher.add_group(group);
    for (std::uint32_t i = 0; i < partitions; ++i) {
      dispatcher.open_progress({kGroup, partition(i)}, Offset(0));
    }
    dispatcher.add_client(
        {.number = kClient, .client_id = "c1", .principal = "", .group = kGroup, .partitions = {}},
        now);
    dispatcher.resume(now, WallMs(0), true);
    dispatcher.set_window(kClient, window, window_bytes);
    dispatcher.set_demand(kClient, delivery::Dispatcher::kUnlimited);
  }
  // Its dead letters have the number behind it.
  static PartitionNumber partition(std::uint32_t index) {
    return PartitionNumber(kPartition.value() + 2 * index);
  }
  void fill() {
    while (dispatcher.pump(now, WallMs(0), 1U << 20U)) {
    }
  }
  void ack(const delivery::DeliveryId& id) {
    const auto answer = dispatcher.settle({.verb = delivery::Verb::kAck,
                                           .client_id = "c1",
                                           .principal = "",
                                           .id = id,
                                           .delay_ms = {},
                                           .extend_ms = {},
                                           .reason = {}},
                                          now);
    ACKLINE_CHECK(answer.has_value());
  }
  // A turn of a shard: up to 100 acks come in, in random order; then what fits is offered. Returns
  // how many were acked.
  std::uint64_t turn(Random& random) {
    open.insert(open.end(), port.ids.begin(), port.ids.end());
    port.ids.clear();
    std::uint64_t acked = 0;
    for (; acked < 100 && !open.empty(); ++acked) {
      const std::size_t at = random.below(open.size());
      ack(open[at]);
      open[at] = open.back();
      open.pop_back();
    }
    dispatcher.pump(now, WallMs(0), 4096);
    return acked;
  }
  // Time goes on; leases and timers are looked at.
  void tick(MonoMs at) {
    now = at;
    dispatcher.tick(now);
  }
  // Leaves the first delivery in flight and settles `count` above it.
  void settle_above_a_hole(std::uint64_t count) {
    fill();
    for (std::uint64_t settled = 0; settled < count;) {
      std::vector<delivery::DeliveryId> ids;
      ids.swap(port.ids);
      ACKLINE_CHECK(!ids.empty());  // else it would wait for ever
      for (const delivery::DeliveryId& id : ids) {
        if (id.offset != Offset(0)) {
          ack(id);
          ++settled;
        }
      }
      fill();
    }
  }

  MonoMs now{0};
  Port port;
  delivery::Dispatcher dispatcher;
  std::vector<delivery::DeliveryId> open;
};

}  // namespace ackline::cli::load

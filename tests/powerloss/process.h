// One process of the product on disks in memory: the real `runtime::Node` with its data directory
// and stores, on one thread and virtual time. Owned and used by one thread; `boot` tells what is
// wrong with the disks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "ackline/base/metrics.h"
#include "ackline/delivery/delivery_id.h"
#include "ackline/io/fs/memory_file_system.h"
#include "ackline/runtime/node.h"
#include "ackline/state/data_directory.h"
#include "tests/support/sim/node_stores.h"
#include "tests/support/sim/sim_scheduler.h"

namespace ackline::powerloss {

// What stays when a process ends.
struct Disks {
  io::MemoryFileSystem& fs;
  testing::StoreDisks& stores;
};

// Small files, so that all of them are rolled, sealed and cut within a second.
struct Shape {
  std::uint32_t shards = 1;
  std::uint64_t segment_bytes = 8U << 10U;
  std::uint64_t journal_file_bytes = 48U << 10U;
  std::int64_t checkpoint_interval_ms = 70;
  bool ack_sync = true;
  bool rows = false;  // `delivery.store: rocksdb`
};

class Process {
 public:
  Process(Disks disks, Shape shape, std::uint64_t seed);
  // Dies: nothing is written any more, whatever was under way.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] Result<void> boot();
  // Runs for so long in virtual time.
  void run(std::int64_t ms);
  [[nodiscard]] testing::SimScheduler& time() { return time_; }
  [[nodiscard]] runtime::Node& node() { return *node_; }
  // `work` on the thread of shard 0.
  void call(Task work) { time_.executor(0).post(std::move(work)); }
  [[nodiscard]] api::Traffic& traffic() { return node_->traffic(ShardIndex(0)); }
  [[nodiscard]] api::Admin& admin() { return node_->admin(ShardIndex(0)); }

 private:
  Disks disks_;
  Shape shape_;
  Random random_;
  testing::SimScheduler time_;
  std::unique_ptr<MetricRegistry> metrics_;
  std::optional<state::DataDirectory> data_;
  std::unique_ptr<delivery::DeliveryIdCodec> ids_;
  testing::NodeStores stores_;
  std::unique_ptr<runtime::Node> node_;
};

}  // namespace ackline::powerloss

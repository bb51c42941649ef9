// The world that one simulated server lives in: its disk, its stores, its time, and its deaths.
//
// The server is the product's own `runtime::Node` with its own data directory; doubles are the
// clocks, randomness, executors and storage threads (SimScheduler), the file system
// (MemoryFileSystem) and the KeyValue under meta, offsets and the rows of deliveries
// (MemoryKeyValueDisk). Nothing else.
//
// A process ends by `kill -9` (page cache kept), by a power cut (what was not synced survives in
// part), at any moment or at any single file operation, or by an orderly stop; the next one boots
// on what is left, as an operator would start it, perhaps with another number of shards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ackline/base/metrics.h"
#include "ackline/base/random.h"
#include "ackline/delivery/delivery_id.h"
#include "ackline/io/fs/memory_file_system.h"
#include "ackline/runtime/node.h"
#include "ackline/state/data_directory.h"
#include "tests/support/kv/memory_key_value.h"
#include "tests/support/sim/node_stores.h"
#include "tests/support/sim/sim_scheduler.h"

namespace ackline::sim {

enum class Death : std::uint8_t { kKill, kPowerCut, kStop };

struct WorldOptions {
  std::uint64_t seed = 1;
  std::uint32_t shards = 1;
  testing::SimTimes times;
  std::uint64_t segment_bytes = 1U << 20U;
  std::uint64_t journal_file_bytes = 1U << 20U;
  std::uint64_t checkpoint_bytes = 1U << 20U;
  std::int64_t checkpoint_interval_ms = 5000;
  std::int64_t retention_interval_ms = 2000;
  bool retention_hold = true;
  std::int64_t reconnect_grace_ms = 5000;
  bool sync_commit = true;
  bool ack_sync = false;
  std::int64_t sync_interval_ms = 10;
  std::uint64_t ahead_max = 4'194'304;
  std::uint32_t suspects_per_client = 1;
  std::uint32_t read_events = 256;
  std::uint32_t read_bytes = 256 * 1024;
  std::uint32_t restarts_max = 20;
  bool rows = false;               // `delivery.store: rocksdb`
  std::size_t cache_entries = 10;  // of rows
  std::int64_t flush_ms = 100;
};

// What a death may take of what was answered or offered before it.
struct Durable {
  std::int64_t answers = 0;  // a power cut: nothing that was answered before this moment
  std::int64_t offers = 0;   // any death: no first offer from before this moment
};

// What becomes of the next matching file operation.
enum class DiskFault : std::uint8_t {
  kWriteError,
  kTornWrite,
  kNoSpace,
  kSyncError,      // of the journal: poison
  kSyncElsewhere,  // of a checkpoint
  kReadError,
  kRenameError,
  kRemoveError,
  // Of the KeyValue under meta and offsets.
  kKvRefused,
  kKvFull,
  kKvAmbiguous,  // perhaps done, and poisoned until it is opened again
  kKvReadError,
};

class World {
 public:
  explicit World(WorldOptions options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Boots until it works (a fault of a boot is repaired by the next one). False: the server refuses
  // to start on a sound disk, which is a bug; `trouble` says why.
  [[nodiscard]] bool boot();
  // Ends the process now. kStop is asked of the server, and waited for.
  void end(Death how);
  // The process dies at its `operations`-th file operation from now; `end_if_struck` ends it.
  void strike_after(std::uint64_t operations, Death how);
  [[nodiscard]] bool struck() const { return struck_.has_value(); }
  [[nodiscard]] Death struck_how() const { return *struck_; }
  // One fault of that kind, at the next operation that it fits.
  void arm_fault(DiskFault fault);
  void set_full(bool full);
  // No fault is waiting any more.
  void disarm();
  [[nodiscard]] std::uint64_t faults_fired() const { return faults_fired_; }
  // A sync failed: the server's journal is poisoned and somebody should restart it.
  [[nodiscard]] bool poisoned() const { return poisoned_ || kv_poisoned_; }

  [[nodiscard]] bool running() const { return node_ != nullptr; }
  // It serves: clients may call.
  [[nodiscard]] bool alive() const { return node_ != nullptr && started_; }
  [[nodiscard]] std::uint32_t life() const { return life_; }
  [[nodiscard]] runtime::Node& node() { return *node_; }
  [[nodiscard]] testing::SimScheduler& time() { return time_; }
  // Until then the disk does not do what it should.
  void note_trouble(std::int64_t until_ms) {
    if (calm()) trouble_since_ = time_.now();
    last_trouble_ = std::max(last_trouble_, until_ms);
  }
  [[nodiscard]] std::uint32_t shards() const { return options_.shards; }
  void set_shards(std::uint32_t shards) { options_.shards = shards; }
  // Where deliveries are from the next boot on.
  void set_rows(bool rows) { options_.rows = rows; }
  [[nodiscard]] bool rows() const { return options_.rows; }
  // Runs `work` on the thread of shard `index`, as a connection's loop does.
  void on_shard(std::uint32_t index, Task work);
  // The disk and the stores do what they should, and did so for a while.
  [[nodiscard]] bool calm() const {
    return last_trouble_ < time_.now() - kCalmMs && !poisoned_ && !kv_poisoned_ && !full_;
  }
  // What survives a death now: the journals' files and the store of rows tell.
  [[nodiscard]] Durable durable() const;
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Told of each death before the disk takes it.
  std::function<void(Death how, Durable durable)> on_death;

 private:
  static constexpr std::int64_t kCalmMs = 1000;  // after trouble
  [[nodiscard]] Result<void> boot_once();
  void open_hook();
  [[nodiscard]] std::optional<io::FsFault> on_operation(io::FsOperation operation,
                                                        const std::string& path);
  [[nodiscard]] std::optional<testing::KvFault> on_kv_operation(testing::KvOperation operation);
  void note(io::FsOperation operation, const std::string& path);
  void take_down(Death how);
  [[nodiscard]] runtime::NodeOptions node_options();

  // The journal's files as the disk model sees them.
  struct JournalFile {
    std::optional<std::int64_t> dirty_since;
    bool named = false;           // its directory entry is on disk
    bool content_synced = false;  // since the last write, but for the name
  };

  WorldOptions options_;
  Random random_;
  Random page_cache_;
  testing::SimScheduler time_;
  io::MemoryFileSystem fs_;
  testing::StoreDisks stores_on_disk_;
  std::map<std::string, JournalFile> files_;
  std::uint32_t life_ = 0;
  std::uint64_t faults_fired_ = 0;
  std::optional<DiskFault> fault_;
  std::optional<std::uint64_t> strike_in_;
  Death strike_how_ = Death::kKill;
  std::optional<Death> struck_;
  bool started_ = false;
  bool poisoned_ = false;
  bool kv_poisoned_ = false;
  bool full_ = false;
  std::int64_t served_until_ = 0;   // the end of the process before
  std::int64_t last_trouble_ = 0;   // the last moment of a stall, fault or full disk
  std::int64_t trouble_since_ = 0;  // the first one without a calm in between
  std::int64_t rows_dirty_since_ = 0;
  std::string trouble_;

  // One process, in the order in which it is made.
  std::unique_ptr<MetricRegistry> metrics_;
  std::optional<state::DataDirectory> data_;
  std::unique_ptr<delivery::DeliveryIdCodec> ids_;
  testing::NodeStores stores_;
  std::unique_ptr<runtime::Node> node_;
};

}  // namespace ackline::sim

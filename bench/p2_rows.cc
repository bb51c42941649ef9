// P2, deliveries as rows: P1's bare workload on an event loop with `runtime::StoredDeliveries` on a
// real RocksDB, a change set a turn, as a shard does it; beside it the same with the records thrown
// away. A round ends when its last ack is written. Cached: acks of later turns gather while a
// commit is under way, and the next deliveries are offered meanwhile. Written through: an offer
// leaves after its write, so each turn waits for its commit. Options: --dir DIRECTORY (wiped)
// --pairs N --events N.
#include <fmt/format.h>

#include <memory>
#include <semaphore>

#include "ackline/base/clock.h"
#include "ackline/io/fs/posix_file_system.h"
#include "ackline/io/kv/rocksdb_key_value.h"
#include "ackline/io/net/event_loop.h"
#include "ackline/io/net/storage_threads.h"
#include "ackline/runtime/stored_deliveries.h"
#include "bench/support/dispatcher_world.h"
#include "bench/support/rounds.h"

namespace ackline::bench {
namespace {

enum class Keeps : std::uint8_t { kNothing, kCached, kThrough };

class Loop final : public state::RecordSink {
 public:
  Loop(const SystemClock& clock, io::FileSystem& fs, io::net::StorageThreads& storage,
       const std::string& directory, Keeps keeps)
      : loop_(clock, "p2"), keeps_(keeps) {
    world_.now = clock.mono();
    if (keeps == Keeps::kNothing) return;
    auto kv =
        io::open_rocksdb(fs, directory, {.write_buffer_bytes = 32U << 20U, .damaged_remedy = {}});
    ACKLINE_CHECK(kv.has_value());
    kv_ = std::move(*kv);
    runtime::StoredDeliveriesOptions options;
    options.cache_entries = keeps == Keeps::kCached ? 10'000 : 0;
    rows_ = std::make_unique<runtime::StoredDeliveries>(
        options, runtime::StoredDeliveries::Dependencies{loop_, storage, *kv_});
    ACKLINE_CHECK(rows_->open({kPartition}).has_value());
    ACKLINE_CHECK(rows_->take_over(world_.dispatcher, Lsn{0}).has_value());
    rows_->listen({.on_progress = [this] { progress(); },
                   .on_failed =
                       [](const Error& why) {
                         fmt::print(stderr, "{}\n", why.detail);
                         std::abort();
                       },
                   .sync_journal = {}});
    world_.port.records_to = this;
  }

  Result<void> append(state::RecordType type, PartitionNumber partition, ByteView body) override {
    rows_->record(type, partition, body);
    return {};
  }
  void start() {
    world_.fill();
    loop_.start();
  }
  // Blocks until `events` were delivered and acked, and the acks are written.
  void run(std::uint64_t events) {
    left_ = events;
    loop_.post([this] { turn(); });
    finished_.acquire();
  }
  void close() {
    loop_.call([this] { rows_.reset(); });
  }

 private:
  void turn() {
    const MonoMs at = loop_.clock().mono();
    if (at != world_.now) world_.tick(at);
    const std::uint64_t acked = world_.turn(random_);
    left_ -= std::min(left_, acked);
    if (rows_) {
      ACKLINE_CHECK(rows_->apply(world_.dispatcher, std::nullopt).has_value());
      rows_->want_written();
      const bool waits = keeps_ == Keeps::kThrough || rows_->full() || left_ == 0;
      if (waits && rows_->written() < rows_->applied()) {
        waiting_ = true;
        return;
      }
    }
    next();
  }
  void progress() {
    if (!waiting_ || rows_->written() < rows_->applied()) return;
    waiting_ = false;
    next();
  }
  void next() {
    if (left_ > 0) {
      loop_.post([this] { turn(); });
      return;
    }
    finished_.release();
  }

  io::net::EventLoop loop_;
  const Keeps keeps_;
  World world_{false, kWindow, kAnyBytes};
  std::unique_ptr<io::KeyValue> kv_;
  std::unique_ptr<runtime::StoredDeliveries> rows_;
  Random random_{7};
  std::uint64_t left_ = 0;
  bool waiting_ = false;
  std::binary_semaphore finished_{0};
};

int run(const std::string& directory, std::uint64_t pairs, std::uint64_t events) {
  io::PosixFileSystem fs;
  static_cast<void>(fs.remove_all(directory + "/rows"));
  const SystemClock clock;
  io::net::StorageThreads storage(2);
  Loop memory(clock, fs, storage, "", Keeps::kNothing);
  Loop cached(clock, fs, storage, directory + "/rows/cached", Keeps::kCached);
  Loop through(clock, fs, storage, directory + "/rows/through", Keeps::kThrough);
  Rounds rounds[] = {
      {"memory", {}, {}}, {"RocksDB, cached", {}, {}}, {"RocksDB, written through", {}, {}}};
  Loop* loops[] = {&memory, &cached, &through};
  for (Loop* one : loops) one->start();
  for (std::uint64_t pair = 0; pair <= pairs; ++pair) {
    for (std::size_t i = 0; i < std::size(loops); ++i) {
      const Stopwatch watch;
      loops[i]->run(events);
      if (pair > 0) watch.add_to(rounds[i], events);
    }
  }
  cached.close();
  through.close();
  storage.stop();
  for (const Rounds& one : rounds) print(one);
  return 0;
}

}  // namespace
}  // namespace ackline::bench

int main(int argc, char** argv) {
  using namespace ackline::bench;  // NOLINT
  const std::string directory = text_option(argc, argv, "--dir", "");
  if (directory.empty()) {
    fmt::print(stderr, "usage: p2_rows --dir DIRECTORY [--pairs N] [--events N]\n");
    return 2;
  }
  return run(directory, number_option(argc, argv, "--pairs", 15),
             number_option(argc, argv, "--events", 100'000));
}

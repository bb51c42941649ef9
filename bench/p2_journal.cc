// P2, alone: P1's bare workload on an event loop with a real journal on a real disk, a batch a
// turn, synced within 10 ms; beside it the same with the records thrown away, and what a store with
// a write per delivery does instead (RocksDB: put on deliver, delete on ack, 100 a batch,
// write-ahead log without sync). Options: --dir DIRECTORY (wiped) --pairs N --events N (a round).
#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <deque>
#include <memory>
#include <semaphore>

#include "ackline/base/clock.h"
#include "ackline/io/fs/posix_file_system.h"
#include "ackline/io/net/event_loop.h"
#include "ackline/io/net/storage_threads.h"
#include "bench/support/dispatcher_world.h"
#include "bench/support/rounds.h"

namespace ackline::bench {
namespace {

constexpr std::uint64_t kRecycleBytes = 64U << 20U;

class Loop {
 public:
  Loop(const SystemClock& clock, io::FileSystem& fs, io::net::StorageThreads& storage,
       const std::string& directory)
      : loop_(clock, "p2") {
    world.now = clock.mono();
    if (directory.empty()) return;
    auto recovered = io::recover_journal(
        fs, directory, {}, [](const io::JournalRecovery&) { return Result<void>(); },
        [](Lsn, const io::JournalRecord&) { return Result<void>(); });
    if (!recovered) std::abort();
    auto opened =
        io::Journal::open({.fs = fs,
                           .directory = directory,
                           .shard = ShardIndex(0),
                           .executor = loop_,
                           .storage = storage},
                          *recovered, {.type = 1, .partition = PartitionNumber(0), .body = {}});
    if (!opened) {
      fmt::print(stderr, "journal: {}\n", opened.error().detail);
      std::abort();
    }
    journal_ = std::move(*opened);
    world.port.journal_to = journal_.get();
  }
  ~Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void start() {
    world.fill();
    loop_.start();
  }
  // Blocks until `events` were delivered and acked.
  void run(std::uint64_t events) {
    left_ = events;
    loop_.post([this] { turn(); });
    finished_.acquire();
  }
  // Closes the journal. The loop lives on for syncs that are under way.
  void close() {
    loop_.call([this] { journal_.reset(); });
  }
  // How many batches and syncs it took so far.
  [[nodiscard]] std::string words() const {
    const io::JournalStats& stats = journal_->stats();
    return fmt::format("{} batches, {} syncs, {:.1f} bytes an event", stats.batches, stats.syncs,
                       static_cast<double>(stats.bytes) / static_cast<double>(settled_));
  }

 private:
  // One turn of a shard; the next one comes by way of the loop, so that timers and syncs run.
  void turn() {
    const MonoMs at = loop_.clock().mono();
    if (at != world.now) world.tick(at);
    const std::uint64_t acked = world.turn(random_);
    settled_ += acked;
    if (journal_) {
      if (!journal_->commit()) std::abort();
      if (journal_->journaled_bytes() > kRecycleBytes) journal_->recycle_below(journal_->synced());
    }
    if (acked < left_) {
      left_ -= acked;
      loop_.post([this] { turn(); });
      return;
    }
    finished_.release();
  }

  io::net::EventLoop loop_;
  World world{false, kWindow, kAnyBytes};
  std::unique_ptr<io::Journal> journal_;
  Random random_{7};
  std::uint64_t left_ = 0;
  std::uint64_t settled_ = 0;
  std::binary_semaphore finished_{0};
};

// A row a delivery: written when it is offered, deleted when it is acked, a thousand later.
class RowPerDelivery {
 public:
  explicit RowPerDelivery(const std::string& directory) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    if (!rocksdb::DB::Open(options, directory, &opened).ok()) std::abort();
    db_.reset(opened);
  }
  void run(std::uint64_t events) {
    const std::string value(100, 'x');
    for (std::uint64_t done = 0; done < events; done += 100) {
      rocksdb::WriteBatch batch;
      for (int i = 0; i < 100; ++i) {
        const std::string key = fmt::format("{:016x}", next_++);
        batch.Put(key, value);
        open_.push_back(key);
        if (open_.size() > kWindow) {
          batch.Delete(open_.front());
          open_.pop_front();
        }
      }
      if (!db_->Write({}, &batch).ok()) std::abort();
    }
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::deque<std::string> open_;
  std::uint64_t next_ = 0;
};

int run(const std::string& directory, std::uint64_t pairs, std::uint64_t events) {
  io::PosixFileSystem fs;
  const std::string journal = directory + "/journal";
  const std::string rows = directory + "/rows";
  for (const std::string& one : {journal, rows}) {
    static_cast<void>(fs.remove_all(one));
    if (!fs.make_directories(one)) {
      fmt::print(stderr, "{} cannot be made\n", one);
      return 1;
    }
  }
  const SystemClock clock;
  io::net::StorageThreads storage(2);
  Loop journaled(clock, fs, storage, journal);
  Loop in_memory(clock, fs, storage, "");
  RowPerDelivery per_row(rows);
  Rounds with_journal{"journal on disk", {}, {}};
  Rounds without{"records thrown away", {}, {}};
  Rounds rocks{"RocksDB put and delete", {}, {}};
  journaled.start();
  in_memory.start();
  const std::uint64_t fewer = events / 8 / 100 * 100 + 100;  // RocksDB is that much slower
  for (std::uint64_t pair = 0; pair <= pairs; ++pair) {
    const bool counts = pair > 0;
    const Stopwatch first;
    journaled.run(events);
    if (counts) first.add_to(with_journal, events);
    const Stopwatch second;
    in_memory.run(events);
    if (counts) second.add_to(without, events);
    const Stopwatch third;
    per_row.run(fewer);
    if (counts) third.add_to(rocks, fewer);
  }
  fmt::print(stderr, "{}\n", journaled.words());
  journaled.close();
  storage.stop();
  for (const Rounds& one : {with_journal, without, rocks}) print(one);
  return 0;
}

}  // namespace
}  // namespace ackline::bench

int main(int argc, char** argv) {
  using namespace ackline::bench;  // NOLINT
  const std::string directory = text_option(argc, argv, "--dir", "");
  if (directory.empty()) {
    fmt::print(stderr, "usage: p2_journal --dir DIRECTORY [--pairs N] [--events N]\n");
    return 2;
  }
  return run(directory, number_option(argc, argv, "--pairs", 15),
             number_option(argc, argv, "--events", 800'000));
}

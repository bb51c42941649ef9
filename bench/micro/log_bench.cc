// What the embedded log costs per event of 256 bytes, on real files in a temporary directory:
// append with write-behind (the journal's sync is not in here), reading on, one event alone.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "ackline/io/fs/posix_file_system.h"
#include "ackline/log/local/partition.h"

namespace ackline::log {
namespace {

constexpr std::int64_t kEvents = 1'000'000;
constexpr std::size_t kFrameBytes = 256;

// A partition of its own, removed at the end.
class Bench {
 public:
  explicit Bench(std::int64_t events, std::size_t batch) : frame_(kFrameBytes, 'x') {
    const char* base = std::getenv("TMPDIR");
    directory_ = std::string(base != nullptr ? base : "/tmp") + "/ackline-log-bench";
    benchmark::DoNotOptimize(fs_.remove_all(directory_));
    log_ = LocalPartition::open(fs_, directory_, PartitionNumber(1), std::nullopt, cache_).value();
    append(events, batch);
  }
  ~Bench() { benchmark::DoNotOptimize(log_->destroy()); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void append(std::int64_t events, std::size_t batch) {
    const std::vector<ByteView> frames(batch, as_bytes(frame_));
    for (std::int64_t done = 0; done < events; done += static_cast<std::int64_t>(batch)) {
      body_.clear();
      benchmark::DoNotOptimize(log_->append(frames, WallMs(done), body_));
      log_->on_synced(log_->next_offset());
      if (log_->needs_flush() && !log_->flush_tail()) std::abort();
    }
  }

  ReadBatch read(Offset at, ReadLimits limits) {
    while (true) {
      Result<ReadBatch> batch = log_->read(at, limits);
      if (batch) return *std::move(batch);
      std::unique_ptr<ReadJob> job = log_->read_job(at);
      job->run();
      if (!log_->absorb(std::move(job))) std::abort();
    }
  }

  // As if somebody had read something else for a while.
  void forget() {
    if (!log_->flush_tail()) std::abort();
    log_->release_memory();
    cache_.drop(PartitionNumber(1));
  }

 private:
  io::PosixFileSystem fs_;
  ReadCache cache_;
  std::string directory_;
  std::string frame_;
  std::string body_;
  std::unique_ptr<LocalPartition> log_;
};

void append_events(benchmark::State& state) {
  for (auto _ : state) {
    Bench bench(kEvents, static_cast<std::size_t>(state.range(0)));
  }
  state.SetItemsProcessed(state.iterations() * kEvents);
}
BENCHMARK(append_events)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);

void read_on(benchmark::State& state) {
  Bench bench(kEvents, 100);
  for (auto _ : state) {
    bench.forget();
    std::uint64_t bytes = 0;
    for (Offset at(0); at < Offset(kEvents);) {
      const ReadBatch batch =
          bench.read(at, {static_cast<std::uint32_t>(state.range(0)), std::uint64_t{1} << 20U});
      for (const StoredEvent& event : batch.events) bytes += event.frame.size();
      at = batch.next;
    }
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(state.iterations() * kEvents);
}
BENCHMARK(read_on)->Arg(1)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

// A redelivery: its bytes are in the page cache, not in ours.
void read_one(benchmark::State& state) {
  Bench bench(kEvents / 10, 100);
  std::int64_t at = 0;
  for (auto _ : state) {
    at = (at + 7919) % (kEvents / 10);
    if (at % 64 == 0) bench.forget();
    benchmark::DoNotOptimize(bench.read(Offset(at), {1, 1}));
  }
}
BENCHMARK(read_one);

}  // namespace
}  // namespace ackline::log

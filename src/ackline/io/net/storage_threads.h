// The storage threads: where calls that block (sync, cold reads, RocksDB) run.
//
// Work of one lane runs in order and never twice at the same time; lanes share the threads fairly.
// `done` of one lane's work is posted before the lane's next work begins.
#pragma once

#include <cstddef>
#include <memory>

#include "ackline/base/executor.h"

namespace ackline::io::net {

class StorageThreads final : public StorageExecutor {
 public:
  explicit StorageThreads(std::size_t threads);
  // Finishes what was asked, then joins. Loops named as `home` must still exist.
  ~StorageThreads() override;
  StorageThreads(const StorageThreads&) = delete;
  StorageThreads& operator=(const StorageThreads&) = delete;

  void run(std::uint32_t lane, Task work, Executor& home, Task done) override;
  // As the destructor; later calls of `run` are a programming error.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackline::io::net

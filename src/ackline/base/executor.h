// Where code runs: a shard's event loop and the storage threads, as seams.
//
// A shard is one thread with one event loop; everything a shard owns is touched there only.
// Blocking calls (sync, cold reads, RocksDB) run on storage threads and come back as tasks. The
// real ones are in `io/`; the simulation has its own that run everything in one thread with a
// virtual clock and a seeded order.
#pragma once

#include <cstdint>
#include <functional>

#include "ackline/base/clock.h"
#include "ackline/base/types.h"

namespace ackline {

using Task = std::move_only_function<void()>;

class Executor {
 public:
  using TimerId = std::uint64_t;  // 0 is no timer
  virtual ~Executor() = default;
  // Runs `task` later on the executor's thread. Any thread; FIFO per posting thread; never runs it
  // inline.
  virtual void post(Task task) = 0;
  // Runs `task` once at or after `at`. On the executor's thread only.
  virtual TimerId schedule(MonoMs at, Task task) = 0;
  // A timer that has fired or was cancelled is ignored. On the executor's thread only.
  virtual void cancel(TimerId timer) = 0;
  [[nodiscard]] virtual const Clock& clock() const = 0;
  // True on the executor's own thread.
  [[nodiscard]] virtual bool here() const = 0;
};

class StorageExecutor {
 public:
  virtual ~StorageExecutor() = default;
  // Runs `work` on a storage thread, in the order of the calls that name the same `lane` (syncs of
  // one journal must not overtake each other), then posts `done` to `home`. Any thread. `home`
  // outlives the work.
  virtual void run(std::uint32_t lane, Task work, Executor& home, Task done) = 0;
};

}  // namespace ackline

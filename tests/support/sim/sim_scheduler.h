// One thread that stands in for all: virtual clocks, the shards' executors and the storage threads.
//
// Event-driven: when nothing is ready the clocks jump to the next moment at which something is, so
// an idle minute costs nothing. What the real twins guarantee is kept: an executor's tasks run in
// the order in which they were posted (one queue), a storage lane runs in order, and a task never
// runs inside the call that posted it. Everything else is a seeded choice: which executor goes
// next, how long a hand-over and a storage call take.
//
// `end_process` is the death of the process: what was posted, armed or under way is dropped unrun,
// as its memory would be. `outside` is the world's own time line, which survives. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ackline/base/executor.h"
#include "ackline/base/random.h"

namespace ackline::testing {

struct SimTimes {
  // A hand-over from one thread to another takes 0 to this.
  std::int64_t handover_max_ms = 0;
  // A storage call takes 0 to this; its completion is told 0 to this later.
  std::int64_t storage_max_ms = 3;
};

class SimScheduler;

class SimExecutor final : public Executor {
 public:
  SimExecutor(SimScheduler& scheduler, std::uint32_t index);
  ~SimExecutor() override;
  void post(Task task) override;
  TimerId schedule(MonoMs at, Task task) override;
  void cancel(TimerId timer) override;
  [[nodiscard]] const Clock& clock() const override;
  [[nodiscard]] bool here() const override;

 private:
  friend class SimScheduler;
  struct Posted {
    std::int64_t ready_at = 0;
    Task task;
  };
  SimScheduler& scheduler_;
  std::uint32_t index_;
  std::deque<Posted> inbox_;
  std::map<std::pair<std::int64_t, TimerId>, Task> timers_;
  std::map<TimerId, std::int64_t> due_;
  TimerId last_timer_ = 0;
};

class SimScheduler final : public StorageExecutor {
 public:
  SimScheduler(std::uint64_t seed, SimTimes times);
  ~SimScheduler() override;
  SimScheduler(const SimScheduler&) = delete;
  SimScheduler& operator=(const SimScheduler&) = delete;

  // --- the process
  // Executors of a new process; those of the one before are gone.
  void start_process(std::uint32_t executors);
  // Drops what was posted, armed or under way; before and after the objects that it refers to go.
  void drop_tasks();
  void end_process();
  [[nodiscard]] SimExecutor& executor(std::uint32_t index) { return *executors_[index]; }
  void run(std::uint32_t lane, Task work, Executor& home, Task done) override;
  // Storage calls that begin before `until` wait for it.
  void stall_storage(std::int64_t until_ms);
  // The process stands still (SIGSTOP): the clocks go on, its tasks and timers do not.
  void pause_process(std::int64_t until_ms) { paused_until_ = until_ms; }
  [[nodiscard]] std::int64_t paused_until() const { return paused_until_; }

  // --- the world
  // `task` at `at_ms`, outside of the process.
  void outside(std::int64_t at_ms, std::function<void()> task);
  // Runs until `at_ms`, or until `stop` says so (looked at after each task).
  void run_until(std::int64_t at_ms, const std::function<bool()>& stop);
  [[nodiscard]] std::int64_t now() const { return now_ms_; }
  // Time in which no process lives.
  void skip(std::int64_t ms) { now_ms_ += ms; }
  void jump_wall(std::int64_t ms) { wall_skew_ms_ += ms; }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] std::uint64_t tasks_run() const { return tasks_run_; }
  // The process did not come to rest at one moment: it burns a whole core.
  [[nodiscard]] bool restless() const { return restless_; }
  // A number over everything that ran: equal for equal seeds.
  [[nodiscard]] std::uint64_t trace() const { return trace_; }

 private:
  friend class SimExecutor;
  static constexpr std::uint64_t kRestlessTasks = 500'000;
  static constexpr std::uint32_t kOutside = 0xffffffff;
  static constexpr std::uint32_t kStorage = 0xfffffffe;

  class SimClock final : public Clock {
   public:
    explicit SimClock(const SimScheduler& scheduler) : scheduler_(scheduler) {}
    [[nodiscard]] MonoMs mono() const override { return MonoMs(scheduler_.now_ms_); }
    [[nodiscard]] WallMs wall() const override {
      return WallMs(kWallStart + scheduler_.now_ms_ + scheduler_.wall_skew_ms_);
    }

   private:
    static constexpr std::int64_t kWallStart = 1'790'000'000'000;
    const SimScheduler& scheduler_;
  };
  struct Work {
    std::uint32_t lane = 0;
    Task work;
    SimExecutor* home = nullptr;
    Task done;
  };
  // Runs one thing that is ready now; false when there is none.
  bool step();
  [[nodiscard]] std::int64_t next_moment() const;
  void post(SimExecutor& to, Task task, std::int64_t delay_ms, std::uint32_t sender);
  void run_as(std::uint32_t thread, Task& task);

  Random random_;
  SimTimes times_;
  SimClock clock_;
  std::int64_t now_ms_ = 1000;
  std::int64_t wall_skew_ms_ = 0;
  std::int64_t stalled_until_ = 0;
  std::int64_t paused_until_ = 0;
  std::uint32_t running_ = kOutside;
  std::uint64_t tasks_run_ = 0;
  std::uint64_t trace_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t at_this_moment_ = 0;
  bool restless_ = false;
  std::vector<std::unique_ptr<SimExecutor>> executors_;
  std::map<std::uint32_t, std::int64_t> lane_free_;
  std::map<std::pair<std::int64_t, std::uint64_t>, Work> storage_;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> outside_;
};

}  // namespace ackline::testing

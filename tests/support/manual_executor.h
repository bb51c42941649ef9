// One thread that a test turns by hand: a clock that moves when it is told to, tasks, timers, and
// storage work that waits until it is told to run.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "ackline/base/executor.h"
#include "tests/support/manual_clock.h"

namespace ackline::testing {

class ManualExecutor final : public Executor {
 public:
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  TimerId schedule(MonoMs at, Task task) override {
    timers_.emplace(std::pair(at, ++last_timer_), std::move(task));
    return last_timer_;
  }
  void cancel(TimerId timer) override {
    std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == timer; });
  }
  [[nodiscard]] const Clock& clock() const override { return clock_; }
  [[nodiscard]] bool here() const override { return true; }

  bool run_one() {
    if (tasks_.empty()) return false;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
    return true;
  }
  // Runs what was posted, and what that posts.
  void drain() {
    while (run_one()) {
    }
  }
  // Lets `ms` pass, timers in order. What was posted runs before, and what a timer posts after it.
  void advance(std::int64_t ms) {
    drain();
    pass(ms, [this] { drain(); });
  }
  // The same, but what is posted waits.
  void fire(std::int64_t ms) {
    pass(ms, [] {});
  }
  [[nodiscard]] std::size_t timers() const { return timers_.size(); }
  // The process dies: nothing that was planned happens.
  void forget() {
    tasks_.clear();
    timers_.clear();
  }

 private:
  template <class After>
  void pass(std::int64_t ms, After after) {
    const MonoMs end = clock_.mono().plus(ms);
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      auto timer = timers_.extract(timers_.begin());
      const MonoMs at = timer.key().first;
      if (at > clock_.mono()) clock_.advance(at.value() - clock_.mono().value());
      timer.mapped()();
      after();
    }
    clock_.advance(end.value() - clock_.mono().value());
  }

  ManualClock clock_;
  std::deque<Task> tasks_;
  std::map<std::pair<MonoMs, TimerId>, Task> timers_;
  TimerId last_timer_ = 0;
};

class ManualStorage final : public StorageExecutor {
 public:
  void run(std::uint32_t /*lane*/, Task work, Executor& home, Task done) override {
    jobs_.push_back({std::move(work), &home, std::move(done)});
  }
  bool run_one() {
    if (jobs_.empty()) return false;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    job.work();
    job.home->post(std::move(job.done));
    return true;
  }
  [[nodiscard]] std::size_t waiting() const { return jobs_.size(); }
  void forget() { jobs_.clear(); }

 private:
  struct Job {
    Task work;
    Executor* home;
    Task done;
  };
  std::deque<Job> jobs_;
};

// Everything that is planned runs, timers excepted.
inline void settle(ManualExecutor& executor, ManualStorage& storage) {
  do {
    executor.drain();
  } while (storage.run_one() || executor.run_one());
}

}  // namespace ackline::testing

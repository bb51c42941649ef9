// One thread, a clock that is moved by hand, and storage work that waits until it is told to run.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "ackline/base/executor.h"

namespace ackline::io::test {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] MonoMs mono() const override { return now; }
  [[nodiscard]] WallMs wall() const override { return WallMs(1'700'000'000'000 + now.value()); }
  MonoMs now{1};
};

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
  void drain() {
    while (run_one()) {
    }
  }
  void advance(std::int64_t ms) {
    const MonoMs end = clock_.now.plus(ms);
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      auto timer = timers_.extract(timers_.begin());
      if (timer.key().first > clock_.now) clock_.now = timer.key().first;
      timer.mapped()();
    }
    clock_.now = end;
  }
  [[nodiscard]] std::size_t timers() const { return timers_.size(); }
  // The process dies: nothing that was planned happens.
  void forget() {
    tasks_.clear();
    timers_.clear();
  }

 private:
  ManualClock clock_;
  std::deque<Task> tasks_;
  std::map<std::pair<MonoMs, TimerId>, Task> timers_;
  TimerId last_timer_ = 0;
};

class ManualStorage final : public StorageExecutor {
 public:
  void run(std::uint32_t lane, Task work, Executor& home, Task done) override {
    jobs_.push_back({lane, std::move(work), &home, std::move(done)});
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
    std::uint32_t lane;
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

}  // namespace ackline::io::test

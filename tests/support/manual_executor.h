// An executor that a test turns by hand: one thread, a clock that moves when it is told to.
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

  // Runs what was posted, and what that posts.
  void drain() {
    while (!tasks_.empty()) {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }
  // Lets `ms` pass, timers in order.
  void advance(std::int64_t ms) {
    drain();
    const MonoMs end = clock_.mono().plus(ms);
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      auto timer = timers_.extract(timers_.begin());
      const MonoMs at = timer.key().first;
      if (at > clock_.mono()) {
        clock_.advance(at.value() - clock_.mono().value());
      }
      timer.mapped()();
      drain();
    }
    clock_.advance(end.value() - clock_.mono().value());
  }
  [[nodiscard]] std::size_t timers() const { return timers_.size(); }

 private:
  ManualClock clock_;
  std::deque<Task> tasks_;
  std::map<std::pair<MonoMs, TimerId>, Task> timers_;
  TimerId last_timer_ = 0;
};

}  // namespace ackline::testing

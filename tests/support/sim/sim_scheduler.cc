#include "tests/support/sim/sim_scheduler.h"

#include <algorithm>
#include <limits>

#include "ackline/base/check.h"

namespace ackline::testing {

SimExecutor::SimExecutor(SimScheduler& scheduler, std::uint32_t index)
    : scheduler_(scheduler), index_(index) {}
SimExecutor::~SimExecutor() = default;

void SimExecutor::post(Task task) {
  scheduler_.post(*this, std::move(task), 0, scheduler_.running_);
}

Executor::TimerId SimExecutor::schedule(MonoMs at, Task task) {
  ACKLINE_CHECK(here());
  const TimerId id = ++last_timer_;
  const std::int64_t due = std::max(at.value(), scheduler_.now_ms_);
  timers_.emplace(std::pair(due, id), std::move(task));
  due_.emplace(id, due);
  return id;
}

void SimExecutor::cancel(TimerId timer) {
  const auto found = due_.find(timer);
  if (found == due_.end()) return;
  const auto at = timers_.find({found->second, timer});
  const Task dropped = std::move(at->second);
  timers_.erase(at);
  due_.erase(found);
}

const Clock& SimExecutor::clock() const {
  return scheduler_.clock_;
}

// Before the process has a thread, and on the world's, everything counts as its own: `boot` runs
// there.
bool SimExecutor::here() const {
  return scheduler_.running_ == index_ || scheduler_.running_ == SimScheduler::kOutside;
}

SimScheduler::SimScheduler(std::uint64_t seed, SimTimes times)
    : random_(seed), times_(times), clock_(*this) {}

SimScheduler::~SimScheduler() {
  end_process();
}

void SimScheduler::start_process(std::uint32_t executors) {
  ACKLINE_CHECK(executors_.empty());
  for (std::uint32_t i = 0; i < executors; ++i) {
    executors_.push_back(std::make_unique<SimExecutor>(*this, i));
  }
  stalled_until_ = 0;
  paused_until_ = 0;
}

// What a dropped task holds may post or cancel while it goes: everything is taken out first.
void SimScheduler::drop_tasks() {
  const auto storage = std::exchange(storage_, {});
  for (auto& executor : executors_) {
    const auto timers = std::exchange(executor->timers_, {});
    const auto inbox = std::exchange(executor->inbox_, {});
    executor->due_.clear();
  }
  lane_free_.clear();
}

void SimScheduler::end_process() {
  drop_tasks();
  executors_.clear();
}

void SimScheduler::post(SimExecutor& to, Task task, std::int64_t delay_ms, std::uint32_t sender) {
  auto& inbox = to.inbox_;
  std::int64_t ready = now_ms_ + delay_ms;
  if (sender != to.index_ && times_.handover_max_ms > 0) {
    ready += random_.between(0, times_.handover_max_ms);
  }
  if (!inbox.empty()) ready = std::max(ready, inbox.back().ready_at);
  inbox.push_back({ready, std::move(task)});
}

void SimScheduler::run(std::uint32_t lane, Task work, Executor& home, Task done) {
  std::int64_t& free = lane_free_[lane];
  std::int64_t at = std::max({now_ms_, free, stalled_until_});
  at += random_.between(0, times_.storage_max_ms);
  free = at;
  storage_.emplace(std::pair(at, ++sequence_),
                   Work{lane, std::move(work), static_cast<SimExecutor*>(&home), std::move(done)});
}

// What is on its way already waits, too; the order within a lane stays.
void SimScheduler::stall_storage(std::int64_t until_ms) {
  stalled_until_ = std::max(stalled_until_, until_ms);
  auto waiting = std::move(storage_);
  storage_.clear();
  for (auto& [key, work] : waiting) {
    const std::int64_t at = std::max(key.first, stalled_until_);
    lane_free_[work.lane] = std::max(lane_free_[work.lane], at);
    storage_.emplace(std::pair(at, key.second), std::move(work));
  }
}

void SimScheduler::outside(std::int64_t at_ms, std::function<void()> task) {
  outside_.emplace(std::pair(std::max(at_ms, now_ms_), ++sequence_), std::move(task));
}

void SimScheduler::run_as(std::uint32_t thread, Task& task) {
  const std::uint32_t before = std::exchange(running_, thread);
  ++tasks_run_;
  trace_ = (trace_ ^ (static_cast<std::uint64_t>(now_ms_) << 8U) ^ thread) * 0x100000001b3ULL;
  task();
  task = nullptr;
  running_ = before;
}

bool SimScheduler::step() {
  // The world first: a fault at this moment strikes before what the process would do.
  if (!outside_.empty() && outside_.begin()->first.first <= now_ms_) {
    auto task = std::move(outside_.begin()->second);
    outside_.erase(outside_.begin());
    task();
    return true;
  }
  if (paused_until_ > now_ms_) return false;
  std::vector<SimExecutor*> ready;
  for (auto& executor : executors_) {
    if (!executor->inbox_.empty() && executor->inbox_.front().ready_at <= now_ms_) {
      ready.push_back(executor.get());
    }
  }
  const bool storage = !storage_.empty() && storage_.begin()->first.first <= now_ms_;
  if (storage && (ready.empty() || random_.chance(1, 2))) {
    Work work = std::move(storage_.begin()->second);
    storage_.erase(storage_.begin());
    run_as(kStorage, work.work);
    const std::int64_t late = random_.between(0, times_.storage_max_ms);
    post(*work.home, std::move(work.done), late, kStorage);
    return true;
  }
  if (!ready.empty()) {
    SimExecutor* next = ready[ready.size() == 1 ? 0 : random_.below(ready.size())];
    Task task = std::move(next->inbox_.front().task);
    next->inbox_.pop_front();
    run_as(next->index_, task);
    return true;
  }
  // Input is read before timers fire.
  for (auto& executor : executors_) {
    auto& timers = executor->timers_;
    if (timers.empty() || timers.begin()->first.first > now_ms_) continue;
    Task task = std::move(timers.begin()->second);
    executor->due_.erase(timers.begin()->first.second);
    timers.erase(timers.begin());
    run_as(executor->index_, task);
    return true;
  }
  return false;
}

std::int64_t SimScheduler::next_moment() const {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (const auto& executor : executors_) {
    if (!executor->inbox_.empty()) next = std::min(next, executor->inbox_.front().ready_at);
    if (!executor->timers_.empty()) next = std::min(next, executor->timers_.begin()->first.first);
  }
  if (!storage_.empty()) next = std::min(next, storage_.begin()->first.first);
  next = std::max(next, paused_until_);
  if (!outside_.empty()) next = std::min(next, outside_.begin()->first.first);
  return next;
}

void SimScheduler::run_until(std::int64_t at_ms, const std::function<bool()>& stop) {
  while (!restless_ && !stop()) {
    if (step()) {
      if (++at_this_moment_ < kRestlessTasks) continue;
      restless_ = true;
      return;
    }
    at_this_moment_ = 0;
    const std::int64_t next = next_moment();
    if (next > at_ms) {
      now_ms_ = std::max(now_ms_, at_ms);
      return;
    }
    now_ms_ = std::max(now_ms_, next);
  }
}

}  // namespace ackline::testing

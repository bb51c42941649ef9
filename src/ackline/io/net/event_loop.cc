#include "ackline/io/net/event_loop.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <future>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ackline/base/check.h"

namespace ackline::io::net {
namespace {

constexpr std::size_t kReadBufferBytes = 64 * 1024;
constexpr std::size_t kDeadTimersMin = 64;

}  // namespace

struct EventLoop::Impl {
  Impl(const Clock& c, std::string n);

  void post(Task task, bool last = false);
  void run_posted();
  void run();
  void wait_for_end() const;
  TimerId schedule(MonoMs at, Task task);
  void cancel(TimerId timer);
  void arm();
  void run_due();

  const Clock& clock;
  const std::string name;
  boost::asio::io_context context{1};  // one thread runs it
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard;
  std::thread thread;
  std::atomic<std::thread::id> thread_id;

  std::mutex mutex;
  std::vector<Task> posted;  // under mutex
  bool woken = false;        // under mutex: run_posted is on its way
  bool stopped = false;      // under mutex
  std::vector<Task> running;

  struct Due {
    MonoMs at;
    TimerId id;  // of equal times the older one first
    friend bool operator>(const Due& a, const Due& b) {
      return a.at != b.at ? a.at > b.at : a.id > b.id;
    }
  };
  std::vector<Due> heap;  // a cancelled timer stays until it comes up or too many have gathered
  std::unordered_map<TimerId, Task> timers;
  TimerId last_timer = 0;
  boost::asio::steady_timer alarm{context};
  std::optional<MonoMs> armed_at;

  std::vector<char> read_buffer;
};

EventLoop::Impl::Impl(const Clock& c, std::string n) : clock(c), name(std::move(n)) {
  guard.emplace(boost::asio::make_work_guard(context));
}

void EventLoop::Impl::post(Task task, bool last) {
  {
    const std::scoped_lock lock(mutex);
    if (stopped) {
      return;  // `task` is destroyed by the caller's frame, outside of the lock
    }
    stopped = last;
    posted.push_back(std::move(task));
    if (std::exchange(woken, true)) {
      return;
    }
  }
  boost::asio::post(context, [this] { run_posted(); });
}

void EventLoop::Impl::run_posted() {
  {
    const std::scoped_lock lock(mutex);
    running.swap(posted);
    woken = false;
  }
  for (Task& task : running) {
    task();
    task = nullptr;  // what it holds goes in the order of the tasks
  }
  running.clear();
}

// Not `join`: that is the owner's.
void EventLoop::Impl::wait_for_end() const {
  for (auto id = thread_id.load(); id != std::thread::id(); id = thread_id.load()) {
    thread_id.wait(id);
  }
}

void EventLoop::Impl::run() {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  context.run();
  thread_id = std::thread::id();
  thread_id.notify_all();
}

Executor::TimerId EventLoop::Impl::schedule(MonoMs at, Task task) {
  const TimerId id = ++last_timer;
  timers.emplace(id, std::move(task));
  heap.push_back({at, id});
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
  if (!armed_at || at < *armed_at) {
    arm();
  }
  return id;
}

void EventLoop::Impl::cancel(TimerId timer) {
  const auto found = timers.find(timer);
  if (found == timers.end()) {
    return;
  }
  const Task dropped = std::move(found->second);
  timers.erase(found);
  if (heap.size() > 2 * timers.size() + kDeadTimersMin) {
    std::erase_if(heap, [&](const Due& due) { return !timers.contains(due.id); });
    std::make_heap(heap.begin(), heap.end(), std::greater<>());
  }
}

// Sets the system's timer to the first of the heap; none for an empty one, so that the loop sleeps.
void EventLoop::Impl::arm() {
  while (!heap.empty() && !timers.contains(heap.front().id)) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
  }
  if (heap.empty()) {
    armed_at.reset();
    alarm.cancel();
    return;
  }
  armed_at = heap.front().at;
  const std::int64_t left_ms = std::max<std::int64_t>(0, armed_at->value() - clock.mono().value());
  alarm.expires_after(std::chrono::milliseconds(left_ms));
  alarm.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) {
      run_due();
    }
  });
}

void EventLoop::Impl::run_due() {
  const MonoMs now = clock.mono();
  std::vector<TimerId> due;  // first, so that a task that schedules for now cannot keep us here
  while (!heap.empty() && heap.front().at <= now) {
    due.push_back(heap.front().id);
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
  }
  for (const TimerId id : due) {
    const auto found = timers.find(id);  // one of these tasks may have cancelled it
    if (found != timers.end()) {
      Task task = std::move(found->second);
      timers.erase(found);
      task();
    }
  }
  arm();
}

EventLoop::EventLoop(const Clock& clock, std::string name)
    : impl_(std::make_unique<Impl>(clock, std::move(name))) {}

// Posting fails only without memory, and then the process ends anyway.
// NOLINTNEXTLINE(bugprone-exception-escape)
EventLoop::~EventLoop() {
  stop();
  join();
  // What is left may refer to the loop while it is destroyed; nothing new is taken any more.
  impl_->timers.clear();
  std::vector<Task> left;
  {
    const std::scoped_lock lock(impl_->mutex);
    left.swap(impl_->posted);
  }
  left.clear();
}

void EventLoop::start() {
  ACKLINE_CHECK(!impl_->thread.joinable());
  std::latch known(1);  // from here on `here()` is right
  impl_->thread = std::thread([impl = impl_.get(), &known] {
    impl->thread_id = std::this_thread::get_id();
    known.count_down();
    impl->run();
  });
  known.wait();
}

void EventLoop::stop() {
  impl_->post(
      [impl = impl_.get()] {
        impl->guard.reset();
        impl->context.stop();
      },
      true);
}

void EventLoop::join() {
  if (impl_->thread.joinable()) {
    ACKLINE_CHECK(impl_->thread.get_id() != std::this_thread::get_id());
    impl_->thread.join();
  }
}

void EventLoop::post(Task task) {
  impl_->post(std::move(task));
}

Executor::TimerId EventLoop::schedule(MonoMs at, Task task) {
  ACKLINE_CHECK(here());
  return impl_->schedule(at, std::move(task));
}

void EventLoop::cancel(TimerId timer) {
  ACKLINE_CHECK(here());
  impl_->cancel(timer);
}

void EventLoop::call(const std::function<void()>& work) {
  if (here()) {
    work();
    return;
  }
  bool ran = false;
  // A loop that is stopping drops the task unrun; its promise then makes `done` ready too.
  auto promise = std::make_unique<std::promise<void>>();
  const std::future<void> done = promise->get_future();
  post([&work, &ran, promise = std::move(promise)]() mutable {
    work();
    ran = true;
    promise.reset();
  });
  done.wait();
  if (!ran) {
    impl_->wait_for_end();
    work();
  }
}

boost::asio::io_context& EventLoop::context() {
  return impl_->context;
}

const Clock& EventLoop::clock() const {
  return impl_->clock;
}

bool EventLoop::here() const {
  const std::thread::id id = impl_->thread_id;
  return id == std::thread::id() || id == std::this_thread::get_id();
}

std::span<char> EventLoop::read_buffer() {
  if (impl_->read_buffer.empty()) {
    impl_->read_buffer.resize(kReadBufferBytes);
  }
  return impl_->read_buffer;
}

}  // namespace ackline::io::net

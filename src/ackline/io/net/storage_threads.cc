#include "ackline/io/net/storage_threads.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ackline/base/check.h"

namespace ackline::io::net {

struct StorageThreads::Impl {
  struct Job {
    Task work;
    Executor* home;
    Task done;
  };

  void work();

  std::mutex mutex;
  std::condition_variable wakeup;
  // A lane is here while it has jobs or runs one; it is in `ready` if it has jobs and runs none.
  std::unordered_map<std::uint32_t, std::deque<Job>> lanes;
  std::deque<std::uint32_t> ready;
  bool stopping = false;
  std::vector<std::thread> threads;
};

StorageThreads::StorageThreads(std::size_t threads) : impl_(std::make_unique<Impl>()) {
  for (std::size_t i = 0; i < std::max<std::size_t>(1, threads); ++i) {
    impl_->threads.emplace_back([impl = impl_.get()] { impl->work(); });
  }
}

StorageThreads::~StorageThreads() {
  stop();
}

void StorageThreads::stop() {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wakeup.notify_all();
  for (std::thread& thread : impl_->threads) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

void StorageThreads::run(std::uint32_t lane, Task work, Executor& home, Task done) {
  {
    const std::scoped_lock lock(impl_->mutex);
    ACKLINE_CHECK(!impl_->stopping);
    const auto [found, idle] = impl_->lanes.try_emplace(lane);
    found->second.push_back({std::move(work), &home, std::move(done)});
    if (!idle) {
      return;  // a thread that runs this lane, or will, sees it
    }
    impl_->ready.push_back(lane);
  }
  impl_->wakeup.notify_one();
}

void StorageThreads::Impl::work() {
  pthread_setname_np(pthread_self(), "storage");
  std::unique_lock lock(mutex);
  for (;;) {
    wakeup.wait(lock, [&] { return stopping || !ready.empty(); });
    if (ready.empty()) {
      return;
    }
    const std::uint32_t lane = ready.front();
    ready.pop_front();
    std::deque<Job>& queue = lanes.at(lane);  // stays where it is while other lanes come and go
    Job job = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    job.work();
    job.work = nullptr;
    job.home->post(std::move(job.done));
    lock.lock();
    if (queue.empty()) {
      lanes.erase(lane);
    } else {
      ready.push_back(lane);  // behind the others: lanes share the threads
      wakeup.notify_one();
    }
  }
}

}  // namespace ackline::io::net

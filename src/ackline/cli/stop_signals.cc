#include "ackline/cli/stop_signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>

namespace ackline::cli {
namespace {

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGUSR2);  // ours: wakes the watcher when it is to end
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { watch(); });
}

StopSignals::~StopSignals() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
}

void StopSignals::watch() {
  const sigset_t set = stop_set();
  while (true) {
    int number = 0;
    if (sigwait(&set, &number) != 0) continue;
    const std::scoped_lock lock(mutex_);
    if (ending_) return;
    if (number == SIGUSR2) continue;
    if (first_ != 0) _exit(128 + number);
    first_ = number;
    condition_.notify_all();
  }
}

int StopSignals::wait() {
  std::unique_lock lock(mutex_);
  condition_.wait(lock, [this] { return first_ != 0; });
  return first_;
}

bool StopSignals::requested() {
  const std::scoped_lock lock(mutex_);
  return first_ != 0;
}

}  // namespace ackline::cli

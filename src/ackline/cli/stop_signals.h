// SIGTERM and SIGINT as something to wait for.
//
// Made before any other thread, so that all inherit the blocked mask and the signals come here
// only. The first one is a request; a second one ends the process at once with 128 + its number,
// whatever the others are doing.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace ackline::cli {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns the number of the first signal. Any thread.
  int wait();
  [[nodiscard]] bool requested();

 private:
  void watch();

  std::mutex mutex_;
  std::condition_variable condition_;
  int first_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ackline::cli

// Workers that run a program for each delivery and settle it by the exit code.
//
// `add`, `wait_for_room` and `extend_leases` by one thread, which also polls. Each worker has a
// connection of its own. A settle that fails is said on stderr and counted; the lease then ends by
// itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ackline/base/clock.h"
#include "ackline/cli/api_client.h"
#include "ackline/cli/console.h"

namespace ackline::cli {

class ExecPool {
 public:
  struct Options {
    ApiOptions api;
    std::string client;
    std::string command;
    bool settles = true;
    std::size_t workers = 4;
  };
  ExecPool(Options options, Console& console);
  // Waits for the programs that run.
  ~ExecPool();
  ExecPool(const ExecPool&) = delete;
  ExecPool& operator=(const ExecPool&) = delete;

  void add(Json delivery);
  // How many more it takes; waits up to `timeout_ms` while that is none.
  [[nodiscard]] std::size_t wait_for_room(std::int64_t timeout_ms);
  [[nodiscard]] bool idle();
  // Asks for more time where half of a lease is over.
  void extend_leases(ApiClient& api);

  [[nodiscard]] std::int64_t acked() const { return acked_.load(); }
  [[nodiscard]] std::int64_t nacked() const { return nacked_.load(); }
  [[nodiscard]] std::int64_t failed() const { return failed_.load(); }

 private:
  struct Lease {
    MonoMs extend_at;
    std::int64_t lease_ms;
  };
  void work();
  void handle(ApiClient& api, const Json& delivery);

  Options options_;
  Console& console_;
  SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Json> queue_;
  std::map<std::string, Lease> leases_;  // queued and running
  bool ending_ = false;
  std::atomic<std::int64_t> acked_{0};
  std::atomic<std::int64_t> nacked_{0};
  std::atomic<std::int64_t> failed_{0};
  std::vector<std::thread> threads_;
};

}  // namespace ackline::cli

// Waits for the sockets of the load client. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "bench/load/connection.h"

namespace ackline::bench {

class Poller {
 public:
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // `connection` outlives the poller.
  void add(Connection& connection);
  // Sends what is queued on it, now or when there is room.
  void flush(Connection& connection);
  // Sleeps until something comes, at most until `until` (monotonic seconds), and handles it.
  void wait(double until);

 private:
  void arm(Connection& connection, bool for_room);

  int epoll_ = -1;
};

}  // namespace ackline::bench

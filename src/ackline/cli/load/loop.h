// Waits for the sockets of the load client, and remembers the first thing that went wrong.
//
// The load client is one thread and fast rather than general: what it costs is not to be the
// server's. A broken connection or a strange answer ends the run: a measurement that has lost
// something has nothing to say. Owned by a run; one thread.
#pragma once

#include <string>
#include <vector>

#include "ackline/base/result.h"

namespace ackline::cli::load {

class Connection;

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // `connection` outlives the loop, or is removed.
  void add(Connection& connection);
  void remove(Connection& connection);
  // Sends what is queued on it, now or when there is room.
  void flush(Connection& connection);
  // Sleeps until something comes, at most until `until` (seconds of `seconds_now`), and handles it.
  void wait(double until);

  // The run is of no use any more; the first reason counts.
  void fail(std::string why);
  [[nodiscard]] bool failed() const { return !why_.empty(); }
  // kUnavailable, with the reason.
  [[nodiscard]] Error error() const;
  // Memory for one read, shared by the connections, so that an idle one holds none.
  [[nodiscard]] std::string& scratch() { return scratch_; }

 private:
  void arm(Connection& connection, bool for_room);

  int epoll_ = -1;
  std::string why_;
  std::string scratch_;
};

// The machine's monotonic clock, in seconds.
[[nodiscard]] double seconds_now();

}  // namespace ackline::cli::load

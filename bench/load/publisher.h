// Publishes events over some connections: as fast as answers come (closed loop), or at a fixed rate
// whatever the answers do (open loop, latency from the intended moment). One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/connection.h"
#include "bench/load/poller.h"

namespace ackline::bench {

struct PublishPlan {
  std::string address;
  std::string topic;
  std::uint64_t events = 100'000;
  std::size_t connections = 8;
  std::size_t unanswered = 500;  // events sent and not answered, over all connections
  std::size_t batch = 1;         // events in a request
  std::size_t size = 256;        // bytes of data of an event
  double rate = 0;               // events per second; 0: closed loop
};

class Publisher {
 public:
  // Connects.
  Publisher(Poller& poller, PublishPlan plan);
  // Sends what may be sent now.
  void pump(double now);
  // When `pump` has something to do although nothing was answered.
  [[nodiscard]] double next_due() const;
  [[nodiscard]] bool finished() const { return answered_ == plan_.events; }
  // Microseconds, one a request.
  [[nodiscard]] std::vector<double>& latencies() { return latencies_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Channel {
    std::unique_ptr<Connection> connection;
    std::deque<double> sent;  // when each unanswered request was, or was meant to be, sent
  };
  void answered(Channel& channel, int status, std::string_view body);
  void send(Channel& channel, double meant);
  void pump_open(double now);
  void pump_closed(double now);

  Poller& poller_;
  PublishPlan plan_;
  std::string request_;
  std::vector<std::size_t> id_ends_;  // where the number of each event ends in `request_`
  std::vector<std::unique_ptr<Channel>> channels_;
  std::size_t most_requests_ = 1;  // unanswered on one connection
  double start_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t refused_ = 0;
  std::vector<double> latencies_;
};

}  // namespace ackline::bench

// Takes deliveries by poll over one connection, and either acks each answer's deliveries at once or
// keeps them in flight. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/connection.h"
#include "bench/load/poller.h"

namespace ackline::bench {

struct ConsumePlan {
  std::string address;
  std::string client;
  std::size_t poll_max = 500;
  bool ack = true;
  std::uint64_t most = UINT64_MAX;  // deliveries, then it asks no more
};

class Consumer {
 public:
  // `text` is a whole delivery object of the poll's answer.
  using OnDelivery = std::function<void(std::string_view text)>;
  // Connects. `on_delivery` may be empty.
  Consumer(Poller& poller, ConsumePlan plan, OnDelivery on_delivery);
  // Sends the first poll.
  void start();
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] std::uint64_t acked() const { return acked_; }

 private:
  void answered(int status, std::string_view body);
  void take(std::string_view body);
  void poll();

  Poller& poller_;
  ConsumePlan plan_;
  OnDelivery on_delivery_;
  std::unique_ptr<Connection> connection_;
  std::vector<std::size_t> asked_;  // oldest first: 0 a poll, else the number of ids of an ack
  std::uint64_t delivered_ = 0;
  std::uint64_t acked_ = 0;
};

}  // namespace ackline::bench

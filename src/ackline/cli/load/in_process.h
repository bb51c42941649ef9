// Deliver and ack in this process, without a server, a network or a disk: what the dispatcher alone
// can do on this machine. One thread, blocking.
#pragma once

#include <cstdint>

namespace ackline::cli::load {

struct InProcessRate {
  double per_second = 0;
  double cpu_us = 0;  // of an event
  std::uint64_t counted = 0;
  std::uint64_t acked = 0;  // of those counted, as the dispatcher tells
};

// About `events` deliveries, each leased and acked in random order within 1 000; with `keys` also
// key order and credit in bytes. The first tenth is not counted.
[[nodiscard]] InProcessRate deliver_and_ack(std::uint64_t events, bool keys);

}  // namespace ackline::cli::load

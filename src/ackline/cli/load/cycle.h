// One round of load: publish, deliver and ack at once, against anything that a `Target` speaks to.
//
// The same loop drives Ackline and, in bench/peers, what it is compared with, so that none has the
// better client. Closed: at most so many events published and not answered. Open: published at
// fixed moments whatever the answers do, latency counted from the moment meant. Every event has a
// number; a round ends when each was delivered and acked. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/cli/load/loop.h"

namespace ackline::cli::load {

// Where a target says what became of events. Numbers count from 0 in each round.
class Account {
 public:
  virtual ~Account() = default;
  // `count` events from `first` on are safe with the server, as it promises it.
  virtual void confirmed(std::uint64_t first, std::uint64_t count) = 0;
  virtual void delivered(std::uint64_t number) = 0;
  virtual void acked(std::uint64_t count) = 0;
};

class Target {
 public:
  virtual ~Target() = default;
  // What a round must not find there, or must; not measured. The account is good for the round.
  virtual void begin(Account& account) = 0;
  // Queues events `first`, `first + 1`, …: one request if the protocol has requests of many.
  virtual void publish(std::uint64_t first, std::size_t count) = 0;
  // Lets leave what `publish` queued and what came in asks for: acks, the next fetch.
  virtual void flush() = 0;
  // When `flush` has something to do although nothing came; far ahead if never.
  [[nodiscard]] virtual double next_due() const = 0;
  // All of the round is delivered; acks that are not answered by themselves are to be made sure of.
  virtual void all_delivered() = 0;
};

struct CyclePlan {
  std::uint64_t events = 100'000;
  std::size_t batch = 1;         // events in a publish
  std::size_t unanswered = 500;  // events published and not confirmed
  double rate = 0;               // events a second; 0: closed loop
  std::uint64_t copies = 1;      // how often each is delivered: the groups that take all
  bool publishes = true;         // else the events are there already
  bool consumes = true;          // else a round ends when all are confirmed
};

struct CycleReport {
  std::uint64_t events = 0;  // published, or else delivered
  double seconds = 0;
  std::uint64_t repeated = 0;         // deliveries of what had been delivered so often
  std::vector<double> publish_us;     // sorted; one a publish, from the moment meant
  std::vector<double> end_to_end_us;  // sorted; one a delivery, from the moment meant
  [[nodiscard]] double rate() const {
    return seconds > 0 ? static_cast<double>(events) / seconds : 0;
  }
};

// Runs one round. Errors: kUnavailable (the loop's), kTimeout (over `limit_s`).
[[nodiscard]] Result<CycleReport> run_cycle(Loop& loop, Target& target, CyclePlan plan,
                                            double limit_s = 300);

// q in [0, 1] of sorted values; 0 when there are none.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double q);

}  // namespace ackline::cli::load

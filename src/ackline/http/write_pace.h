// Whether a peer reads what it is sent: the slow-read limit in the direction of the answers.
//
// It looks at windows of time. One begins when something is handed to the socket; at its end the
// peer must have taken what waited for it at the beginning, or the least that the limit asks for.
// Nothing waits, no window: a stream with nothing to say is not slow. Pure; owned by a connection,
// on its thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ackline/base/types.h"

namespace ackline::http {

class WritePace {
 public:
  struct Counts {
    std::uint64_t given = 0;  // handed to the socket since the connection began
    std::uint64_t taken = 0;  // of these, what has reached the peer
  };
  WritePace(std::int64_t window_ms, std::uint64_t window_bytes)
      : window_ms_(window_ms), window_bytes_(window_bytes) {}

  [[nodiscard]] bool running() const { return since_.has_value(); }
  void begin(MonoMs now, Counts counts) {
    since_ = now;
    goal_ = std::min(counts.given, counts.taken + window_bytes_);
  }
  [[nodiscard]] std::optional<MonoMs> deadline() const {
    if (!since_) return std::nullopt;
    return since_->plus(window_ms_);
  }
  // At the deadline. False: the peer is too slow. Else the next window begins, if something waits.
  [[nodiscard]] bool holds(MonoMs now, Counts counts) {
    since_.reset();
    if (counts.taken < goal_) return false;
    if (counts.taken < counts.given) begin(now, counts);
    return true;
  }

 private:
  std::int64_t window_ms_;
  std::uint64_t window_bytes_;
  std::optional<MonoMs> since_;
  std::uint64_t goal_ = 0;
};

}  // namespace ackline::http

// The two clocks, injected: a monotonic one that leases and retries live on, and the wall clock for
// display.
#pragma once

#include "ackline/base/types.h"

namespace ackline {

class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back. Any thread.
  [[nodiscard]] virtual MonoMs mono() const = 0;
  // May jump either way. Any thread.
  [[nodiscard]] virtual WallMs wall() const = 0;
};

// The machine's clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] MonoMs mono() const override;
  [[nodiscard]] WallMs wall() const override;
};

}  // namespace ackline

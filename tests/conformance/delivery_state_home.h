// Where a DeliveryStateStore of the suite lives: something that can be killed and started again.
#pragma once

#include <cstdint>
#include <memory>

#include "ackline/state/delivery_state_store.h"

namespace ackline::testing {

class DeliveryStateHome {
 public:
  virtual ~DeliveryStateHome() = default;
  [[nodiscard]] virtual state::DeliveryStateStore& store() = 0;
  // kill -9 and a new process.
  virtual void restart() = 0;
  // The machine loses power; of what was not flushed any part may be there. Where a test cannot cut
  // the power, a kill.
  virtual void power_cut() = 0;
  // Of the process that runs.
  [[nodiscard]] virtual Epoch epoch() const = 0;
  // `apply` may answer before anything is written.
  [[nodiscard]] virtual bool writes_behind() const { return false; }
  virtual void advance(std::int64_t ms) = 0;
  // The next writes are refused as unavailable.
  virtual void fail_writes(bool failing) = 0;
};
using DeliveryStateFactory = std::unique_ptr<DeliveryStateHome> (*)();

}  // namespace ackline::testing

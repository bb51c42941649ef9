// The client's end of a stream, without a wire.
#pragma once

#include <functional>
#include <span>

#include "tests/simulation/simulation.h"

namespace ackline::sim {

class Simulation::Channel final : public channel::PushChannel {
 public:
  std::function<void(std::span<const channel::Delivery>)> on_deliver;
  std::function<void(channel::EndReason)> on_end;

  void deliver(std::span<const channel::Delivery> deliveries) override { on_deliver(deliveries); }
  void end(channel::EndReason reason) override { on_end(reason); }
};

}  // namespace ackline::sim

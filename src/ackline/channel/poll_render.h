// The answer to a poll: the bare array of deliveries. A pure function, any thread.
#pragma once

#include <span>
#include <string>

#include "ackline/channel/push_channel.h"

namespace ackline::channel {

[[nodiscard]] std::string poll_json(std::span<const Delivery> deliveries);

}  // namespace ackline::channel

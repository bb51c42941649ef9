// From configuration keys to the options of the parts. Pure.
#pragma once

#include "ackline/base/config.h"
#include "ackline/base/result.h"
#include "ackline/event/json_codec.h"
#include "ackline/http/limits.h"
#include "ackline/runtime/node.h"

namespace ackline::runtime {

[[nodiscard]] NodeOptions node_options(const Config& config);
[[nodiscard]] http::Limits http_limits(const Config& config);
[[nodiscard]] event::ParseLimits event_limits(const Config& config);
// How many shards: `server.shards`, or half of the machine's cores when it is 0, at least one.
[[nodiscard]] std::uint32_t shard_count(const Config& config, std::uint32_t cores);
// Refuses what this build or a careful operator would not start with. Errors: kForbidden,
// kBadValue.
[[nodiscard]] Result<void> check_startable(const Config& config);

}  // namespace ackline::runtime

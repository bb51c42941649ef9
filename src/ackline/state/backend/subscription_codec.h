// Subscription to and from its record in meta (docs/formats/stores.md). Pure.
#pragma once

#include <string>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/state/subscription_store.h"

namespace ackline::state {

[[nodiscard]] std::string encode_subscription(std::string_view key, const Subscription& value);
// kCorrupt for what cannot be read, kUnsupported for a newer version; both name `key`.
[[nodiscard]] Result<Subscription> decode_subscription(std::string_view key,
                                                       std::string_view bytes);

}  // namespace ackline::state

// The ordering key of an event as the dispatcher keeps it: a hash, 0 for an event without a key.
#pragma once

#include <cstdint>
#include <string_view>

#include "ackline/base/bytes.h"
#include "ackline/event/frame.h"

namespace ackline::delivery {

[[nodiscard]] inline std::uint64_t hash_of_key(const event::FrameView& view) {
  const std::string_view key = view.get("partitionkey");
  if (key.empty()) {
    return 0;
  }
  const std::uint64_t hash = checksum64(as_bytes(key));
  return hash == 0 ? 1 : hash;
}

}  // namespace ackline::delivery

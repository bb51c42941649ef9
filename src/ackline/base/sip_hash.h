// SipHash-2-4 (Aumasson, Bernstein): a keyed hash of short inputs that nobody can forge without the
// key. For checks in names that clients hand back; not a checksum of files (that is
// `checksum64`). Any thread; nothing fails.
#pragma once

#include <cstdint>

#include "ackline/base/bytes.h"

namespace ackline {

struct SipKey {
  std::uint64_t low = 0;   // bytes 0 to 7 of the key, little-endian
  std::uint64_t high = 0;  // bytes 8 to 15
};

[[nodiscard]] std::uint64_t sip_hash(const SipKey& key, ByteView bytes);

}  // namespace ackline

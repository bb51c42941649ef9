#include "ackline/base/bytes.h"

#include <xxhash.h>

namespace ackline {

std::uint64_t checksum64(ByteView bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t ByteReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = u8();
    if (!ok_) return 0;
    if (shift == 63 && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  ok_ = false;
  rest_ = {};
  return 0;
}

ByteView ByteReader::raw(std::size_t count) {
  if (!ok_ || count > rest_.size()) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  const ByteView bytes = rest_.first(count);
  rest_ = rest_.subspan(count);
  return bytes;
}

}  // namespace ackline

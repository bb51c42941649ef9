#include "ackline/base/sip_hash.h"

#include <bit>
#include <cstddef>

namespace ackline {
namespace {

struct State {
  std::uint64_t v0;
  std::uint64_t v1;
  std::uint64_t v2;
  std::uint64_t v3;

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void absorb(std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
};

std::uint64_t load(const std::byte* bytes, std::size_t count) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < count; ++i) {
    word |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return word;
}

}  // namespace

std::uint64_t sip_hash(const SipKey& key, ByteView bytes) {
  State state{key.low ^ 0x736f6d6570736575ULL, key.high ^ 0x646f72616e646f6dULL,
              key.low ^ 0x6c7967656e657261ULL, key.high ^ 0x7465646279746573ULL};
  const std::size_t whole = bytes.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    state.absorb(load(bytes.data() + i, 8));
  }
  state.absorb(load(bytes.data() + whole, bytes.size() - whole) |
               static_cast<std::uint64_t>(bytes.size()) << 56U);
  state.v2 ^= 0xFFU;
  state.rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace ackline

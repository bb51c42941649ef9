// Whole numbers as keys of an ordered store: big-endian, so that byte order is number order. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace ackline {

// As many bytes as the type has.
template <class T>
void append_big_endian(std::string& out, T value) {
  for (unsigned shift = 8 * sizeof(T); shift > 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (shift - 8)));
  }
}

}  // namespace ackline

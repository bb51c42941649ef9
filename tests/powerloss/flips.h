// The bit-flip sweep: one bit of each byte of every file that a process left, RocksDB's excepted,
// through the product's own start. One thread; prints a table by kind of file and a last line
// `P passed, F failed`.
#pragma once

#include <cstdint>

namespace ackline::powerloss {

// The exit code: 0 when every flip was noticed or harmless.
[[nodiscard]] int run_flips(std::uint64_t seed);

}  // namespace ackline::powerloss

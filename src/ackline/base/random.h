// Seeded randomness: every choice that is not forced comes from here, so that a simulation seed
// repeats it. (xoshiro256**, public domain algorithm by Blackman and Vigna; seeded by splitmix64.)
#pragma once

#include <array>
#include <cstdint>

namespace ackline {

class Random {
 public:
  explicit Random(std::uint64_t seed);
  [[nodiscard]] std::uint64_t next();
  // Uniform in [0, bound); bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  // Uniform in [low, high].
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high);
  // True with probability `numerator / denominator`.
  [[nodiscard]] bool chance(std::uint64_t numerator, std::uint64_t denominator);

 private:
  std::array<std::uint64_t, 4> state_;
};

// A seed that nobody can guess, from the operating system.
[[nodiscard]] std::uint64_t entropy_seed();

}  // namespace ackline

// A number with its noun, for a sentence: "1 event", "2 events". Pure.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace ackline {

// `many`: the plural when it is not `noun` with an s.
[[nodiscard]] inline std::string counted(std::uint64_t count, std::string_view noun,
                                         std::string_view many = {}) {
  if (count == 1) return fmt::format("1 {}", noun);
  return many.empty() ? fmt::format("{} {}s", count, noun) : fmt::format("{} {}", count, many);
}

}  // namespace ackline

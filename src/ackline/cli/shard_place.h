// The directory of one shard's journal and checkpoints, from its name. Pure.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "ackline/io/fs/file_system.h"

namespace ackline::cli {

struct ShardPlace {
  std::string path;
  std::uint32_t count = 1;
  std::uint32_t index = 0;
};

// "2-0": shard 0 of 2.
[[nodiscard]] inline std::optional<ShardPlace> shard_place(const std::string& journal,
                                                           const std::string& name) {
  ShardPlace place;
  place.path = io::join(journal, name);
  const char* end = name.data() + name.size();
  const auto count = std::from_chars(name.data(), end, place.count);
  if (count.ec != std::errc() || count.ptr == end || *count.ptr != '-') return std::nullopt;
  const auto index = std::from_chars(count.ptr + 1, end, place.index);
  if (index.ec != std::errc() || index.ptr != end) return std::nullopt;
  return place;
}

}  // namespace ackline::cli

#include "ackline/event/partitioner.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "ackline/base/check.h"
#include "ackline/base/nearest.h"

namespace ackline::event {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"murmur2", "phash2"};
constexpr std::uint32_t kSeed = 0x9747b28cU;
constexpr std::uint32_t kMultiplier = 0x5bd1e995U;

std::uint32_t byte_at(std::string_view key, std::size_t at) {
  return static_cast<unsigned char>(key[at]);
}

}  // namespace

std::string_view partitioner_name(PartitionerKind kind) {
  return kNames[static_cast<std::size_t>(kind) - 1];
}

Result<PartitionerKind> parse_partitioner(std::string_view name) {
  if (name == kNames[0]) {
    return PartitionerKind::kMurmur2;
  }
  if (name == kNames[1]) {
    return PartitionerKind::kPhash2;
  }
  const std::string_view near = nearest_name(name, kNames);
  return fail(ErrorCode::kBadValue,
              fmt::format("there is no partitioner \"{}\"", name.substr(0, 64)),
              near.empty() ? std::string("Use murmur2.") : fmt::format("Did you mean {}?", near),
              "partitioner");
}

Result<Partitioner> Partitioner::make(PartitionerKind kind) {
  if (kind != PartitionerKind::kMurmur2) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("the partitioner {} is not in this build", partitioner_name(kind)),
                "Use murmur2.", "partitioner");
  }
  return Partitioner(kind);
}

PartitionIndex Partitioner::pick(std::string_view key, std::uint32_t partitions) const {
  ACKLINE_CHECK(partitions > 0);
  // Kafka clears the sign instead of taking the absolute value.
  return PartitionIndex((murmur2(key) & 0x7fffffffU) % partitions);
}

std::uint32_t murmur2(std::string_view key) {
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(key.size());
  std::size_t at = 0;
  for (; key.size() - at >= 4; at += 4) {
    std::uint32_t word = byte_at(key, at) | byte_at(key, at + 1) << 8U |
                         byte_at(key, at + 2) << 16U | byte_at(key, at + 3) << 24U;
    word *= kMultiplier;
    word ^= word >> 24U;
    word *= kMultiplier;
    hash = (hash * kMultiplier) ^ word;
  }
  const std::size_t left = key.size() - at;
  if (left > 0) {
    for (std::size_t i = left; i > 0; --i) {
      hash ^= byte_at(key, at + i - 1) << (8 * (i - 1));
    }
    hash *= kMultiplier;
  }
  hash ^= hash >> 13U;
  hash *= kMultiplier;
  hash ^= hash >> 15U;
  return hash;
}

}  // namespace ackline::event

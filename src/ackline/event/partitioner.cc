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
// The golden ratio, from which lookup2 starts; the term hash starts a binary at 13 times that.
constexpr std::uint32_t kGolden = 0x9e3779b9U;
constexpr std::uint32_t kBinaryStart = 13U * kGolden;
constexpr std::size_t kBlockBytes = 12;

std::uint32_t byte_at(std::string_view key, std::size_t at) {
  return static_cast<unsigned char>(key[at]);
}

// Up to four bytes from `at` on, the first one lowest; what is past the end counts as zero.
std::uint32_t word_at(std::string_view key, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4 && at + i < key.size(); ++i) {
    word |= byte_at(key, at + i) << (8 * i);
  }
  return word;
}

struct Jenkins {
  std::uint32_t a = kGolden;
  std::uint32_t b = kGolden;
  std::uint32_t c = 0;

  void mix() {
    step(a, b, c, c >> 13U);
    step(b, c, a, a << 8U);
    step(c, a, b, b >> 13U);
    step(a, b, c, c >> 12U);
    step(b, c, a, a << 16U);
    step(c, a, b, b >> 5U);
    step(a, b, c, c >> 3U);
    step(b, c, a, a << 10U);
    step(c, a, b, b >> 15U);
  }

 private:
  static void step(std::uint32_t& to, std::uint32_t one, std::uint32_t other,
                   std::uint32_t shifted) {
    to = (to - one - other) ^ shifted;
  }
};

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
  if (kind != PartitionerKind::kMurmur2 && kind != PartitionerKind::kPhash2) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("this build has no partitioner with the number {}",
                            static_cast<unsigned>(kind)),
                "Use the build that made the topic, or a newer one.", "partitioner");
  }
  return Partitioner(kind);
}

PartitionIndex Partitioner::pick(std::string_view key, std::uint32_t partitions) const {
  ACKLINE_CHECK(partitions > 0);
  if (kind_ == PartitionerKind::kPhash2) {
    return PartitionIndex(phash2(key) % partitions);
  }
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

std::uint32_t phash2(std::string_view key) {
  if (key.empty()) {
    return kBinaryStart;
  }
  Jenkins hash{.c = kBinaryStart};
  std::size_t at = 0;
  for (; key.size() - at >= kBlockBytes; at += kBlockBytes) {
    hash.a += word_at(key, at);
    hash.b += word_at(key, at + 4);
    hash.c += word_at(key, at + 8);
    hash.mix();
  }
  // The last block is there even when it is empty; the lowest byte of c is the length's.
  hash.a += word_at(key, at);
  hash.b += word_at(key, at + 4);
  hash.c += static_cast<std::uint32_t>(key.size()) + (word_at(key, at + 8) << 8U);
  hash.mix();
  return hash.c;
}

}  // namespace ackline::event

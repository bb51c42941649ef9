// Which partition a key belongs to. A topic's partitioner is fixed when it is created: another one
// would break the order of its keys. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/base/types.h"

namespace ackline::event {

// Stored by name and by number in meta: add, never renumber.
enum class PartitionerKind : std::uint8_t {
  kMurmur2 = 1,  // Kafka's default for a keyed record
  kPhash2 = 2,   // Erlang's
};

[[nodiscard]] std::string_view partitioner_name(PartitionerKind kind);
// "murmur2", "phash2"; else `bad_value`.
[[nodiscard]] Result<PartitionerKind> parse_partitioner(std::string_view name);

class Partitioner {
 public:
  // `unsupported` for a number that a newer build has written.
  [[nodiscard]] static Result<Partitioner> make(PartitionerKind kind);
  [[nodiscard]] PartitionerKind kind() const { return kind_; }
  // `partitions` > 0.
  [[nodiscard]] PartitionIndex pick(std::string_view key, std::uint32_t partitions) const;

 private:
  explicit Partitioner(PartitionerKind kind) : kind_(kind) {}
  PartitionerKind kind_;
};

// MurmurHash2, 32 bits, with Kafka's seed.
[[nodiscard]] std::uint32_t murmur2(std::string_view key);
// What Erlang's erlang:phash2 makes of a binary of these bytes, all 32 bits of it: Rheo and EMQX
// pick a partition as `phash2(Key, Partitions)`, which is this number modulo the partitions. (With
// one argument phash2 keeps the lower 27 bits.) Written from the public description of Bob Jenkins'
// hash for tables (burtleburtle.net/bob/hash/evahash.html, "lookup2", 1996) and from what the
// portable term hash of OTP adds for a binary: the start value, and an empty one stays at it. OTP
// promises the same number in every release; tests/golden/phash2.tsv has vectors made with Erlang.
[[nodiscard]] std::uint32_t phash2(std::string_view key);

}  // namespace ackline::event

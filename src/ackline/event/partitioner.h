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
  // `unsupported` for a kind that this build does not have (phash2).
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

}  // namespace ackline::event

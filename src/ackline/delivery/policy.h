// What a group and a client ask for: the policy of the group, the options of the client.
//
// The policy belongs to the group, not to a client (semantics, vocabulary). Both come from meta and
// are handed to every shard that holds a partition of the topic.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ackline/base/types.h"

namespace ackline::event {
class Filter;
}

namespace ackline::delivery {

enum class Mode : std::uint8_t { kClustering, kBroadcasting, kMulticast };
enum class Ordering : std::uint8_t { kNone, kKey, kPartition };

struct GroupPolicy {
  Mode mode = Mode::kClustering;
  Ordering ordering = Ordering::kNone;
  std::uint32_t max_attempts = 6;  // 1 to 1000
  // Wait before attempt n + 1; the last one repeats. Jitter of +-20 % is added. Never empty.
  std::vector<std::int64_t> backoff_ms = {1000, 2000, 4000, 8000, 16000};
  std::shared_ptr<const event::Filter> filter;  // null: everything; immutable, shared by the shards
  bool dead_letter_expired = false;
};

// A group of one topic incarnation, as a shard sees it.
struct GroupSpec {
  ProgressNumber number;
  std::string topic;
  std::string name;
  std::string principal;  // who first used it; "" until there is a security gate
  GroupPolicy policy;
};

struct ClientSpec {
  ClientNumber number;
  std::string client_id;
  std::string principal;
  ProgressNumber group;
  std::vector<PartitionIndex> partitions;  // static ownership; empty: all
  std::int64_t ack_timeout_ms = 30'000;
  std::int64_t max_lease_ms = 600'000;  // hard total of one lease, extensions included
};

}  // namespace ackline::delivery

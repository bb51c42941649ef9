// What happened, as clients and operators saw it. Plain data, nothing of the server's own types.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ackline::sim {

using Ms = std::int64_t;

enum class Ordering : std::uint8_t { kNone, kKey, kPartition };
enum class Verb : std::uint8_t { kAck, kNack, kReject, kExtend };

struct GroupFacts {
  std::string topic;
  std::string name;
  Ordering ordering = Ordering::kNone;
  bool broadcast = false;
  std::uint32_t max_attempts = 6;
  std::string filter_type;  // "" = none: else only events of this type match
  bool fleeting = false;    // the topic does not keep what no group needs
};

struct EventFacts {
  std::uint64_t number = 0;
  std::string topic;
  std::string key;
  std::string type;
  std::string payload;
  std::optional<Ms> expires_wall;
  // Retention may take it from then on, whoever still needs it.
  std::optional<Ms> gone_wall;
};

struct DeliverySeen {
  std::string id;
  std::string client;
  std::string topic;
  std::string group;
  std::uint32_t partition = 0;
  std::int64_t offset = 0;
  std::uint32_t attempt = 0;
  std::uint32_t max_attempts = 0;
  Ms lease_ms = 0;
  bool resent = false;
  std::string lane;
  std::uint64_t event = 0;  // number in its id
  std::string payload;
  Ms asked_at = 0;  // when the client began the poll or stream that it came by
};

// An answer of a settle: an empty word is success.
struct SettleSeen {
  Verb verb = Verb::kAck;
  std::string client;
  std::string id;
  Ms invoked = 0;
  std::string error;  // word of the error
  bool already = false;
  Ms lease_ms = 0;
  bool invalid = false;  // an id that was never given out
};

struct ProgressSeen {
  std::string topic;
  std::string group;
  std::uint32_t partition = 0;
  Ms invoked = 0;
  std::uint32_t generation = 0;
  std::int64_t frontier = -1;
  std::int64_t start = 0;
  std::int64_t log_start = 0;
  std::int64_t high_watermark = -1;
  std::uint64_t settled_ahead = 0;
  std::uint64_t lag = 0;
  std::uint64_t pending = 0;
};

struct DeadSeen {
  std::string entry;
  std::string key;  // dlqkey
  std::string topic;
  std::string group;
  std::uint32_t partition = 0;
  std::int64_t offset = 0;
  std::string reason;
  std::uint32_t attempts = 0;
  std::string state;  // dead, redriving, resolved, purged
  std::uint64_t event = 0;
};

struct LogSeen {
  std::string topic;
  std::uint32_t partition = 0;
  std::int64_t offset = 0;
  std::uint64_t event = 0;
  std::string payload;
};

}  // namespace ackline::sim

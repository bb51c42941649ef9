// One group on one partition as its shard sees it: the numbers behind lag and explain. The shard's
// thread.
#pragma once

#include <optional>

#include "ackline/api/admin.h"
#include "ackline/runtime/node.h"

namespace ackline::runtime {

struct LagPart {
  ProgressNumber group;
  std::uint32_t partition = 0;
  PartitionNumber number;
  api::PartitionLag lag;
};

// Without `lag_seconds`, which may have to be read from disk. Null: the group or the partition is
// not here.
[[nodiscard]] std::optional<LagPart> capture_lag(ShardUnit& unit, const delivery::ProgressKey& key);

}  // namespace ackline::runtime

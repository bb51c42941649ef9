// What the journal knows of a record: a type, the partition it belongs to, and opaque bytes.
#pragma once

#include <cstdint>

#include "ackline/base/bytes.h"
#include "ackline/base/types.h"

namespace ackline::io {

struct JournalRecord {
  std::uint8_t type = 0;
  // PartitionNumber{0}: a record of the whole shard (boot, alive), not of a partition.
  PartitionNumber partition;
  ByteView body;  // valid during the call that hands it over
};

}  // namespace ackline::io

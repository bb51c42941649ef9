// What a partition knows of one of its segments. Plain data, owned by LocalPartition.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ackline/io/fs/file_system.h"
#include "ackline/log/local/segment_index.h"

namespace ackline::log {

struct Segment {
  SegmentFacts facts;
  std::uint64_t identity = 0;  // format::segment_identity
  // Present for the segment being written and for sealed ones that were read lately.
  std::shared_ptr<SegmentIndex> index;
  // Open for the segment being written once it was flushed, and for those read lately.
  std::shared_ptr<io::File> file;
  std::uint64_t allocated = 0;  // size of the file while it is written
  std::uint64_t last_use = 0;
  bool sealed = false;      // full, cut to length, index file written; never changes again
  bool unsynced = false;    // written since the last checkpoint
  bool incomplete = false;  // at boot: missing or shorter than the checkpoint says
  std::string fault;        // why it is incomplete
};

}  // namespace ackline::log

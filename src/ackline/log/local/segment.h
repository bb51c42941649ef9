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
  std::shared_ptr<io::File> file;        // for writing; open once something was written
  std::shared_ptr<io::File> reader;      // for reading, where `file` is not open
  std::shared_ptr<io::File> index_file;  // until the next checkpoint has synced it
  std::uint64_t allocated = 0;           // size of the file while `file` is open
  std::uint64_t last_use = 0;
  bool on_disk = false;      // the file was made
  bool sealed = false;       // full, cut to length, index file written; never changes again
  bool unsynced = false;     // written since the last checkpoint began
  bool syncing = false;      // its sync belongs to the checkpoint that runs
  bool cut_pending = false;  // at boot: the file may go on beyond `facts.length`
  bool incomplete = false;   // at boot: missing or shorter than the checkpoint says
  std::string fault;         // what is wrong when incomplete

  [[nodiscard]] const std::shared_ptr<io::File>& readable() const { return file ? file : reader; }
  [[nodiscard]] bool empty() const { return facts.base == facts.end; }
};

}  // namespace ackline::log

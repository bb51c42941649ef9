// A cold read of the local log: opens the segment, loads its index, reads one chunk.
//
// Filled by LocalPartition on its shard, run on a storage thread, taken apart by
// `LocalPartition::absorb`. It touches nothing of the partition: the segment may be removed
// meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ackline/io/fs/file_system.h"
#include "ackline/log/event_log.h"
#include "ackline/log/local/segment_index.h"

namespace ackline::log {

class LocalReadJob final : public ReadJob {
 public:
  // With `request.segment` unset there is nothing to do.
  struct Input {
    io::FileSystem* fs = nullptr;
    ChunkRequest request;
    SegmentFacts facts;
    std::string index_path;
    std::shared_ptr<io::File> file;             // null: to be opened
    std::shared_ptr<const SegmentIndex> index;  // null: to be loaded, or rebuilt by a scan
    bool idle = true;                           // what was asked for is in memory
  };
  explicit LocalReadJob(Input input) : in(std::move(input)) {}
  void run() override;

  Input in;
  // Found by `run`.
  std::shared_ptr<const Chunk> chunk;
  std::shared_ptr<SegmentIndex> loaded_index;
  std::optional<Error> error;

 private:
  [[nodiscard]] Result<void> open();
  [[nodiscard]] Result<void> load_index();
  [[nodiscard]] Result<SegmentIndex> rebuild_index() const;
};

}  // namespace ackline::log

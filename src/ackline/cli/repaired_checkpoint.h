// A checkpoint written once more with the sections of some partitions changed, for the repair of a
// stopped server's data. Blocking; one thread.
#pragma once

#include <map>
#include <string>

#include "ackline/io/checkpoint/checkpoint.h"

namespace ackline::cli {

struct RepairedCheckpoint {
  io::Checkpoint read;
  std::map<PartitionNumber, std::string> changed;  // new bodies
};

// Makes it the one that counts. Sections that cannot be read are carried as quarantined ones, as a
// start does: no later start may take such a partition for an empty one. Replay begins where it
// would have begun. Errors: those of CheckpointWriter.
[[nodiscard]] Result<void> write_checkpoint(io::FileSystem& fs, const std::string& directory,
                                            const RepairedCheckpoint& next);

}  // namespace ackline::cli

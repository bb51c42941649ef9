// Whether the parts of a data directory belong together: what meta says must be there, is it? A
// part that is missing is never taken for one that is new: what lies in the others would be given
// up as nobody's.
//
// What a crash of a first start, or between the steps of a changed number of shards, leaves is no
// finding: journals are made before anything that needs them is in meta. Blocking, changes nothing;
// used at boot, before anything is changed, and by the doctor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/io/fs/file_system.h"

namespace ackline::runtime {

// What meta says.
struct KnownParts {
  std::optional<std::uint32_t> shards;  // of the layout; nullopt: no server has started yet
  bool topics = false;                  // there is one at least
  std::uint32_t next_partition = 0;     // all lower numbers were given
};

struct MissingPart {
  std::string path;  // what is missing, or what is older than the rest
  Error why;         // kCorrupt, with the remedy
};

// Empty: all is there.
[[nodiscard]] Result<std::vector<MissingPart>> missing_parts(io::FileSystem& fs,
                                                             const std::string& data_path,
                                                             const KnownParts& known);

}  // namespace ackline::runtime

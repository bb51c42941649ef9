// Looks at a data directory that no server uses: for `ackline doctor`.
//
// Takes the lock while it looks, so that no server starts meanwhile. Nothing that a server wrote is
// repaired or removed; opening the two small stores replays their logs, as a start does. Blocking;
// one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/io/fs/file_system.h"

namespace ackline::cli {

enum class FindingLevel : std::uint8_t {
  kFine,     // looked at, nothing to say
  kNote,     // expected after a crash, or harmless
  kProblem,  // something to change before it serves well
  kDamage,   // data is lost or cannot be trusted
};
[[nodiscard]] std::string_view finding_level_name(FindingLevel level);

struct Finding {
  FindingLevel level = FindingLevel::kFine;
  std::string where;   // a file, a directory, a key
  std::string what;    // one sentence
  std::string remedy;  // one sentence; may be empty
};

struct Examination {
  std::vector<Finding> findings;
  // A server holds the directory: nothing else was looked at.
  bool in_use = false;
  [[nodiscard]] FindingLevel worst() const;
};

[[nodiscard]] Examination examine_data_directory(io::FileSystem& fs, const std::string& path);

}  // namespace ackline::cli

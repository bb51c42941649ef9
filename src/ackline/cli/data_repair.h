// `ackline doctor --repair`: makes a stopped server's data directory usable again where that is
// possible without guessing.
//
// First a plan, which changes nothing and says in sentences what each step will do, what is lost by
// it, and for which findings there is no repair and why. Then, if asked, the steps. Whatever a step
// changes or takes away lies in the backup directory afterwards, with a list of the steps
// (`repair.txt`). Given up are whole ranges of offsets at a partition's beginning: the log has no
// holes, so what lies before a damaged segment goes with it. Groups that had not passed them count
// them as `gone` at the next start, as if retention had taken them (invariant 30).
//
// Holds the directory's lock from the plan to the end. Blocking; one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/state/data_directory.h"

namespace ackline::cli {

struct RepairStep {
  std::string where;
  std::string what;             // one sentence: what it will do, and what is lost
  std::int64_t lost = 0;        // offsets given up
  std::vector<std::string> of;  // files and directories that go to the backup
  // The change itself, after those lie in the backup; may be empty.
  std::function<Result<void>()> change;
};

struct NoRepair {
  std::string where;
  std::string why;  // one sentence
};

class RepairPlan {
 public:
  // Errors: the directory's (in use, no data, another format).
  [[nodiscard]] static Result<RepairPlan> make(io::FileSystem& fs, const std::string& path);

  [[nodiscard]] const std::vector<RepairStep>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<NoRepair>& without() const { return without_; }
  // The first free "<data>/repair-1", …
  [[nodiscard]] Result<std::string> default_backup() const;
  // Stops at the first error: what was done stays done, a new plan goes on from there. The backup
  // directory must be empty or absent (kAlreadyExists).
  [[nodiscard]] Result<void> apply(const std::string& backup);

 private:
  friend class RepairPlanner;
  RepairPlan(io::FileSystem& fs, std::string path, state::DataDirectory data)
      : fs_(&fs), path_(std::move(path)), data_(std::move(data)) {}

  io::FileSystem* fs_;
  std::string path_;
  state::DataDirectory data_;  // and its lock
  std::vector<RepairStep> steps_;
  std::vector<NoRepair> without_;
};

}  // namespace ackline::cli

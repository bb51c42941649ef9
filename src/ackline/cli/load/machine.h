// What a number depends on: the machine, its disk, the versions. Printed beside every measurement,
// so that two machines can be compared. Values; any thread.
#pragma once

#include <string>

#include "ackline/base/result.h"

namespace ackline::cli::load {

struct Machine {
  std::string cpu;
  unsigned cores = 0;
  std::string kernel;
  double load = 0;  // the system's average over a minute
};

[[nodiscard]] Machine this_machine();

// Appends of 4 KiB with fdatasync a second, into a prepared file of `directory` that has no name
// and is gone afterwards. About a second. Errors: kUnavailable (the directory takes no file).
[[nodiscard]] Result<double> sync_rate(const std::string& directory);

}  // namespace ackline::cli::load

// Where a command's configuration comes from: -c FILE, the environment, -D key=value.
//
// Blocking; one thread. Errors: kNotFound and the file system's for the file.
#pragma once

#include <vector>

#include "ackline/base/config.h"
#include "ackline/cli/command.h"

namespace ackline::cli {

// The two options, for the rows of the commands that take them.
[[nodiscard]] std::vector<OptionSpec> config_options();
[[nodiscard]] Result<ConfigSources> config_sources(const Args& args);

}  // namespace ackline::cli

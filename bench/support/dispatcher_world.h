// The dispatcher that the programs here drive is the one of `ackline bench in-process`. One thread.
#pragma once

#include "ackline/cli/load/dispatcher_world.h"

namespace ackline::bench {

using namespace cli::load;  // NOLINT

}  // namespace ackline::bench

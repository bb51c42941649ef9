// Takes deliveries by poll and settles none, so that they stay in flight; or only waits for them.
// One thread.
#pragma once

#include "bench/load/arguments.h"

namespace ackline::bench {

// --clients A,B --events N (each) [--samples FILE --every N]: one client after another, as the
// server closes a connection that asks nothing for a minute. The exit code.
int hold(const Arguments& arguments);
// --clients-named P --count N --deliver stream|poll: keeps a stream or a poll of a minute open for
// each until standard input ends. Prints {"waiting":N} once all are open.
int idle(const Arguments& arguments);

}  // namespace ackline::bench

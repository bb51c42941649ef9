// The journal's rules as a small machine, to be explored completely.
//
// Two journals (two shards), a partition with one group, its dead-letter partition, a checkpoint
// that rolls by partition, kill -9 and power cuts that keep any subset of the unsynced batches.
// Each rule can be switched off; then some history must break a promise of `Observer`, or the rule
// would be superfluous or the model blind.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/unit/io/journal_model/observer.h"

namespace ackline::io::model {

struct Rules {
  bool same_journal = true;            // J1, J7: a dead letter and its settle are one batch
  bool own_blocks = true;              // J3: a synced block is never rewritten
  bool stop_at_hole = true;            // J3, J10: replay ends at the first missing batch
  bool write_before_ack = true;        // J5: 200 after the write
  bool sync_before_accept = true;      // J5: 202 after the sync
  bool read_synced_only = true;        // J5: readers see what is synced
  bool sync_before_reoffer = true;     // J5: an offer of what was offered before
  bool sync_before_visible = true;     // J5: frontier export, progress answers
  bool sync_before_manifest = true;    // J8: the journal through the highest applied lsn
  bool skip_applied = true;            // J8: replay skips, per partition, what is applied
  bool recycle_after_manifest = true;  // J8
  bool rewrite_rest = true;            // J10: what was kept is synced before it is served
  bool fresh_epoch = true;             // invariant 12
  bool poison = true;                  // a failed sync is never retried
};

struct Exploration {
  std::size_t states = 0;
  std::string broken;                // "" when every promise held everywhere
  std::vector<std::string> history;  // the shortest way to it
};

struct Bounds {
  int steps = 8;
  int publishes = 2;
  int offers = 2;
  int crashes = 2;
};

[[nodiscard]] Exploration explore(const Rules& rules, const Bounds& bounds);

}  // namespace ackline::io::model

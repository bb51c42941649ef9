// Which rows of a delivery store a batch of records has changed.
//
// For stores that keep rows instead of records: what became of a place is asked of the dispatcher
// (`Dispatcher::capture`), which has worked out already what the records mean. One shard's thread.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/delivery/port.h"
#include "ackline/state/delivery_state_store.h"

namespace ackline::delivery {

// Of one group or lane on one partition.
struct Touched {
  bool all = false;                          // a new generation, or a lane's part
  std::map<Offset, std::uint32_t> slots;     // where offers and their ends took place
  std::vector<state::SettledRange> settled;  // in this generation
  std::set<Offset> entries;                  // events whose dead letters changed
  std::set<DeadLetterKey> forgotten;         // dead letters that are no more
};

class TouchedRows {
 public:
  // One record, in the order in which they are written. Errors: kCorrupt.
  [[nodiscard]] Result<void> add(state::RecordType type, PartitionNumber partition, ByteView body);
  // A dead letter that is no more, which no record says.
  // All of it changed, which no record says.
  void touch(ProgressKey key) { rows_[key].all = true; }
  void forget(ProgressKey key, const DeadLetterKey& dead) { rows_[key].forgotten.insert(dead); }
  [[nodiscard]] bool empty() const { return rows_.empty() && !alive_; }
  // An alive mark was among them.
  [[nodiscard]] bool alive() const { return alive_; }
  [[nodiscard]] const std::map<ProgressKey, Touched>& all() const { return rows_; }
  void clear() {
    rows_.clear();
    alive_ = false;
  }

 private:
  std::map<ProgressKey, Touched> rows_;
  bool alive_ = false;
};

}  // namespace ackline::delivery

// Where each partition's log begins by the journals that were read: a checkpoint may still name
// segments below it, which went with the record.
//
// One thread. Nothing fails: a record that cannot be read says nothing.
#pragma once

#include <algorithm>
#include <map>

#include "ackline/base/types.h"
#include "ackline/io/journal/recovery.h"
#include "ackline/state/records.h"

namespace ackline::cli {

class LogStarts {
 public:
  // Any record; those of other types are passed over.
  void note(const io::JournalRecord& record) {
    if (static_cast<state::RecordType>(record.type) != state::RecordType::kLogStart) return;
    if (const auto start = state::LogStartRecord::decode(record.body)) {
      Offset& known = all_[record.partition];
      known = std::max(known, start->offset);
    }
  }
  // 0 when no journal says it.
  [[nodiscard]] Offset of(PartitionNumber partition) const {
    const auto found = all_.find(partition);
    return found == all_.end() ? Offset(0) : found->second;
  }

 private:
  std::map<PartitionNumber, Offset> all_;
};

}  // namespace ackline::cli

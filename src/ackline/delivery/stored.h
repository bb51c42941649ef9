// What a store of rows knows of one group or lane on one partition, on its way back to a
// dispatcher.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ackline/delivery/port.h"
#include "ackline/state/delivery_change.h"

namespace ackline::delivery {

struct StoredRows {
  ProgressKey key;
  Generation generation;
  std::string frontier;  // docs/formats/frontier.md
  std::vector<state::DeliveryState> deliveries;
  std::map<std::string, std::string> notes;
};

// The section of a checkpoint that says the same, for `Dispatcher::restore`. `at`: the store's
// time, which stood still. Error: kCorrupt.
[[nodiscard]] Result<std::string> section_of_rows(Epoch epoch, MonoMs at,
                                                  std::span<const StoredRows> rows);

// How many dead letters the notes name.
[[nodiscard]] std::uint64_t dead_letters_in(const StoredRows& rows);

// A group's progress of which the rows are lost, as far as it is known from elsewhere.
struct KnownProgress {
  ProgressKey key;
  Generation generation;
  Offset start;     // where the group began
  Offset frontier;  // inclusive
  Offset end;       // of the log; what is below may have been offered
};
struct DeadLetterAt {
  Offset source;
  Generation generation;
  Offset dlq;
};
// Its rows: nothing in flight. What is dead in this generation is settled; whether an entry was
// redriven or purged is not known any more, it is dead.
[[nodiscard]] state::DeliveryChange change_of_known(const KnownProgress& known,
                                                    const std::vector<DeadLetterAt>& dead);

}  // namespace ackline::delivery

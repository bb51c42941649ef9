// What a store of rows knows of one group or lane on one partition, on its way back to a
// dispatcher.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ackline/delivery/port.h"
#include "ackline/state/delivery_state_store.h"

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
                                                  std::vector<StoredRows> rows);

}  // namespace ackline::delivery

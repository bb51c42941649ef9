// A batch of the DeliveryStateStore with what the contract has no word for: one moment, too.
//
// The dispatcher makes it, a store that keeps rows takes it. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ackline/state/delivery_state_store.h"

namespace ackline::state {

// What else belongs to a progress. The store does not look into it.
struct DeliveryNote {
  std::string key;
  std::optional<std::string> value;  // unset: it goes
};

struct DeliveryChange {
  DeliveryBatch batch;
  std::vector<Offset> drops;  // deliveries that are no more and not terminal
  std::vector<DeliveryNote> notes;
  bool all = false;  // deliveries and notes that are not named here go
};

}  // namespace ackline::state

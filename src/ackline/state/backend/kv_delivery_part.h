// What KvDeliveryStateStore holds of one progress on one partition. Shared by its sources.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ackline/frontier/frontier.h"
#include "ackline/state/backend/kv_delivery_state_store.h"

namespace ackline::state {

struct KvDeliveryStateStore::Part {
  // The bound on events past the frontier is the dispatcher's business.
  static constexpr std::uint64_t kAheadMax = frontier::Frontier::kSpanMax;

  Part(const Key& of, Generation its, Offset start)
      : key(of), generation(its), frontier(start.next(), kAheadMax) {}

  Key key;
  Generation generation;
  frontier::Frontier frontier;
  // What the key-value store has.
  boost::unordered_flat_set<std::int64_t> stored;  // deliveries, by offset
  std::set<std::int64_t> stored_chunks;
  std::set<std::string> stored_notes;
  // What it has not yet; an empty value removes the row.
  bool head_dirty = false;
  std::map<Offset, std::optional<std::string>> rows;
  std::set<std::int64_t> chunks;
  std::map<std::string, std::optional<std::string>> notes;
};

}  // namespace ackline::state

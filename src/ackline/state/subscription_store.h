// Who is subscribed to what: one record per (topic, clientId), `/em/subs/<topic>/<clientId>` in
// meta, with a local cache.
//
// Policy (ordering, attempts, filter) belongs to the group and is not here. `put` is a compare and
// set: of two that register the same client at once, one wins and the other sees it. Reads marked
// "cached" never wait and go on during an outage of meta; the rest block (storage threads). Any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/types.h"
#include "ackline/meta/meta_store.h"
#include "ackline/state/stateful_store.h"

namespace ackline::state {

struct Subscription {
  std::string topic;
  std::string client_id;
  std::string group;
  Incarnation incarnation;                 // of the topic
  ClientNumber number;                     // records name the client by it
  std::string mode;                        // CLUSTERING, BROADCASTING, MULTICAST, A2A_DISPATCH
  std::string principal;                   // who may use this clientId
  std::string instance;                    // where the client is connected, or was last
  std::vector<PartitionIndex> partitions;  // empty: all
  std::uint32_t max_in_flight = 0;
  std::uint64_t max_in_flight_bytes = 0;
  std::uint64_t ack_timeout_ms = 0;
  std::uint64_t max_lease_ms = 0;
  std::string filter;   // the client's own (MULTICAST), as text; "" none
  std::string webhook;  // target settings as text; "" none
  WallMs created_at;
  WallMs last_seen_at;
  friend bool operator==(const Subscription&, const Subscription&) = default;
};

struct StoredSubscription {
  Subscription subscription;
  meta::Revision revision;
};

class SubscriptionStore : public StatefulStore {
 public:
  // Writes if the record's revision still is `expected` (0: not there). Not done: a race was lost;
  // read again. Errors: kBadName (a name with '#', '/' or '@', or empty), the meta store's.
  [[nodiscard]] virtual Result<meta::Written> put(const Subscription& subscription,
                                                  meta::Revision expected) = 0;
  // Done when it was there.
  [[nodiscard]] virtual Result<meta::Written> remove(std::string_view topic,
                                                     std::string_view client_id) = 0;
  // Meta's own view, past the cache.
  [[nodiscard]] virtual Result<std::optional<StoredSubscription>> read(
      std::string_view topic, std::string_view client_id) = 0;

  // Cached: subscriptions of `topic` that `matches` accepts (null: all), by clientId. The caller
  // brings the event in the predicate, so that the store knows no filters.
  [[nodiscard]] virtual std::vector<StoredSubscription> targets_for(
      std::string_view topic, const std::function<bool(const Subscription&)>& matches) const = 0;
  // Cached: the instance of the client's most recently written subscription; nullopt: it has none.
  [[nodiscard]] virtual std::optional<std::string> instance_of(
      std::string_view client_id) const = 0;
  // Cached: topics with at least one subscription, sorted.
  [[nodiscard]] virtual std::vector<std::string> topics() const = 0;
  // How long the cache may have missed changes; 0 while it is kept by a watch.
  [[nodiscard]] virtual std::uint64_t cache_age_ms() const = 0;
  // Re-reads everything. The owner calls it when told that the watch was lost, until it succeeds.
  [[nodiscard]] virtual Result<void> refresh() = 0;
};

}  // namespace ackline::state

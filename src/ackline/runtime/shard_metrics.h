// The series that one group's deliveries count in, looked up once.
#pragma once

#include <memory>

#include "ackline/base/metrics.h"
#include "ackline/delivery/port.h"
#include "ackline/runtime/shard.h"

namespace ackline::runtime {

struct Shard::GroupMetrics {
  GroupMetrics(MetricRegistry& registry, const Group& group);
  void count(delivery::DeliveryEvent what, std::uint64_t events);

  std::shared_ptr<Counter> offered, reoffered, filtered, filter_errors, expired_events, gone;
  std::shared_ptr<Counter> acked, nacked, rejected, extended, lease_expired, client_lost, withdrawn;
  std::shared_ptr<Counter> stale, foreign;
  std::shared_ptr<Counter> dead_max_attempts, dead_max_restarts, dead_rejected, dead_expired;
};

}  // namespace ackline::runtime

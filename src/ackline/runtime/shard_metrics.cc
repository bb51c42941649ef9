#include "ackline/runtime/shard_metrics.h"

#include "ackline/base/metric_names.h"

namespace ackline::runtime {

Shard::GroupMetrics::GroupMetrics(MetricRegistry& registry, const Group& group) {
  const auto delivery = [&](std::string_view result) {
    return registry.counter(metric::kDeliveries,
                            {{"topic", group.topic}, {"group", group.name}, {"result", result}});
  };
  const auto ack = [&](std::string_view outcome) {
    return registry.counter(metric::kAcks,
                            {{"topic", group.topic}, {"group", group.name}, {"outcome", outcome}});
  };
  const auto dead = [&](std::string_view reason) {
    return registry.counter(metric::kDeadLetters,
                            {{"topic", group.topic}, {"group", group.name}, {"reason", reason}});
  };
  offered = delivery("first");
  reoffered = delivery("again");
  lease_expired = delivery("lease_expired");
  client_lost = delivery("client_lost");
  withdrawn = delivery("withdrawn");
  filtered = delivery("filtered");
  filter_errors = delivery("filter_error");
  expired_events = delivery("expired");
  gone = delivery("gone");
  acked = ack("acked");
  nacked = ack("nacked");
  rejected = ack("rejected");
  extended = ack("extended");
  stale = ack("stale");
  foreign = ack("not_owner");
  dead_max_attempts = dead("max_attempts");
  dead_max_restarts = dead("max_restarts");
  dead_rejected = dead("rejected");
  dead_expired = dead("expired");
}

void Shard::GroupMetrics::count(delivery::DeliveryEvent what, std::uint64_t events) {
  using enum delivery::DeliveryEvent;
  switch (what) {
    case kOffered:
      offered->add(events);
      break;
    case kReoffered:
      reoffered->add(events);
      break;
    case kAcked:
      acked->add(events);
      break;
    case kNacked:
      nacked->add(events);
      break;
    case kRejected:
      rejected->add(events);
      break;
    case kExtended:
      extended->add(events);
      break;
    case kExpiredLease:
      lease_expired->add(events);
      break;
    case kLostClient:
      client_lost->add(events);
      break;
    case kWithdrawn:
      withdrawn->add(events);
      break;
    case kFiltered:
      filtered->add(events);
      break;
    case kFilterError:
      filter_errors->add(events);
      break;
    case kExpiredEvent:
      expired_events->add(events);
      break;
    case kDeadLettered:
      break;  // counted with its reason where the record is written
    case kGone:
      gone->add(events);
      break;
    case kStaleAck:
      stale->add(events);
      break;
    case kForeignAck:
      foreign->add(events);
      break;
  }
}

}  // namespace ackline::runtime

#include "ackline/channel/push_channel.h"

#include <fmt/format.h>

#include <iterator>

#include "ackline/base/json_text.h"
#include "ackline/event/frame.h"

namespace ackline::channel {

std::string_view end_word(EndReason reason) {
  switch (reason) {
    case EndReason::kDraining:
      return "draining";
    case EndReason::kReplaced:
      return "replaced";
    case EndReason::kUnsubscribed:
      return "unsubscribed";
    case EndReason::kTopicDeleted:
      return "topic_deleted";
    case EndReason::kRejected:
      return "rejected";
  }
  return "draining";
}

void append_delivery_json(const Delivery& delivery, std::string& out) {
  // Ids, topics and groups are of characters that JSON leaves as they are.
  fmt::format_to(std::back_inserter(out),
                 R"({{"deliveryId":"{}","topic":"{}","group":"{}","partition":{},"offset":{},)"
                 R"("attempt":{},"maxAttempts":{},"leaseMs":{},"lane":)",
                 delivery.delivery_id, delivery.topic, delivery.group, delivery.partition.value(),
                 delivery.offset.value(), delivery.attempt, delivery.max_attempts,
                 delivery.lease_ms);
  if (delivery.lane_id.empty()) {
    out.append("null");
  } else {
    out.append(R"({"laneId":)");
    append_json_string(out, delivery.lane_id);
    out.append(delivery.replay ? R"(,"kind":"replay","entry":)" : R"(,"kind":"redrive","entry":)");
    if (delivery.lane_entry.empty()) {
      out.append("null");
    } else {
      append_json_string(out, delivery.lane_entry);
    }
    out.push_back('}');
  }
  out.append(delivery.resent ? R"(,"resent":true,"event":)" : R"(,"resent":false,"event":)");
  // The log has checked the record's checksum: a frame that does not open is a bug, and the client
  // is better served by a delivery without its event than by a broken stream.
  if (const auto frame = event::FrameView::open(delivery.frame)) {
    event::append_json(*frame, out, {.drop_dlq = !delivery.lane_entry.empty()});
  } else {
    out.append("null");
  }
  out.push_back('}');
}

}  // namespace ackline::channel

#include "ackline/log/event_log.h"

#include <fmt/format.h>

namespace ackline::log {

std::string_view capability_name(Capability capability) {
  switch (capability) {
    case Capability::kDurable:
      return "durable";
    case Capability::kOrdered:
      return "ordered";
    case Capability::kContiguousOffsets:
      return "contiguous_offsets";
    case Capability::kEndOffset:
      return "end_offset";
    case Capability::kLogStart:
      return "log_start";
    case Capability::kReadByOffset:
      return "read_by_offset";
    case Capability::kReadByTime:
      return "read_by_time";
    case Capability::kTruncation:
      return "truncation";
    case Capability::kBlockingRead:
      return "blocking_read";
    case Capability::kNotification:
      return "notification";
    case Capability::kDeferredAck:
      return "deferred_ack";
    case Capability::kLiteTopic:
      return "lite_topic";
    case Capability::kTopicManagement:
      return "topic_management";
  }
  return "unknown";
}

Result<void> Capabilities::require(Capability one, std::string_view backend) const {
  if (has(one)) return {};
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("The event log `{}` has no capability {}.", backend, capability_name(one)),
      "Use an event log that has it, such as `local`.");
}

}  // namespace ackline::log

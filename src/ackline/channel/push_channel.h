// The push channel contract: how deliveries reach a client, whatever the transport.
//
// A client has at most one channel open: a stream (SSE now, WebSocket, webhook and TCP later) or a
// poll. The session of the client (runtime) hands deliveries in on the shard where the client
// lives; the channel turns them into bytes. A channel never touches stores and never settles.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ackline/base/bytes.h"
#include "ackline/base/result.h"
#include "ackline/base/types.h"

namespace ackline::channel {

// One delivery as a client sees it. The views live as long as `hold`.
struct Delivery {
  std::string delivery_id;
  std::string_view topic;
  std::string_view group;
  PartitionIndex partition;
  Offset offset;
  std::uint32_t attempt = 1;
  std::uint32_t max_attempts = 1;
  std::int64_t lease_ms = 0;
  bool resent = false;
  std::string lane_id;                // "" outside a lane, else "r-7"
  std::string lane_entry;             // "jobs_DLQ:0:17"; "": no dead letter
  bool replay = false;                // the lane is a replay, else a redrive
  ByteView frame;                     // the event, as event::FrameView reads it
  std::shared_ptr<const void> hold;   // keeps `frame` alive
  std::shared_ptr<const void> names;  // keeps `topic` and `group` alive
};

// Why a stream ends; the word of its last `event: end`.
enum class EndReason : std::uint8_t {
  kDraining,
  kReplaced,
  kUnsubscribed,
  kTopicDeleted,
  kRejected
};
[[nodiscard]] std::string_view end_word(EndReason reason);

class PushChannel {
 public:
  virtual ~PushChannel() = default;
  // Sends now, in order. The channel's thread only.
  virtual void deliver(std::span<const Delivery> deliveries) = 0;
  // The last word; nothing is delivered after it.
  virtual void end(EndReason reason) = 0;
};

// Appends the JSON object of one delivery, `Delivery` in the OpenAPI document.
void append_delivery_json(const Delivery& delivery, std::string& out);

}  // namespace ackline::channel

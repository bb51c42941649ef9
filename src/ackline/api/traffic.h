// What the traffic routes call: publish, subscribe, poll, stream, settle. The runtime implements
// it.
//
// Calls come on the thread of the connection's shard; `done` runs there too, exactly once, never
// before the call has returned. Durations in ms. Nothing blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/channel/push_channel.h"
#include "ackline/delivery/dispatcher.h"
#include "ackline/delivery/policy.h"

namespace ackline::api {

template <class T>
using Done = std::move_only_function<void(Result<T>)>;

// Who calls, as the gate and the connection know it; never what the request says of itself. Every
// way in (HTTP now, WebSocket and TCP later) fills it in the same.
struct Caller {
  std::string principal = {};  // "" while there is no security gate
  std::string remote = {};     // "address:port" of the connection; "": there is none to name
};

// Where a group starts or is reset to (`position` in the OpenAPI document): the first offset to be
// offered.
struct Earliest {};
struct Latest {};
struct AtOffsets {
  std::optional<Offset> all;             // every partition
  std::map<std::uint32_t, Offset> some;  // those only
};
struct AtTime {
  WallMs time;
};
using Position = std::variant<Earliest, Latest, AtOffsets, AtTime>;

struct PublishEvent {
  std::string frame;                         // encoded event (event/frame.h)
  std::optional<std::string> partition_key;  // extension `partitionkey`
};
struct PublishRequest {
  std::string topic;
  std::optional<std::uint32_t> partition;
  std::vector<PublishEvent> events;  // 1 to limits.batch
  Caller caller;
};
struct Published {
  std::uint32_t partition = 0;
  Offset offset;
};
// One per event, in order.
using PublishResults = std::vector<Result<Published>>;

struct SubscribeRequest {
  std::string client_id;
  std::string topic;
  Caller caller;
  std::optional<std::string> group;
  std::vector<std::uint32_t> partitions;  // empty: all
  std::optional<Position> start;
  // Policy of the group; left out = keep, or the default for a new one.
  std::optional<delivery::Mode> mode;
  std::optional<delivery::Ordering> ordering;
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::vector<std::int64_t>> backoff_ms;
  std::optional<std::string> filter_json;  // canonical text of the parsed filter; "" = no filter
  std::optional<bool> dead_letter_expired;
  // The client's own.
  std::optional<std::uint32_t> max_in_flight;
  std::optional<std::uint64_t> max_in_flight_bytes;
  std::optional<std::int64_t> ack_timeout_ms;
  std::optional<std::int64_t> max_lease_ms;
};
struct Conflict {
  std::string key;
  std::string have_json;
  std::string want_json;
};
struct Subscribed {
  std::string subscription_id;
  std::string client_id;
  std::string topic;
  std::string group;
  delivery::Mode mode = delivery::Mode::kClustering;
  bool created = false;
  std::map<std::uint32_t, Offset> start;
  std::string instance_url;
  // Not empty: nothing was changed, the answer is 409 group_conflict with these.
  std::vector<Conflict> conflicts;
};
struct Unsubscribed {
  bool removed = false;
  std::vector<std::string> topics;
};

struct SettleCall {
  delivery::Verb verb = delivery::Verb::kAck;
  std::string client_id;
  Caller caller;
  std::vector<std::string> delivery_ids;
  std::optional<std::int64_t> delay_ms;
  std::optional<std::int64_t> extend_ms;
  std::string reason;
};
struct Settled {
  delivery::SettleStatus status = delivery::SettleStatus::kAcked;
  std::int64_t lease_ms = 0;
};
// 409 `settled` carries the entry of the dead letter in Error.field,
// "<dlqTopic>:<partition>:<offset>", else "".
using SettleResults = std::vector<Result<Settled>>;

// A poll or stream that goes on; destroying it cancels the poll or closes the stream (the client
// has gone).
class Attachment {
 public:
  virtual ~Attachment() = default;
};

class Traffic {
 public:
  virtual ~Traffic() = default;
  virtual void publish(PublishRequest request, Done<PublishResults> done) = 0;
  virtual void subscribe(SubscribeRequest request, Done<Subscribed> done) = 0;
  // `topic` nullopt: every topic of the client.
  virtual void unsubscribe(std::string client_id, std::optional<std::string> topic, Caller caller,
                           Done<Unsubscribed> done) = 0;
  // Up to `max` new deliveries as soon as there is one, none after `timeout_ms`. Errors:
  // kClientUnknown, kStreamOpen, kDraining.
  [[nodiscard]] virtual std::unique_ptr<Attachment> poll(
      std::string client_id, Caller caller, std::uint32_t max, std::int64_t timeout_ms,
      Done<std::vector<channel::Delivery>> done) = 0;
  // Opens the client's stream: `opened` first, then `channel` is used on this thread until the
  // attachment is destroyed or the channel was ended. `channel` outlives the attachment.
  [[nodiscard]] virtual std::unique_ptr<Attachment> stream(std::string client_id, Caller caller,
                                                           channel::PushChannel& channel,
                                                           Done<void> opened) = 0;
  virtual void settle(SettleCall call, Done<SettleResults> done) = 0;
};

}  // namespace ackline::api

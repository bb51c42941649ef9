// A client's stream as server-sent events.
//
// One response of one connection. `open` writes the head and the first line; after it come
// deliveries, a comment when nothing was sent for a heartbeat, and at last `event: end`. Used on
// the thread of the connection's loop only. When the peer is gone every call is a no-op; whoever
// owns the channel learns it from the Responder. Held by a shared_ptr: timers look at it weakly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ackline/base/executor.h"
#include "ackline/channel/push_channel.h"
#include "ackline/http/responder.h"

namespace ackline::channel {

struct SseOptions {
  std::int64_t heartbeat_ms = 15'000;
  std::int64_t retry_ms = 2'000;
};

class SseChannel final : public PushChannel, public std::enable_shared_from_this<SseChannel> {
 public:
  // `executor` outlives the channel.
  SseChannel(http::Responder responder, Executor& executor, SseOptions options);
  ~SseChannel() override;
  SseChannel(const SseChannel&) = delete;
  SseChannel& operator=(const SseChannel&) = delete;

  void open();
  // Instead of `open`: the stream was refused.
  void refuse(const Error& error);
  // `task` runs once if the peer leaves before the end.
  void on_gone(Task task);
  // `task` runs once within `end`, while this object still has its owner.
  void on_ended(Task task);

  void deliver(std::span<const Delivery> deliveries) override;
  void end(EndReason reason) override;

 private:
  enum class State : std::uint8_t { kNew, kOpen, kClosed };
  void arm(MonoMs at);
  void beat();

  http::Responder responder_;
  Executor& executor_;
  SseOptions options_;
  State state_ = State::kNew;
  MonoMs last_sent_;
  Executor::TimerId timer_ = 0;
  Task ended_;
  std::string scratch_;
};

}  // namespace ackline::channel

// Poll and stream. A connection that goes away takes its poll or stream along.
#include <array>
#include <utility>

#include "ackline/api/handlers.h"
#include "ackline/channel/poll_render.h"
#include "ackline/channel/sse_channel.h"

namespace ackline::api {
namespace {

struct Polling {
  http::Responder responder;
  std::unique_ptr<Attachment> attachment;
  bool over = false;
};

// The channel outlives the attachment: members go in the reverse order.
struct Streaming {
  std::shared_ptr<channel::SseChannel> channel;
  std::unique_ptr<Attachment> attachment;
  bool over = false;
};

}  // namespace

void poll(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 4> kParameters = {"clientId", "max", "limit", "timeoutMs"};
  constexpr std::int64_t kDefaultTimeoutMs = 1000;
  Input input = call.query(kParameters);
  std::string client_id = input.client_id();
  const std::uint32_t max = input.limit();
  const std::int64_t timeout_ms =
      input.whole("timeoutMs", {0, 60'000}, "Leave it out for the default of 1000.")
          .value_or(kDefaultTimeoutMs);
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  auto polling = std::make_shared<Polling>();
  polling->responder = std::move(call.responder);
  polling->responder.on_gone([weak = std::weak_ptr(polling)] {
    if (const auto gone = weak.lock()) {
      gone->over = true;
      gone->attachment.reset();
    }
  });
  auto attachment =
      api.traffic().poll(std::move(client_id), call.take_caller(), max, timeout_ms,
                         [polling](Result<std::vector<channel::Delivery>> deliveries) {
                           if (deliveries) {
                             answer_json(polling->responder, channel::poll_json(*deliveries));
                           } else {
                             polling->responder.respond(deliveries.error());
                           }
                           polling->over = true;
                         });
  if (!polling->over) {
    polling->attachment = std::move(attachment);
  }
}

void stream(const Api& api, Call& call) {
  constexpr std::array<std::string_view, 1> kParameters = {"clientId"};
  if (call.request.header("upgrade")) {
    call.responder.respond(
        unsupported("this build has no WebSocket",
                    "Read the stream as server-sent events: leave out Upgrade."));
    return;
  }
  Input input = call.query(kParameters);
  std::string client_id = input.client_id();
  if (input.failed()) {
    call.responder.respond(input.error());
    return;
  }
  Caller caller = call.take_caller();
  auto streaming = std::make_shared<Streaming>();
  streaming->channel = std::make_shared<channel::SseChannel>(
      std::move(call.responder), api.services.executor,
      channel::SseOptions{.heartbeat_ms = api.options.heartbeat_ms,
                          .retry_ms = api.options.stream_retry_ms});
  // The connection owns the stream; what the runtime calls back looks at it weakly.
  const std::weak_ptr weak(streaming);
  streaming->channel->on_gone([streaming] {
    streaming->over = true;
    streaming->attachment.reset();
  });
  // Posted: the runtime is in the middle of a call to the channel.
  streaming->channel->on_ended([weak, executor = &api.services.executor] {
    if (auto ended = weak.lock()) {
      executor->post([ended = std::move(ended)] { ended->attachment.reset(); });
    }
  });
  auto attachment = api.traffic().stream(std::move(client_id), std::move(caller),
                                         *streaming->channel, [weak](Result<void> opened) {
                                           const auto open = weak.lock();
                                           if (!open || open->over) {
                                             return;
                                           }
                                           if (opened) {
                                             open->channel->open();
                                             return;
                                           }
                                           open->over = true;
                                           open->channel->refuse(opened.error());
                                         });
  if (!streaming->over) {
    streaming->attachment = std::move(attachment);
  }
}

}  // namespace ackline::api

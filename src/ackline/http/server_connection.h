// One server-side HTTP/1.1 connection as a state machine: bytes in, bytes out, no socket, no clock.
//
// It parses pipelined requests, hands each to the handler with a Responder, and puts the answers
// into the output in the order of the requests. It holds the peer to `Limits`: the caller asks
// `next_deadline()` and calls `on_tick` then. A request that breaks the protocol is answered with a
// problem and the connection closes after it.
//
// Whoever moves the bytes (http/server.cc, or a simulation) drives it so:
//   on_bytes / on_eof / on_tick, then a round: while nothing is being written and has_output():
//   take_output(s), write s, on_written(n); then obey wants_read, wants_shutdown and wants_close,
//   where closing means on_lost().
// Answers may come outside of these calls; `wake` then asks for a round, once until the next
// on_written, which a woken round calls even if there is nothing to write (n = 0).
// One thread. Owned by a shared_ptr because Responders outlive it or it them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ackline/base/executor.h"
#include "ackline/base/types.h"
#include "ackline/http/limits.h"
#include "ackline/http/responder.h"

namespace ackline::http {

struct ConnectionOptions {
  Limits limits = {};
  std::string remote = {};
  ListenerKind listener = ListenerKind::kTraffic;
  // Of what was told by `on_written`, the bytes that have not reached the peer yet. Empty: unknown.
  std::function<std::size_t()> unconfirmed = {};
};

class ServerConnection : public ResponseSink {
 public:
  // `handler` outlives the connection. `wake` may be empty.
  static std::shared_ptr<ServerConnection> make(MonoMs now, RequestHandler& handler,
                                                ConnectionOptions options,
                                                std::function<void()> wake);

  // Input. All of `bytes` is taken; what cannot be parsed yet is kept.
  virtual void on_bytes(MonoMs now, std::string_view bytes) = 0;
  // The peer sends no more. Open answers are told `on_gone`, but may still be given.
  virtual void on_eof(MonoMs now) = 0;
  // The connection is lost or was closed: nothing is written any more.
  virtual void on_lost() = 0;
  virtual void on_tick(MonoMs now) = 0;
  [[nodiscard]] virtual std::optional<MonoMs> next_deadline() const = 0;

  // Output.
  [[nodiscard]] virtual bool has_output() const = 0;
  // Swaps the output with `into`, which must be empty.
  virtual void take_output(std::string& into) = 0;
  // `bytes` of what was taken went to the peer.
  virtual void on_written(MonoMs now, std::size_t bytes) = 0;
  // Of all answers: what the peer has not taken yet.
  [[nodiscard]] virtual std::size_t pending_bytes() const = 0;

  // False: stop reading until it is true again (too many unanswered requests or too much output).
  [[nodiscard]] virtual bool wants_read() const = 0;
  // Everything is written and nothing more will be: end the sending side, go on reading.
  [[nodiscard]] virtual bool wants_shutdown() const = 0;
  [[nodiscard]] virtual bool wants_close() const = 0;

  // Finish what is asked, ask for nothing new, close. An idle connection closes at once.
  virtual void drain() = 0;
  // No request is half read and none is unanswered.
  [[nodiscard]] virtual bool idle() const = 0;
};

}  // namespace ackline::http

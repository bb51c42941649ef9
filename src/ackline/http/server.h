// The HTTP server: a listener whose connections live on the event loops, each with a
// ServerConnection between the socket and the handler of its loop.
//
// `start`, `drain`, `close_all` and the destructor are called from outside of the loops (or before
// they run); handlers run on the loops. Answers of one turn of a loop leave in one write. An idle
// connection holds no buffer. When descriptors run out new connections are refused and the old ones
// live on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/http/limits.h"
#include "ackline/http/responder.h"
#include "ackline/io/net/event_loop.h"

namespace ackline::http {

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;              // 0: a free one
  std::string port_key = "http.port";  // the configuration key, for the remedy when it is taken
  ListenerKind listener = ListenerKind::kTraffic;
  Limits limits = {};
  std::size_t max_connections = 65'536;
  std::size_t spare_divisor = 1;  // io::net::ListenOptions
};

class Server {
 public:
  // `handlers[i]` answers what arrives on `loops[i]`; both outlive the server. Connections go to
  // the loops in turn. Errors: kInUse (the port is taken), kBadValue (no such host).
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(std::vector<io::net::EventLoop*> loops,
                                                             std::vector<RequestHandler*> handlers,
                                                             ServerOptions options);
  virtual ~Server() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  // "127.0.0.1:10105", with the actual port.
  [[nodiscard]] virtual std::string address() const = 0;
  [[nodiscard]] virtual std::size_t connections() const = 0;
  // Stops accepting, closes idle connections, lets the others finish what they were asked.
  // Returns at once; `drained` runs on the first loop when no connection is left.
  virtual void drain(std::function<void()> drained) = 0;
  // Stops accepting and cuts every connection. Returns when all of them are gone; not on a loop.
  virtual void close_all() = 0;
};

}  // namespace ackline::http

// A socket on an event loop: reads on readiness, writes at once, holds no buffer while idle.
//
// Everything happens on the loop's thread. Bytes read are in the loop's shared buffer and valid
// during the call. A write first goes straight to the kernel; only what it does not take is kept.
// Shared ownership: a handler queued in the loop may outlive the owner.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "ackline/io/net/event_loop.h"
#include "ackline/io/net/socket.h"

namespace ackline::io::net {

class ConnectionEvents {
 public:
  virtual ~ConnectionEvents() = default;
  virtual void on_bytes(std::string_view bytes) = 0;
  // The peer ended its sending side.
  virtual void on_eof() = 0;
  // `bytes` of the last write went out. Not called from inside `write`, which returns its count.
  virtual void on_written(std::size_t bytes) = 0;
  // The peer or the network broke it. Not called after `close`. The last call.
  virtual void on_lost() = 0;
};

class Connection {
 public:
  // Attaches `socket` to `loop`; on its thread. Reading is off at first. Null if the system
  // refuses.
  static std::shared_ptr<Connection> attach(EventLoop& loop, Socket socket,
                                            std::weak_ptr<ConnectionEvents> events);
  virtual ~Connection() = default;
  virtual void set_reading(bool on) = 0;
  // Takes the content of `bytes` (it is empty afterwards, its capacity perhaps kept) and returns
  // how much went out now; the rest is announced by on_written. Only when `writing()` is false.
  virtual std::size_t write(std::string& bytes) = 0;
  [[nodiscard]] virtual bool writing() const = 0;
  // Of what went out, the bytes that the peer's side has not confirmed; 0 when it is closed.
  [[nodiscard]] virtual std::size_t unconfirmed_bytes() const = 0;
  // Ends the sending side once nothing is being written.
  virtual void shutdown() = 0;
  virtual void close() = 0;
  [[nodiscard]] virtual bool is_open() const = 0;
};

}  // namespace ackline::io::net

// A blocking TCP client socket with timeouts, for the command line and tests. Never on a loop.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/io/net/socket.h"

namespace ackline::io::net {

// Errors of all: kTimeout when `timeout_ms` passes, kUnavailable when the peer is not there or
// gone.
class BlockingSocket {
 public:
  [[nodiscard]] static Result<BlockingSocket> connect(const std::string& host, std::uint16_t port,
                                                      std::int64_t timeout_ms);
  // All of `bytes`.
  [[nodiscard]] Result<void> write_all(std::string_view bytes, std::int64_t timeout_ms);
  // At least one byte, or 0 at the end of the stream.
  [[nodiscard]] Result<std::size_t> read_some(std::span<char> into, std::int64_t timeout_ms);
  // The peer has closed, or sent something unasked: a kept connection is of no use any more.
  [[nodiscard]] bool stale() const;
  // Ends the sending side.
  void shutdown_send();
  void close() { socket_.close(); }

 private:
  explicit BlockingSocket(Socket socket) : socket_(std::move(socket)) {}
  Socket socket_;
};

}  // namespace ackline::io::net

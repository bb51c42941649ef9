// A TCP connection of the load client that does not block.
//
// What is written gathers in `out` and leaves with `flush`; what comes is shown to `take`, which
// knows the protocol. Owned by a target; used on the loop's thread. Whatever breaks is told to the
// loop (Loop::fail); afterwards the connection does nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ackline/cli/load/loop.h"

namespace ackline::cli::load {

class Connection {
 public:
  // Handles the whole messages at the front of `bytes`; returns how many bytes those were. The
  // rest is shown again, with more behind it.
  using Take = std::function<std::size_t(std::string_view bytes)>;
  // `address` is host:port. Blocks until it is connected, and joins `loop`, which outlives it.
  Connection(Loop& loop, const std::string& address, Take take);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  // Where requests are written.
  [[nodiscard]] std::string& out() { return out_; }
  // Writes what the socket takes. True: some is left, so the caller waits for room.
  bool flush();
  // Reads what has come.
  void receive();

 private:
  void got(std::string_view bytes);

  Loop& loop_;
  Take take_;
  int fd_ = -1;
  std::string out_;
  std::size_t sent_ = 0;
  std::string in_;  // the beginning of a message that is not there whole
};

}  // namespace ackline::cli::load

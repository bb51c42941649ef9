// A TCP listener that spreads its connections over event loops in turn.
//
// It accepts on the first loop and hands each socket to `on_accept` on the thread of the loop it
// will live on. Connections leave the last descriptors of the process to files, so that a flood of
// peers takes nothing from the log. One too many is accepted and closed at once, with a descriptor
// kept in reserve when there is no other, so that peers see a refusal, the old connections live,
// and nothing spins. The log tells when that begins and ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/io/net/event_loop.h"
#include "ackline/io/net/socket.h"

namespace ackline::io::net {

struct ListenOptions {
  std::string host = "127.0.0.1";  // a name or an address; IPv6 with or without brackets
  std::uint16_t port = 0;          // 0: a free one
  std::string port_key = "port";   // the configuration key that the remedy names
  int backlog = 4096;
  std::size_t max_connections = 65'536;
  // Of the process's descriptors so many are not for connections, a quarter of them at most; and
  // what part of these this listener leaves: one by which help comes goes on when others refuse.
  std::size_t spare_descriptors = 512;
  std::size_t spare_divisor = 1;
};

class Listener {
 public:
  using OnAccept = std::function<void(std::size_t loop_index, Socket socket)>;
  // Errors: kInUse (taken; names the address), kBadValue (no such host), kForbidden (not allowed),
  // kUnavailable (anything else the system says).
  [[nodiscard]] static Result<std::unique_ptr<Listener>> open(std::vector<EventLoop*> loops,
                                                              ListenOptions options,
                                                              OnAccept on_accept);
  // Stops accepting. Any thread but the loops'; before they are stopped or after they are joined.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Stops accepting; further connections are refused by the system. Any thread; returns at once.
  void close();
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string address() const;  // "127.0.0.1:10105"
  // Connections refused so far, because of max_connections or for want of descriptors.
  [[nodiscard]] std::uint64_t refused() const;

 private:
  struct Impl;
  explicit Listener(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with the accept handler that may still be queued
};

}  // namespace ackline::io::net

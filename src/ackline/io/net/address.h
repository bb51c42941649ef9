// Host names and socket addresses, as text and as the system has them. Resolving blocks: at start,
// or in a blocking client, never on a loop.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ackline/base/result.h"

namespace ackline::io::net {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] std::uint16_t port() const;
  // "127.0.0.1:80", "[::1]:80"
  [[nodiscard]] std::string text() const;
};

// All addresses of `host` (a name, IPv4, or IPv6 with or without brackets), for TCP, at least one.
// Errors: kBadValue.
[[nodiscard]] Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port);

// "host:port", IPv6 in brackets.
[[nodiscard]] std::string host_and_port(const std::string& host, std::uint16_t port);

}  // namespace ackline::io::net

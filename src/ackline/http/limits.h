// The bounds that every connection is held to (docs/configuration.md, `limits`).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ackline::http {

struct Limits {
  std::size_t headers_bytes = 32 * 1024;  // request line and fields together
  std::size_t header_fields = 256;
  std::size_t body_bytes = 16 * 1024 * 1024;
  std::int64_t header_read_ms = 10'000;  // from its first byte
  std::int64_t body_read_ms = 30'000;    // from the end of the header
  std::int64_t idle_ms = 60'000;         // nothing asked
  // A body that comes slower than this over a whole window, and answers that wait and are read
  // slower than this, end the connection.
  std::int64_t slow_window_ms = 10'000;
  std::size_t slow_bytes_per_second = 1024;
  std::int64_t linger_ms =
      1'000;                   // after a refusal: reads on so long that the peer sees the answer
  std::size_t pipelined = 64;  // unanswered requests, then reading stops
  std::size_t output_soft_bytes = 1024 * 1024;  // unwritten output, then reading stops
  // Unwritten output of a peer that does not read, then the connection is closed. One large answer
  // may pass it; adding more to a backlog above it may not.
  std::size_t output_hard_bytes = 64 * 1024 * 1024;
};

}  // namespace ackline::http

// Parses the responses that a client gets. Bytes in, head and body out; no I/O.
//
// The body is handed on as it comes. Used for one response, then made anew.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/http/message.h"

namespace ackline::http {

class ResponseParser {
 public:
  struct Options {
    bool no_body = false;  // the answer to HEAD
    std::size_t headers_bytes_max = 64 * 1024;
  };
  // `on_body` gets the pieces of the body during `feed`.
  ResponseParser(Options options, std::function<void(std::string_view)> on_body);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  // Returns how many of `bytes` it took: all of them until it is done. Interim answers (1xx) are
  // skipped. Errors: kBadRequest, what came is no HTTP response.
  [[nodiscard]] Result<std::size_t> feed(std::string_view bytes);
  // The connection ended. Errors: kBadRequest, in the middle of the response.
  [[nodiscard]] Result<void> feed_eof();

  [[nodiscard]] bool head_done() const;
  [[nodiscard]] bool done() const;
  // Any byte of the response has come.
  [[nodiscard]] bool begun() const;
  // Once head_done(): status and headers.
  [[nodiscard]] Response& head();
  // Once done(): whether the connection may be used again.
  [[nodiscard]] bool keep_alive() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackline::http

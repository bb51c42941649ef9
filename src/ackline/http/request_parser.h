// Parses one request after another from bytes that come in any pieces.
//
// How the bytes are cut never changes the outcome (a fuzz target holds it to that). Strict where
// leniency lets requests be smuggled: one Content-Length at most and none beside
// Transfer-Encoding, "chunked" as the only coding, CRLF line ends, no folded fields, one Host.
// Errors are values: after one, `failure()` says what to answer, and the parser is of no use.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "ackline/base/error.h"
#include "ackline/http/limits.h"
#include "ackline/http/message.h"

namespace ackline::http {

class RequestParser {
 public:
  enum class State : std::uint8_t {
    kIdle,    // no byte of a request yet
    kHeader,  // in the request line or the fields
    kBody,    // the header is complete
    kDone,    // take_request
    kFailed,  // failure
  };

  explicit RequestParser(const Limits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Returns how many of `bytes` it took: all of them unless the state is now kDone or kFailed. What
  // it cannot decide yet it keeps. Not to be called in those two states.
  std::size_t feed(std::string_view bytes);
  [[nodiscard]] State state() const;
  // In kBody: the client waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool expects_continue() const;
  // In kDone; the state is kIdle then.
  [[nodiscard]] Request take_request();
  // In kFailed.
  [[nodiscard]] const Error& failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackline::http

// What the parser's grammar lets through and this server does not: the rules against smuggled
// requests, and the limits. One object for one request, told as it comes; each call says what to
// answer if the request must be refused. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ackline/base/error.h"
#include "ackline/http/limits.h"
#include "ackline/http/message.h"

namespace ackline::http {

class RequestRules {
 public:
  enum class Field : std::uint8_t { kOther, kContentLength, kTransferEncoding, kHost, kExpect };
  // `limits` outlives it.
  explicit RequestRules(const Limits& limits) : limits_(limits) {}
  // Before the field is added to `request`.
  [[nodiscard]] std::optional<Error> field(Field field, std::string_view value,
                                           const Request& request);
  // `length` is Content-Length.
  [[nodiscard]] std::optional<Error> header_end(const Request& request,
                                                std::optional<std::uint64_t> length) const;
  // A chunk of `size` is to be added to the body.
  [[nodiscard]] std::optional<Error> chunk(std::uint64_t size, const Request& request) const;
  [[nodiscard]] bool expects_continue() const { return expects_continue_; }

 private:
  const Limits& limits_;
  unsigned lengths_ = 0;
  unsigned codings_ = 0;
  unsigned hosts_ = 0;
  bool expects_continue_ = false;
};

}  // namespace ackline::http

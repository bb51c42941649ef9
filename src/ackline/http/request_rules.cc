#include "ackline/http/request_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ackline/base/ascii.h"
#include "ackline/base/utf8.h"

namespace ackline::http {
namespace {

Error refusal(ErrorCode code, std::string detail, std::string remedy) {
  return {code, std::move(detail), std::move(remedy), {}};
}

bool is_decimal(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<Error> RequestRules::field(Field field, std::string_view value,
                                         const Request& request) {
  if (request.headers.size() >= limits_.header_fields) {
    return refusal(ErrorCode::kHeadersTooLarge,
                   fmt::format("the request has more than {} header fields", limits_.header_fields),
                   "Send fewer of them.");
  }
  if (field == Field::kContentLength && (++lengths_ > 1 || !is_decimal(value))) {
    return refusal(ErrorCode::kBadRequest, "Content-Length is doubled or is no number",
                   "Send it once, in decimal digits.");
  }
  if (field == Field::kTransferEncoding &&
      (++codings_ > 1 || !same_ignoring_case(value, "chunked") || request.http_1_0)) {
    return refusal(ErrorCode::kBadRequest,
                   "only Transfer-Encoding: chunked is taken, once, and with HTTP/1.1",
                   "Send a Content-Length, or chunks.");
  }
  if (field == Field::kHost && ++hosts_ > 1) {
    return refusal(ErrorCode::kBadRequest, "Host is doubled", "Send it once.");
  }
  if (field == Field::kExpect) {
    expects_continue_ = !request.http_1_0 && same_ignoring_case(value, "100-continue");
  }
  return std::nullopt;
}

std::optional<Error> RequestRules::header_end(const Request& request,
                                              std::optional<std::uint64_t> length) const {
  if (lengths_ > 0 && codings_ > 0) {
    return refusal(ErrorCode::kBadRequest,
                   "the request has both Content-Length and Transfer-Encoding", "Send only one.");
  }
  if (hosts_ == 0 && !request.http_1_0) {
    return refusal(ErrorCode::kBadRequest, "the request has no Host",
                   "HTTP/1.1 asks for a Host field; send one.");
  }
  if (!is_utf8(request.path)) {
    return refusal(ErrorCode::kBadUtf8, "the path is not UTF-8", "Escape UTF-8 bytes.");
  }
  for (const auto& [name, value] : request.query) {
    if (!is_utf8(name) || !is_utf8(value)) {
      return refusal(ErrorCode::kBadUtf8, "a query parameter is not UTF-8", "Escape UTF-8 bytes.");
    }
  }
  if (length && *length > limits_.body_bytes) {
    return refusal(
        ErrorCode::kTooLarge,
        fmt::format("the body is {} bytes; the limit is {}", *length, limits_.body_bytes),
        "Send it in smaller requests.");
  }
  return std::nullopt;
}

std::optional<Error> RequestRules::chunk(std::uint64_t size, const Request& request) const {
  if (size > limits_.body_bytes - request.body.size()) {
    return refusal(ErrorCode::kTooLarge,
                   fmt::format("the body is more than {} bytes, the limit", limits_.body_bytes),
                   "Send it in smaller requests.");
  }
  return std::nullopt;
}

}  // namespace ackline::http

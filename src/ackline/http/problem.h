// Errors as `application/problem+json` (RFC 9457), in the shape of docs/errors.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ackline/base/error.h"
#include "ackline/http/message.h"

namespace ackline::http {

struct ProblemOptions {
  std::int64_t retry_after_seconds = 1;  // sent with 429 and 503
  std::string allow = {};                // sent with 405, e.g. "GET, POST"
  // Further members as JSON text, e.g. `"conflicts":[…],"topic":"orders"`; they come last.
  std::string extra_members = {};
};

[[nodiscard]] Response problem_response(const Error& error, const ProblemOptions& options = {});
// The JSON object alone.
[[nodiscard]] std::string problem_json(const Error& error, std::string_view extra_members = {});

}  // namespace ackline::http

// Responses as HTTP/1.1 text: heads and chunks. Appends to a string; no state, no failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ackline/http/message.h"

namespace ackline::http {

enum class BodyFraming : std::uint8_t {
  kLength,   // content-length
  kChunked,  // transfer-encoding: chunked
  kUntilEnd  // neither: the end of the connection ends the body (HTTP/1.0)
};

struct ResponseTextOptions {
  BodyFraming framing = BodyFraming::kLength;
  bool head_only = false;  // the answer to HEAD: lengths as of GET, no body
  bool close = false;
  bool http_1_0 = false;  // the client's version; keeping alive must then be said
};

// The head, and with kLength the body. Control characters in header fields are left out, so that no
// value can end its line.
void append_response(std::string& out, const Response& response,
                     const ResponseTextOptions& options);
// One chunk; nothing for no bytes, which would end the body.
void append_chunk(std::string& out, std::string_view bytes);
void append_last_chunk(std::string& out);

}  // namespace ackline::http

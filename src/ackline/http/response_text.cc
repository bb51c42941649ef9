#include "ackline/http/response_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "ackline/base/ascii.h"

namespace ackline::http {
namespace {

void append_number(std::string& out, std::size_t value, int base = 10) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value, base);
  out.append(digits, end);
}

bool may_stand_in_a_field(char c) {
  return static_cast<unsigned char>(c) >= 0x20 || c == '\t';
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  if (is_printable_ascii(value)) {
    out.append(value);
  } else {
    std::ranges::copy_if(value, std::back_inserter(out), may_stand_in_a_field);
  }
  out.append("\r\n");
}

bool has_no_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

}  // namespace

void append_response(std::string& out, const Response& response,
                     const ResponseTextOptions& options) {
  const bool length = options.framing == BodyFraming::kLength;
  out.reserve(out.size() + 192 + response.headers.size() * 64 +
              (length && !options.head_only ? response.body.size() : 0));
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::size_t>(response.status));
  out.push_back(' ');
  out.append(reason_phrase(response.status)).append("\r\n");
  for (std::size_t i = 0; i < response.headers.size(); ++i) {
    append_field(out, response.headers.name(i), response.headers.value(i));
  }
  if (options.close) {
    out.append("connection: close\r\n");
  } else if (options.http_1_0) {
    out.append("connection: keep-alive\r\n");
  }
  if (has_no_body(response.status)) {
    out.append("\r\n");
    return;
  }
  if (options.framing == BodyFraming::kChunked) {
    out.append("transfer-encoding: chunked\r\n");
  } else if (length) {
    out.append("content-length: ");
    append_number(out, response.body.size());
    out.append("\r\n");
  }
  out.append("\r\n");
  if (length && !options.head_only) {
    out.append(response.body);
  }
}

void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  append_number(out, bytes.size(), 16);
  out.append("\r\n").append(bytes).append("\r\n");
}

void append_last_chunk(std::string& out) {
  out.append("0\r\n\r\n");
}

}  // namespace ackline::http

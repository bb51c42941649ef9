// CloudEvents in HTTP binary mode: `ce-*` headers, Content-Type and a body.
//
// On this wire every attribute is a string: `ce-count: 5` is the string "5", and types of
// extensions do not come back. Values are percent-encoded as the HTTP binding says.
// Pure functions, any thread. Reading fails like the JSON codec; a `%` without two hex digits is
// `bad_attribute`, a repeated header `duplicate_key`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/event/cloud_event.h"
#include "ackline/event/json_codec.h"

namespace ackline::event {

struct HeaderField {
  std::string_view name;  // any case
  std::string_view value;
};

// Headers that are not `ce-…` or Content-Type are ignored. A body of a JSON media type must be
// JSON (`bad_json`); of a text one in UTF-8 it is text; else it is binary. An empty body is no
// data.
[[nodiscard]] Result<CloudEvent> parse_http_binary(std::span<const HeaderField> headers,
                                                   std::string_view body,
                                                   const ParseLimits& limits = {});

struct HttpMessage {
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
};

// Internal attributes are left out.
[[nodiscard]] HttpMessage to_http_binary(const CloudEvent& event);

}  // namespace ackline::event

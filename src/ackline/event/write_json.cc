// Events to JSON text, from a value and from a frame. One line each: what is in quotes is escaped,
// and line ends between the tokens of JSON data are dropped.
#include <algorithm>
#include <iterator>

#include "ackline/base/base64.h"
#include "ackline/base/json_text.h"
#include "ackline/event/frame.h"
#include "ackline/event/json_codec.h"

namespace ackline::event {
namespace {

// Out of a frame that was only opened, an integer may be anything: then it goes out as a string,
// and the text stays JSON.
bool is_bare(AttributeView attribute) {
  const std::string_view value = attribute.value;
  if (attribute.type == AttributeType::kBoolean) {
    return value == "true" || value == "false";
  }
  if (attribute.type != AttributeType::kInteger) {
    return false;
  }
  const std::string_view digits = value.starts_with('-') ? value.substr(1) : value;
  return !digits.empty() && digits.size() <= 10 && (digits.size() == 1 || digits[0] != '0') &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

void append_attribute(std::string& out, AttributeView attribute) {
  out.append(",\"");
  out.append(attribute.name);
  out.append("\":");
  if (is_bare(attribute)) {
    out.append(attribute.value);
  } else if (attribute.type == AttributeType::kBinary) {
    out.push_back('"');
    append_base64(out, attribute.value);
    out.push_back('"');
  } else {
    append_json_string(out, attribute.value);
  }
}

// JSON data as it came, but without the space around it and the line ends in it: these can only
// stand between tokens, in a string they would be escapes.
void append_json_data(std::string& out, std::string_view json) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = json.find_first_not_of(kSpace);
  if (first == std::string_view::npos) {
    out.append("null");
    return;
  }
  json = json.substr(first, json.find_last_not_of(kSpace) - first + 1);
  // Almost always there is none, and two searches for one byte are much faster than one for both.
  if (json.find('\n') == std::string_view::npos && json.find('\r') == std::string_view::npos) {
    out.append(json);
    return;
  }
  std::ranges::copy_if(json, std::back_inserter(out),
                       [](char c) { return c != '\n' && c != '\r'; });
}

void append_data(std::string& out, DataKind kind, std::string_view data) {
  switch (kind) {
    case DataKind::kNone:
      return;
    case DataKind::kJson:
      out.append(",\"data\":");
      append_json_data(out, data);
      return;
    case DataKind::kText:
      out.append(",\"data\":");
      append_json_string(out, data);
      return;
    case DataKind::kBinary:
      out.append(",\"data_base64\":\"");
      append_base64(out, data);
      out.push_back('"');
      return;
  }
}

constexpr std::string_view kOpening = "{\"specversion\":\"1.0\"";

}  // namespace

void append_json(const CloudEvent& event, std::string& out) {
  out.append(kOpening);
  for (const Attribute& attribute : event.attributes()) {
    if (!is_internal_attribute(attribute.name)) {
      append_attribute(out, attribute.view());
    }
  }
  append_data(out, event.data_kind(), event.data());
  out.push_back('}');
}

void append_json(const FrameView& frame, std::string& out, const JsonOptions& options) {
  out.append(kOpening);
  for (const AttributeView key : frame) {
    if (is_internal_attribute(key.name) || (options.drop_dlq && is_dlq_attribute(key.name)) ||
        (options.skip != nullptr && options.skip(key.name))) {
      continue;
    }
    append_attribute(out, key);
  }
  append_data(out, frame.data_kind(), frame.data());
  out.push_back('}');
}

}  // namespace ackline::event

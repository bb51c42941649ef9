#include "ackline/api/json_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "ackline/base/json_text.h"
#include "ackline/base/time_text.h"

namespace ackline::api {

void JsonWriter::separate() {
  if (comma_) {
    out_.push_back(',');
  }
  comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_.push_back('{');
  comma_ = false;
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  out_.push_back('}');
  comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  separate();
  out_.push_back('[');
  comma_ = false;
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  out_.push_back(']');
  comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  out_.append("\"").append(name).append("\":");
  comma_ = false;
  return *this;
}
JsonWriter& JsonWriter::key(std::uint32_t number) {
  return key(std::string_view(fmt::format_int(number).c_str()));
}
JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}
JsonWriter& JsonWriter::value(bool flag) {
  return raw(flag ? "true" : "false");
}
JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) {
    return raw("null");
  }
  return raw(fmt::format("{}", std::round(number * 1000.0) / 1000.0));
}
JsonWriter& JsonWriter::value(WallMs time) {
  separate();
  out_.push_back('"');
  append_rfc3339(out_, time);
  out_.push_back('"');
  return *this;
}
JsonWriter& JsonWriter::value(std::nullptr_t) {
  return raw("null");
}
JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_.append(json);
  return *this;
}
JsonWriter& JsonWriter::field_or_null(std::string_view name, std::string_view text) {
  key(name);
  return text.empty() ? value(nullptr) : value(text);
}
JsonWriter& JsonWriter::raw_or_null(std::string_view name, std::string_view json) {
  key(name);
  return raw(json.empty() ? std::string_view("null") : json);
}
std::string& JsonWriter::buffer_for_value() {
  separate();
  return out_;
}
JsonWriter& JsonWriter::integer(std::int64_t number) {
  const fmt::format_int text(number);
  return raw({text.data(), text.size()});
}
JsonWriter& JsonWriter::natural(std::uint64_t number) {
  const fmt::format_int text(number);
  return raw({text.data(), text.size()});
}

}  // namespace ackline::api

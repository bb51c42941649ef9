#include "ackline/cli/json.h"

#include <boost/json.hpp>

#include "ackline/base/json_text.h"
#include "ackline/event/json_scan.h"

namespace ackline::cli {
namespace {

namespace json = boost::json;

// Data may be as deep as the server takes it; events stand in the objects and lists of answers.
constexpr std::size_t kDepthMax = event::kMaxJsonDepth + 32;

const json::value* as_value(const void* value) {
  return static_cast<const json::value*>(value);
}

}  // namespace

Result<Json> Json::parse(std::string_view text) {
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = kDepthMax;
  auto document = std::make_shared<json::value>(
      json::parse(json::string_view(text.data(), text.size()), error, {}, options));
  if (error) {
    return fail(ErrorCode::kBadJson, "this is not JSON: " + error.message());
  }
  Json out;
  out.value_ = document.get();
  out.document_ = std::move(document);
  return out;
}

Json Json::operator[](std::string_view member) const {
  Json out;
  if (!is_object()) return out;
  const auto* found =
      as_value(value_)->get_object().if_contains(json::string_view(member.data(), member.size()));
  if (found == nullptr) return out;
  out.document_ = document_;
  out.value_ = found;
  return out;
}

bool Json::is_null() const {
  return value_ == nullptr || as_value(value_)->is_null();
}
bool Json::is_object() const {
  return value_ != nullptr && as_value(value_)->is_object();
}
bool Json::is_array() const {
  return value_ != nullptr && as_value(value_)->is_array();
}

std::string Json::text(std::string_view if_null) const {
  if (is_null()) return std::string(if_null);
  if (const auto* string = as_value(value_)->if_string()) return {string->data(), string->size()};
  return dump();
}

std::int64_t Json::integer(std::int64_t if_not) const {
  if (value_ == nullptr) return if_not;
  if (const auto* number = as_value(value_)->if_int64()) return *number;
  return if_not;
}

bool Json::boolean() const {
  const auto* truth = value_ == nullptr ? nullptr : as_value(value_)->if_bool();
  return truth != nullptr && *truth;
}

std::size_t Json::size() const {
  if (is_array()) return as_value(value_)->get_array().size();
  return is_object() ? as_value(value_)->get_object().size() : 0;
}

std::vector<Json> Json::items() const {
  std::vector<Json> out;
  if (!is_array()) return out;
  for (const json::value& item : as_value(value_)->get_array()) {
    Json one;
    one.document_ = document_;
    one.value_ = &item;
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<std::pair<std::string, Json>> Json::members() const {
  std::vector<std::pair<std::string, Json>> out;
  if (!is_object()) return out;
  for (const auto& member : as_value(value_)->get_object()) {
    Json one;
    one.document_ = document_;
    one.value_ = &member.value();
    out.emplace_back(std::string(member.key()), std::move(one));
  }
  return out;
}

std::string Json::dump() const {
  if (value_ == nullptr) return "null";
  // Doubles as people write them: Boost would print 12.4 as 1.24E1.
  if (const auto* number = as_value(value_)->if_double()) {
    std::string text = std::to_string(*number);
    text.resize(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text += '0';
    return text;
  }
  return json::serialize(*as_value(value_));
}

JsonObject& JsonObject::name(std::string_view name) {
  if (body_.size() > 1) body_ += ',';
  append_json_string(body_, name);
  body_ += ':';
  return *this;
}

JsonObject& JsonObject::text(std::string_view its_name, std::string_view value) {
  name(its_name);
  append_json_string(body_, value);
  return *this;
}

JsonObject& JsonObject::integer(std::string_view its_name, std::int64_t value) {
  name(its_name);
  body_ += std::to_string(value);
  return *this;
}

JsonObject& JsonObject::boolean(std::string_view its_name, bool value) {
  name(its_name);
  body_ += value ? "true" : "false";
  return *this;
}

JsonObject& JsonObject::texts(std::string_view its_name, const std::vector<std::string>& values) {
  name(its_name);
  body_ += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) body_ += ',';
    append_json_string(body_, values[i]);
  }
  body_ += ']';
  return *this;
}

JsonObject& JsonObject::raw(std::string_view its_name, std::string_view value) {
  name(its_name);
  body_ += value;
  return *this;
}

}  // namespace ackline::cli

#include "ackline/cli/json.h"

#include <charconv>

#include "ackline/base/json_text.h"
#include "ackline/event/json_scan.h"

namespace ackline::cli {
namespace {

using event::JsonKind;

// Data may be as deep as the server takes it; events stand in the objects and lists of answers.
constexpr std::size_t kDepthMax = event::kMaxJsonDepth + 32;

}  // namespace

Result<Json> Json::parse(std::string_view text) {
  if (auto fine = event::check_utf8(text); !fine) {
    return fail(ErrorCode::kBadJson, "this is not JSON: " + fine.error().detail);
  }
  auto document = std::make_shared<const std::string>(text);
  const auto value = event::json_document(*document, kDepthMax);
  if (!value) return fail(ErrorCode::kBadJson, "this is not JSON: " + value.error().detail);
  return Json(std::move(document), *value);
}

Json Json::operator[](std::string_view member) const {
  Json out;
  if (!is_object()) return out;
  event::JsonMember one;
  for (event::JsonWalker walker(value_); walker.next(one);) {
    // Of equal names the last counts.
    if (event::json_string(one.name) == member) out = Json(document_, one.value);
  }
  return out;
}

bool Json::is_null() const {
  return event::json_kind(value_) == JsonKind::kNull;
}
bool Json::is_object() const {
  return event::json_kind(value_) == JsonKind::kObject;
}
bool Json::is_array() const {
  return event::json_kind(value_) == JsonKind::kArray;
}

std::string Json::text(std::string_view if_null) const {
  if (is_null()) return std::string(if_null);
  if (event::json_kind(value_) == JsonKind::kString) {
    if (auto string = event::json_string(value_)) return std::move(*string);
  }
  return dump();
}

std::int64_t Json::integer(std::int64_t if_not) const {
  std::int64_t number = 0;
  const char* end = value_.data() + value_.size();
  const auto [stop, failed] = std::from_chars(value_.data(), end, number);
  return failed == std::errc() && stop == end ? number : if_not;
}

bool Json::boolean() const {
  return event::json_kind(value_) == JsonKind::kTrue;
}

std::size_t Json::size() const {
  return is_array() ? items().size() : members().size();
}

std::vector<Json> Json::items() const {
  std::vector<Json> out;
  if (!is_array()) return out;
  std::string_view item;
  for (event::JsonWalker walker(value_); walker.next(item);) out.push_back(Json(document_, item));
  return out;
}

std::vector<std::pair<std::string, Json>> Json::members() const {
  std::vector<std::pair<std::string, Json>> out;
  if (!is_object()) return out;
  event::JsonMember member;
  for (event::JsonWalker walker(value_); walker.next(member);) {
    out.emplace_back(event::json_string(member.name).value_or(std::string(member.name)),
                     Json(document_, member.value));
  }
  return out;
}

// Space between tokens goes, so that it is one line; every token stays as it was written.
std::string Json::dump() const {
  if (value_.empty()) return "null";
  std::string out;
  out.reserve(value_.size());
  bool in_string = false;
  bool escaped = false;
  for (const char c : value_) {
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!space || in_string) out += c;
    if (c == '"' && !escaped) in_string = !in_string;
    escaped = in_string && c == '\\' && !escaped;
  }
  return out;
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

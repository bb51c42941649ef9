#include "tests/support/api/json_schema.h"

#include <algorithm>
#include <array>

namespace ackline::api::testing {
namespace json = boost::json;
namespace {

bool is_type(std::string_view type, const json::value& value) {
  if (type == "integer") return value.is_int64() || value.is_uint64();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  return type == "null" && value.is_null();
}

bool has_type(const json::value& types, const json::value& value) {
  if (types.is_string()) return is_type(std::string_view(types.as_string()), value);
  return std::ranges::any_of(types.as_array(), [&](const json::value& type) {
    return is_type(std::string_view(type.as_string()), value);
  });
}

constexpr std::array<std::string_view, 18> kKeywords = {
    "$ref",    "type",     "properties", "required",  "additionalProperties",
    "items",   "enum",     "const",      "oneOf",     "minimum",
    "maximum", "minItems", "maxItems",   "maxLength", "pattern",
    "format",  "default",  "description"};

}  // namespace

std::string SchemaChecker::check(const json::value& schema, const json::value& value,
                                 const std::string& at) const {
  const json::object& rules = schema.as_object();
  if (const json::value* ref = rules.if_contains("$ref")) {
    const std::string pointer(std::string_view(ref->as_string()).substr(1));
    return check(document_.at_pointer(pointer), value, at);
  }
  if (const json::value* one_of = rules.if_contains("oneOf")) {
    int fitting = 0;
    std::string why;
    for (const json::value& one : one_of->as_array()) {
      const std::string problem = check(one, value, at);
      fitting += problem.empty() ? 1 : 0;
      why += problem + "; ";
    }
    if (fitting != 1) return at + ": fits " + std::to_string(fitting) + " of oneOf: " + why;
  }
  if (const json::value* types = rules.if_contains("type"); types && !has_type(*types, value)) {
    return at + ": is " + json::serialize(value) + ", not " + json::serialize(*types);
  }
  if (const json::value* constant = rules.if_contains("const"); constant && value != *constant) {
    return at + ": is not " + json::serialize(*constant);
  }
  if (const json::value* words = rules.if_contains("enum");
      words && std::ranges::find(words->as_array(), value) == words->as_array().end()) {
    return at + ": " + json::serialize(value) + " is none of " + json::serialize(*words);
  }
  if (value.is_number()) {
    const double number = value.to_number<double>();
    const json::value* low = rules.if_contains("minimum");
    const json::value* high = rules.if_contains("maximum");
    if ((low && number < low->to_number<double>()) ||
        (high && number > high->to_number<double>())) {
      return at + ": " + json::serialize(value) + " is out of range";
    }
  }
  if (value.is_array() && rules.if_contains("items")) {
    std::size_t i = 0;
    for (const json::value& element : value.as_array()) {
      const std::string problem =
          check(rules.at("items"), element, at + "[" + std::to_string(i++) + "]");
      if (!problem.empty()) return problem;
    }
  }
  return value.is_object() ? check_object(rules, value.as_object(), at) : std::string();
}

std::string SchemaChecker::check_object(const json::object& schema, const json::object& value,
                                        const std::string& at) const {
  if (const json::value* required = schema.if_contains("required")) {
    for (const json::value& name : required->as_array()) {
      if (!value.contains(name.as_string())) {
        return at + ": has no " + std::string(name.as_string());
      }
    }
  }
  const json::value* properties = schema.if_contains("properties");
  const json::value* others = schema.if_contains("additionalProperties");
  for (const auto& member : value) {
    const std::string place = at + "." + std::string(member.key());
    const json::value* rule =
        properties ? properties->as_object().if_contains(member.key()) : nullptr;
    if (!rule && others) {
      if (others->is_bool()) {
        if (!others->as_bool()) return place + ": is not in the schema";
        continue;
      }
      rule = others;
    }
    if (rule) {
      const std::string problem = check(*rule, member.value(), place);
      if (!problem.empty()) return problem;
    }
  }
  return {};
}

void SchemaChecker::unknown_keywords(const json::value& schema,
                                     std::vector<std::string>& out) const {
  for (const auto& member : schema.as_object()) {
    const std::string_view key = member.key();
    if (std::ranges::find(kKeywords, key) == kKeywords.end()) {
      out.emplace_back(key);
    } else if (key == "properties") {
      for (const auto& property : member.value().as_object()) {
        unknown_keywords(property.value(), out);
      }
    } else if (key == "oneOf") {
      for (const json::value& one : member.value().as_array()) {
        unknown_keywords(one, out);
      }
    } else if (member.value().is_object()) {
      unknown_keywords(member.value(), out);
    }
  }
}

}  // namespace ackline::api::testing

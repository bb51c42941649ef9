#include "ackline/base/config_keys.h"

#include <fmt/format.h>

#include "ackline/base/ascii.h"
#include "ackline/base/config_value.h"

namespace ackline {
namespace {

using enum ConfigType;

// The unit people would write a bound in.
std::string bound(const ConfigKey& key, std::int64_t number) {
  if (key.type == kDuration) return format_duration_ms(number);
  if (key.type == kSize) return format_size_bytes(number);
  return std::to_string(number);
}

std::string number_range(const ConfigKey& key) {
  const std::string_view noun = key.type == kDuration ? "durations" : "sizes";
  std::string out = key.type == kInt ? std::string() : fmt::format("{} ", noun);
  out += key.max == INT64_MAX ? fmt::format("from {}", bound(key, key.min))
                              : fmt::format("{} to {}", bound(key, key.min), bound(key, key.max));
  if (key.optional) out += " or none";
  return out;
}

}  // namespace

const ConfigKey* find_config_key(std::string_view name) {
  for (const ConfigKey& key : config_keys()) {
    if (key.name == name || (!key.alias.empty() && key.alias == name)) return &key;
  }
  return nullptr;
}

std::string folded_config_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '_' && c != '.') out += ascii_lower(c);
  }
  return out;
}

std::string_view config_type_name(ConfigType type) {
  switch (type) {
    case kString:
      return "string";
    case kBool:
      return "bool";
    case kInt:
      return "int";
    case kDuration:
      return "duration";
    case kSize:
      return "size";
    case kEnum:
      return "enum";
    case kList:
      return "list";
  }
  return "string";
}

std::string config_allowed(const ConfigKey& key) {
  switch (key.type) {
    case kString:
      return "any text";
    case kList:
      return "words with commas between";
    case kBool:
      return "true or false";
    case kEnum: {
      std::string out;
      for (const std::string_view value : key.allowed) {
        out += (out.empty() ? "" : ", ") + std::string(value);
      }
      return out;
    }
    case kInt:
    case kDuration:
    case kSize:
      return number_range(key);
  }
  return {};
}

}  // namespace ackline

// Values of configuration keys: from text to a typed value, and the units people write.
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/config_keys.h"
#include "ackline/base/result.h"

namespace ackline {

// The parsed value; which member counts follows from the key's type.
struct ConfigValue {
  std::int64_t number = 0;  // int, duration in ms, size in bytes
  bool boolean = false;
  bool none = false;               // an optional number given as `none`
  std::string text;                // string, enum
  std::vector<std::string> items;  // list
};

// Errors: kBadValue with the key, the value and what is allowed. A secret's value is not repeated.
[[nodiscard]] Result<ConfigValue> parse_config_value(const ConfigKey& key, std::string_view text);

// "10ms", "30s", "5m", "24h", "30d", "0"; in milliseconds. Errors: kBadValue.
[[nodiscard]] Result<std::int64_t> parse_duration_ms(std::string_view text);
// "512", "512B", "64KiB", "4MiB", "2GiB", "1TiB"; in bytes. Errors: kBadValue.
[[nodiscard]] Result<std::int64_t> parse_size_bytes(std::string_view text);
// The shortest exact way to write it, e.g. 90000 → "90s", 1536 → "1536B".
[[nodiscard]] std::string format_duration_ms(std::int64_t duration_ms);
[[nodiscard]] std::string format_size_bytes(std::int64_t size_bytes);

}  // namespace ackline

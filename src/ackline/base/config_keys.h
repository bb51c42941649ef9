// The declarations of every configuration key: one line each, and everything else follows from it.
//
// Loading, `config check`, `/admin/config`, the commented `conf/ackline.yaml` and the table in
// `docs/configuration.md` are made from this list; a test holds the two files to it. Keys of parts
// that are not in this build are declared too: whoever sets one is told.
//
// Constant data, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ackline {

enum class ConfigType : std::uint8_t { kString, kBool, kInt, kDuration, kSize, kEnum, kList };

// What loading does about a key, or a value, of a part that is not in this build.
enum class WhenAbsent : std::uint8_t {
  kSayAndGoOn,  // harmless: name it and start
  kRefuse,      // going on would not do what was asked (a gate, another log): an error
};

struct ConfigKey {
  std::string_view name;           // dotted, e.g. "delivery.ackTimeout"
  ConfigType type;                 //
  std::string_view default_value;  // as one would write it in a file
  std::string_view help;           // one line
  std::int64_t min = 0;            // of a number, duration (ms) or size (bytes)
  std::int64_t max = INT64_MAX;
  std::span<const std::string_view> allowed = {};  // of an enum
  std::span<const std::string_view> absent = {};   // of those, the ones this build lacks
  std::string_view alias = {};                     // another name for the same key
  std::string_view part = {};                      // the absent part it belongs to; empty: is built
  WhenAbsent when_absent = WhenAbsent::kSayAndGoOn;
  bool secret = false;    // never shown
  bool optional = false;  // a number that may also be `none`
};

// All keys, in the order of the documentation.
[[nodiscard]] std::span<const ConfigKey> config_keys();
// By name or alias; null when there is none.
[[nodiscard]] const ConfigKey* find_config_key(std::string_view name);
// "DELIVERY_ACK_TIMEOUT" and "delivery.ackTimeout" → "deliveryacktimeout".
[[nodiscard]] std::string folded_config_name(std::string_view name);
// "int", "duration", …
[[nodiscard]] std::string_view config_type_name(ConfigType type);
// What `key` takes, for a person: "1 to 1000", "true or false", "local, sqlite, …".
[[nodiscard]] std::string config_allowed(const ConfigKey& key);

}  // namespace ackline

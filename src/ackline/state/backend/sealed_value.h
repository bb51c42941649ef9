// Values of the key-value stores: a version, the fields, and a checksum over key and value.
//
// A flipped bit, or a value under another key, is kCorrupt; a version that this build does not know
// is refused by name. Pure.
#pragma once

#include <string>
#include <string_view>

#include "ackline/base/result.h"

namespace ackline::state {

// `fields` sealed under `key`.
[[nodiscard]] std::string seal(std::uint8_t version, std::string_view key, std::string_view fields);
// The fields again. `what` names the store in errors, e.g. "offset". The view points into `bytes`.
[[nodiscard]] Result<std::string_view> unseal(std::string_view what, std::uint8_t version,
                                              std::string_view key, std::string_view bytes);
// The error for fields that do not add up.
[[nodiscard]] Error corrupt_value(std::string_view what, std::string_view key);

// Names are parts of keys: kBadName when `name` is empty or holds '#', '/' or '@'.
[[nodiscard]] Result<void> check_key_part(std::string_view what, std::string_view name);

}  // namespace ackline::state

#include "ackline/base/config_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "ackline/base/ascii.h"

namespace ackline {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array<Unit, 5> kDurationUnits{
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
constexpr std::array<Unit, 5> kSizeUnits{{{"B", 1},
                                          {"KiB", std::int64_t{1} << 10},
                                          {"MiB", std::int64_t{1} << 20},
                                          {"GiB", std::int64_t{1} << 30},
                                          {"TiB", std::int64_t{1} << 40}}};

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// `bare`: the factor of a number without unit; 0 when only "0" may do without.
std::optional<std::int64_t> number_with_unit(std::string_view text, std::span<const Unit> units,
                                             std::int64_t bare) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = whole_number(text.substr(0, digits));
  if (!number) return std::nullopt;
  const std::string_view unit = text.substr(digits);
  std::int64_t factor = bare;
  if (unit.empty()) {
    if (*number == 0) return 0;
    if (bare == 0) return std::nullopt;
  } else {
    const auto found = std::ranges::find(units, unit, &Unit::name);
    if (found == units.end()) return std::nullopt;
    factor = found->factor;
  }
  std::int64_t product = 0;
  if (__builtin_mul_overflow(*number, factor, &product)) return std::nullopt;
  return product;
}

std::string format_with_unit(std::int64_t number, std::span<const Unit> units) {
  for (std::size_t i = units.size(); i-- > 0;) {
    if (number % units[i].factor == 0) {
      return fmt::format("{}{}", number / units[i].factor, units[i].name);
    }
  }
  return std::to_string(number);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = trim_space(text.substr(0, comma));
    if (!item.empty()) items.emplace_back(item);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

std::unexpected<Error> bad_value(const ConfigKey& key, std::string_view text) {
  const std::string shown = key.secret ? std::string("a secret") : fmt::format("'{}'", text);
  const std::string remedy =
      key.default_value.empty()
          ? "Leave it out."
          : fmt::format("Leave it out for the default of {}.", key.default_value);
  return fail(ErrorCode::kBadValue,
              fmt::format("{} is {}; allowed are {}", key.name, shown, config_allowed(key)), remedy,
              std::string(key.name));
}

std::optional<std::int64_t> parse_number(const ConfigKey& key, std::string_view text) {
  std::optional<std::int64_t> number;
  if (key.type == ConfigType::kInt) number = whole_number(text);
  if (key.type == ConfigType::kDuration) number = number_with_unit(text, kDurationUnits, 0);
  if (key.type == ConfigType::kSize) number = number_with_unit(text, kSizeUnits, 1);
  if (number && (*number < key.min || *number > key.max)) return std::nullopt;
  return number;
}

}  // namespace

Result<ConfigValue> parse_config_value(const ConfigKey& key, std::string_view raw) {
  const std::string_view text = trim_space(raw);
  ConfigValue value;
  switch (key.type) {
    case ConfigType::kString:
      value.text = text;
      return value;
    case ConfigType::kList:
      value.items = split_list(text);
      return value;
    case ConfigType::kBool:
      if (text != "true" && text != "false") return bad_value(key, text);
      value.boolean = text == "true";
      return value;
    case ConfigType::kEnum:
      // A choice that is left blank, as templates and environments do, is the default.
      if (text.empty()) {
        value.text = key.default_value;
        return value;
      }
      if (std::ranges::find(key.allowed, text) == key.allowed.end()) return bad_value(key, text);
      value.text = text;
      return value;
    case ConfigType::kInt:
    case ConfigType::kDuration:
    case ConfigType::kSize:
      break;
  }
  if (key.optional && text == "none") {
    value.none = true;
    return value;
  }
  const auto number = parse_number(key, text);
  if (!number) return bad_value(key, text);
  value.number = *number;
  return value;
}

Result<std::int64_t> parse_duration_ms(std::string_view text) {
  const auto number = number_with_unit(text, kDurationUnits, 0);
  if (number) return *number;
  return fail(ErrorCode::kBadValue, fmt::format("'{}' is no duration", text),
              "Write a whole number with ms, s, m, h or d, such as 30s.");
}

Result<std::int64_t> parse_size_bytes(std::string_view text) {
  const auto number = number_with_unit(text, kSizeUnits, 1);
  if (number) return *number;
  return fail(ErrorCode::kBadValue, fmt::format("'{}' is no size", text),
              "Write a whole number with B, KiB, MiB, GiB or TiB, such as 4MiB.");
}

std::string format_duration_ms(std::int64_t duration_ms) {
  return duration_ms == 0 ? "0" : format_with_unit(duration_ms, kDurationUnits);
}

std::string format_size_bytes(std::int64_t size_bytes) {
  return size_bytes == 0 ? "0" : format_with_unit(size_bytes, kSizeUnits);
}

}  // namespace ackline

#include "ackline/base/config.h"

#include <fmt/format.h>

#include "ackline/base/check.h"

namespace ackline {
namespace {

bool holds_number(const ConfigKey& key) {
  return key.type == ConfigType::kInt || key.type == ConfigType::kDuration ||
         key.type == ConfigType::kSize;
}

std::int64_t required_number(const Config::Entry& entry, ConfigType type) {
  ACKLINE_CHECK(entry.key->type == type);
  ACKLINE_CHECK(!entry.key->optional);
  return entry.value.number;
}

}  // namespace

std::string_view Config::Entry::shown() const {
  return key->secret && !text.empty() ? std::string_view("***") : std::string_view(text);
}

Config::Config() {
  entries_.reserve(config_keys().size());
  for (const ConfigKey& key : config_keys()) {
    auto value = parse_config_value(key, key.default_value);
    ACKLINE_CHECK(value.has_value());
    entries_.push_back(Entry{&key, std::string(key.default_value), "default", std::move(*value)});
  }
}

Result<Config> Config::load(const ConfigSources& sources) {
  ConfigReport report = load_config(sources);
  if (report.problems.empty()) return std::move(report.config);
  Error first = std::move(report.problems.front());
  if (report.problems.size() > 1) {
    first.detail += fmt::format(" (and {} more; `ackline config check` lists them)",
                                report.problems.size() - 1);
  }
  return std::unexpected(std::move(first));
}

const Config::Entry& Config::entry(std::string_view name) const {
  const ConfigKey* key = find_config_key(name);
  ACKLINE_CHECK(key != nullptr);
  return entries_[static_cast<std::size_t>(key - config_keys().data())];
}

const std::string& Config::string(std::string_view name) const {
  const Entry& found = entry(name);
  ACKLINE_CHECK(found.key->type == ConfigType::kString || found.key->type == ConfigType::kEnum);
  return found.value.text;
}

bool Config::boolean(std::string_view name) const {
  const Entry& found = entry(name);
  ACKLINE_CHECK(found.key->type == ConfigType::kBool);
  return found.value.boolean;
}

std::int64_t Config::integer(std::string_view name) const {
  return required_number(entry(name), ConfigType::kInt);
}

std::int64_t Config::duration_ms(std::string_view name) const {
  return required_number(entry(name), ConfigType::kDuration);
}

std::int64_t Config::size_bytes(std::string_view name) const {
  return required_number(entry(name), ConfigType::kSize);
}

std::optional<std::int64_t> Config::number_or_none(std::string_view name) const {
  const Entry& found = entry(name);
  ACKLINE_CHECK(found.key->optional && holds_number(*found.key));
  if (found.value.none) return std::nullopt;
  return found.value.number;
}

const std::vector<std::string>& Config::list(std::string_view name) const {
  const Entry& found = entry(name);
  ACKLINE_CHECK(found.key->type == ConfigType::kList);
  return found.value.items;
}

bool Config::is_set(std::string_view name) const {
  return entry(name).origin != "default";
}

}  // namespace ackline

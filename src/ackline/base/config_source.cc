#include "ackline/base/config_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ackline/base/config_keys.h"

namespace ackline::config_source {
namespace {

constexpr std::string_view kPeerPrefix = "eventmesh.";

std::string_view without_peer_prefix(std::string_view name) {
  return name.starts_with(kPeerPrefix) ? name.substr(kPeerPrefix.size()) : name;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// "DELIVERY_ACK_TIMEOUT" and "delivery.ackTimeout" → "deliveryacktimeout".
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '_' && c != '.') out += lower(c);
  }
  return out;
}

std::string_view key_of_variable(std::string_view variable) {
  const std::string wanted = folded(variable);
  for (const ConfigKey& key : config_keys()) {
    if (folded(key.name) == wanted) return key.name;
    if (!key.alias.empty() && folded(key.alias) == wanted) return key.name;
  }
  return variable;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Settings read_environment(std::span<const std::string> environment) {
  Settings settings;
  for (const std::string_view prefix : {"EVENTMESH_", "ACKLINE_"}) {
    for (const std::string_view entry : environment) {
      const std::size_t equals = entry.find('=');
      if (equals == std::string_view::npos || !entry.starts_with(prefix)) continue;
      const std::string_view name = entry.substr(0, equals);
      settings.items.push_back(
          Setting{.name = std::string(key_of_variable(name.substr(prefix.size()))),
                  .text = std::string(entry.substr(equals + 1)),
                  .origin = fmt::format("env {}", name),
                  .strict = prefix == "ACKLINE_"});
    }
  }
  return settings;
}

Settings read_definitions(std::span<const std::string> definitions) {
  Settings settings;
  for (const std::string_view definition : definitions) {
    const std::size_t equals = definition.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      settings.problems.push_back(Error{ErrorCode::kBadValue,
                                        fmt::format("-D {} has no `=`", definition),
                                        "Write -D key=value.", std::string(definition)});
      continue;
    }
    const std::string_view name = without_peer_prefix(trimmed(definition.substr(0, equals)));
    settings.items.push_back(Setting{.name = std::string(name),
                                     .text = std::string(definition.substr(equals + 1)),
                                     .origin = "flag"});
  }
  return settings;
}

Settings read_properties(std::string_view path, std::string_view text) {
  Settings settings;
  std::map<std::string, std::size_t, std::less<>> seen;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.empty() || line.front() == '#' || line.front() == '!') continue;
    const std::size_t separator = line.find_first_of("=:");
    const std::string origin = fmt::format("file {}:{}", path, line_number);
    if (separator == std::string_view::npos) {
      settings.problems.push_back(
          Error{ErrorCode::kBadValue, fmt::format("'{}' has no `=` ({})", line, origin),
                "Write key=value, or # before a comment.", std::string(line)});
      continue;
    }
    const std::string name(without_peer_prefix(trimmed(line.substr(0, separator))));
    const auto [first, fresh] = seen.try_emplace(name, line_number);
    if (!fresh) {
      settings.problems.push_back(Error{ErrorCode::kDuplicateKey,
                                        fmt::format("{} is given twice, in lines {} and {} of {}",
                                                    name, first->second, line_number, path),
                                        "Keep one of them.", name});
      continue;
    }
    settings.items.push_back(Setting{.name = name,
                                     .text = std::string(trimmed(line.substr(separator + 1))),
                                     .origin = origin,
                                     .strict = false});
  }
  return settings;
}

}  // namespace ackline::config_source

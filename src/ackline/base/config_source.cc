#include "ackline/base/config_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ackline/base/ascii.h"
#include "ackline/base/config_keys.h"
#include "ackline/base/log_text.h"
#include "ackline/base/properties.h"

namespace ackline::config_source {
namespace {

// EventMesh writes it `eventmesh.`, and `eventMesh.` before its plugins' keys.
std::string_view without_peer_prefix(std::string_view name) {
  constexpr std::string_view kPrefix = "eventmesh.";
  if (name.size() <= kPrefix.size()) return name;
  for (std::size_t i = 0; i < kPrefix.size(); ++i) {
    if (ascii_lower(name[i]) != kPrefix[i]) return name;
  }
  return name.substr(kPrefix.size());
}

std::string_view key_of_variable(std::string_view variable) {
  const std::string wanted = folded_config_name(variable);
  for (const ConfigKey& key : config_keys()) {
    if (folded_config_name(key.name) == wanted) return key.name;
    if (!key.alias.empty() && folded_config_name(key.alias) == wanted) return key.name;
  }
  return variable;
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
    const std::string_view name = without_peer_prefix(trim_space(definition.substr(0, equals)));
    settings.items.push_back(Setting{.name = std::string(name),
                                     .text = std::string(definition.substr(equals + 1)),
                                     .origin = "flag"});
  }
  return settings;
}

Settings read_properties(std::string_view path, std::string_view text) {
  Settings settings;
  Properties file = parse_properties(path, text);
  settings.problems = std::move(file.problems);
  std::map<std::string, std::size_t, std::less<>> seen;
  for (Property& item : file.items) {
    const std::string name(without_peer_prefix(item.key));
    const auto [first, fresh] = seen.try_emplace(name, item.line);
    if (!fresh) {
      settings.problems.push_back(
          Error{ErrorCode::kDuplicateKey,
                fmt::format("{} is given twice, in lines {} and {} of {}", log_text::name(name),
                            first->second, item.line, path),
                "Keep one of them.", name});
      continue;
    }
    // Java keeps blanks at a value's end; no key here has a use for them.
    settings.items.push_back(Setting{.name = name,
                                     .text = std::string(trim_space(item.value)),
                                     .origin = fmt::format("file {}:{}", path, item.line),
                                     .strict = false});
  }
  return settings;
}

}  // namespace ackline::config_source

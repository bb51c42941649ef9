#include "ackline/base/config_docs.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <vector>

#include "ackline/base/config_keys.h"

namespace ackline {
namespace {

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = name.find('.');
    parts.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

// Keys of one section stand together, sections in the order of their first key: YAML allows each
// section once.
std::vector<std::string_view> sections() {
  std::vector<std::string_view> found;
  std::set<std::string_view> seen;
  for (const ConfigKey& key : config_keys()) {
    const std::string_view section = parts_of(key.name).front();
    if (seen.insert(section).second) found.push_back(section);
  }
  return found;
}

std::string yaml_default(const ConfigKey& key) {
  if (key.type == ConfigType::kList) return fmt::format("[{}]", key.default_value);
  if (key.default_value.empty()) return "\"\"";
  return std::string(key.default_value);
}

std::string markdown_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string availability(const ConfigKey& key) {
  if (!key.part.empty()) {
    return fmt::format(" *Not in this build: {}.*", key.part);
  }
  if (key.absent.empty()) return {};
  std::string values;
  for (const std::string_view value : key.absent) {
    values += fmt::format("{}`{}`", values.empty() ? "" : ", ", value);
  }
  return fmt::format(" *Not in this build: {}.*", values);
}

}  // namespace

std::string commented_config_yaml() {
  std::string out =
      "# Ackline: every configuration key at its default, commented out.\n"
      "#\n"
      "# Uncomment what you change: the line of the key and the section lines above it are all it\n"
      "# takes. Stronger than this file are the environment (ACKLINE_DELIVERY_ACK_TIMEOUT=30s) "
      "and\n"
      "# the command line (-D delivery.ackTimeout=30s). Durations: 10ms 30s 5m 24h 30d. Sizes: "
      "512B\n"
      "# 64KiB 4MiB 2GiB. `ackline config check -c FILE` names every mistake.\n";
  for (const std::string_view section : sections()) {
    out += fmt::format("\n# {}:\n", section);
    std::set<std::string> opened;
    for (const ConfigKey& key : config_keys()) {
      const auto parts = parts_of(key.name);
      if (parts.front() != section) continue;
      std::string path(section);
      std::string indent = "  ";
      for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
        path += '.';
        path += parts[i];
        if (opened.insert(path).second) out += fmt::format("# {}{}:\n", indent, parts[i]);
        indent += "  ";
      }
      out += fmt::format("# {}# {}{} Allowed: {}.\n", indent, key.help,
                         key.part.empty() ? "" : fmt::format(" Not in this build: {}.", key.part),
                         config_allowed(key));
      out += fmt::format("# {}{}: {}\n", indent, parts.back(), yaml_default(key));
    }
  }
  return out;
}

std::string config_reference_markdown() {
  std::string out =
      "# Configuration\n\n"
      "One tree of dotted keys. A key is taken from the strongest source that names it:\n\n"
      "1. the command line, `-D key=value` (a prefix `eventmesh.` is stripped);\n"
      "2. the environment, `ACKLINE_` or `EVENTMESH_` and the key, compared ignoring case, dots "
      "and "
      "underscores: `ACKLINE_DELIVERY_ACK_TIMEOUT` is `delivery.ackTimeout`;\n"
      "3. the file, nested YAML or an EventMesh `.properties`;\n"
      "4. the default.\n\n"
      "An unknown key is an error that names the nearest known one (in a `.properties` file and "
      "behind `EVENTMESH_` it is only reported). Durations are whole numbers with `ms`, `s`, `m`, "
      "`h` or `d`, sizes with `B`, `KiB`, `MiB`, `GiB` or `TiB`. `ackline config check` lists "
      "every "
      "problem, `ackline config show` and `GET /admin/config` the values in effect and where each "
      "came from. Secrets are never shown.\n\n"
      "A key of a part that this build does not have may be set: `serve` names it and goes on. "
      "Where "
      "going on would not do what was asked (a gate, TLS, another event log), it refuses "
      "instead.\n\n"
      "This page is made from the declarations in `src/ackline/base/config_keys.cc` by "
      "`tools/update-config-docs`.\n\n"
      "| key | type | default | allowed | |\n|---|---|---|---|---|\n";
  for (const ConfigKey& key : config_keys()) {
    const std::string alias =
        key.alias.empty() ? std::string() : fmt::format(" (also `{}`)", key.alias);
    const std::string shown_default =
        key.default_value.empty() ? std::string("empty") : fmt::format("`{}`", key.default_value);
    out += fmt::format("| `{}`{} | {}{} | {} | {} | {}{} |\n", key.name, alias,
                       config_type_name(key.type), key.secret ? ", secret" : "", shown_default,
                       markdown_escaped(config_allowed(key)), markdown_escaped(key.help),
                       availability(key));
  }
  return out;
}

}  // namespace ackline

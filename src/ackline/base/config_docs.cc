#include "ackline/base/config_docs.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <vector>

#include "ackline/base/config_keys.h"
#include "ackline/base/config_peer_keys.h"
#include "ackline/base/properties.h"

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

std::string commented_config_properties() {
  std::string out =
      "# Ackline: every configuration key at its default, commented out, in EventMesh's format.\n"
      "#\n"
      "# An eventmesh.properties that was brought along can be used as it is: what has no meaning "
      "here is named at\n"
      "# the start, and at the end of this file. The prefix `eventmesh.` may be left out. The "
      "syntax is that of\n"
      "# java.util.Properties, in UTF-8 (a file that is no UTF-8 is read as ISO-8859-1); a key "
      "that comes twice is an\n"
      "# error, an empty value leaves the default. Stronger than this file are the environment\n"
      "# (EVENTMESH_DELIVERY_TOPOLOGY, ACKLINE_DELIVERY_ACK_TIMEOUT) and the command line (-D "
      "delivery.ackTimeout=30s).\n"
      "# `ackline config check -c FILE` names every mistake.\n";
  for (const std::string_view section : sections()) {
    out += "\n";
    for (const ConfigKey& key : config_keys()) {
      if (parts_of(key.name).front() != section) continue;
      out += fmt::format("# {}{} Allowed: {}.\n", key.help,
                         key.part.empty() ? "" : fmt::format(" Not in this build: {}.", key.part),
                         config_allowed(key));
      out += fmt::format("#eventmesh.{}={}\n", key.name, escaped_property_value(key.default_value));
    }
  }
  out += "\n# Keys of EventMesh without a meaning here:\n";
  for (const PeerKey& key : peer_keys()) {
    out += fmt::format("#   eventmesh.{}: {}.{}\n", key.name, key.why,
                       key.refuse ? " Refused, unless it is empty or false." : "");
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
      "3. the file, nested YAML or an EventMesh `.properties` (`conf/ackline.yaml` and "
      "`conf/eventmesh.properties` have every key);\n"
      "4. the default.\n\n"
      "An unknown key is an error that names the nearest known one (in a `.properties` file and "
      "behind `EVENTMESH_` it is only reported). Durations are whole numbers with `ms`, `s`, `m`, "
      "`h` or `d`, sizes with `B`, `KiB`, `MiB`, `GiB` or `TiB`. `ackline config check` lists "
      "every "
      "problem, `ackline config show` and `GET /admin/config` the values in effect and where each "
      "came from. Secrets are never shown.\n\n"
      "A `.properties` file has the syntax of java.util.Properties (escapes, continued lines, `=`, "
      "`:` or a blank), in UTF-8; one that is no UTF-8 is read as ISO-8859-1. The prefix "
      "`eventmesh.` is stripped, an empty value leaves the default, a key that comes twice is an "
      "error. A key of EventMesh that means nothing here is named with the reason; one that asks "
      "for a protection that this build lacks (TLS, the gate) is refused.\n\n"
      "A key of a part that this build does not have may be set: `serve` names it and goes on. "
      "Where "
      "going on would not do what was asked (a gate, TLS, another event log), it refuses "
      "instead.\n\n"
      "This page is made from the declarations in `src/ackline/base/config_table.cc` by "
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

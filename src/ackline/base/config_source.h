// The readers of the configuration's sources: each turns its text into settings, in the order
// found.
//
// A setting is a name, its text and its origin; whether the name is known and the text allowed is
// for the loader (config_load.cc). Errors name the source and the line. Pure functions, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/error.h"

namespace ackline::config_source {

struct Setting {
  std::string name;    // dotted
  std::string text;    //
  std::string origin;  // "flag" | "env NAME" | "file PATH:LINE"
  // An unknown name is an error, else a note; and an empty value is a value.
  bool strict = true;
};

struct Settings {
  std::vector<Setting> items;
  std::vector<Error> problems;
};

// Nested mappings or dotted keys; a list is joined with commas. A name that comes twice is a
// problem that names both lines.
[[nodiscard]] Settings read_yaml(std::string_view path, std::string_view text);
// EventMesh's format (properties.h): `eventmesh.` is stripped, unknown names are notes, an empty
// value leaves its key at the default. Other than in Java a key that comes twice is a problem.
[[nodiscard]] Settings read_properties(std::string_view path, std::string_view text);
// "NAME=value" each. ACKLINE_ comes after EVENTMESH_, so that it wins. A name that matches no key
// is kept as it is written, for the message; only ACKLINE_ ones are strict.
[[nodiscard]] Settings read_environment(std::span<const std::string> environment);
// "key=value" each; without `=` is a problem.
[[nodiscard]] Settings read_definitions(std::span<const std::string> definitions);

}  // namespace ackline::config_source

// Reads a `.properties` file as java.util.Properties does: separators `=`, `:` and blanks, `#` and
// `!` comments, lines continued by a backslash, the escapes \t \n \r \f \uXXXX.
//
// The bytes are UTF-8; a file that is no UTF-8 is taken for ISO-8859-1, byte by byte, as Java took
// all of them before version 9. What comes out is UTF-8. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/error.h"

namespace ackline {

struct Property {
  std::string key;
  std::string value;     // blanks at its end are part of it
  std::size_t line = 0;  // of the file, from 1: where the key stands
};

struct Properties {
  std::vector<Property> items;  // in the order of the file; a key may come twice
  std::vector<Error> problems;  // kBadValue: an escape that names no character, with its line
};

// `name`: the file, for the problems.
[[nodiscard]] Properties parse_properties(std::string_view name, std::string_view text);
// `text` as the value of a property in a file of ours: read back it is `text` again.
[[nodiscard]] std::string escaped_property_value(std::string_view text);

}  // namespace ackline

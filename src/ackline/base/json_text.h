// Writing JSON by hand, where a tree of values would be too slow or too much: strings.
//
// The output is always valid JSON: bytes that are not UTF-8 come out as U+FFFD, so that text from a
// log file or a peer can be put into an answer as it is. Pure functions, any thread, no failure.
#pragma once

#include <string>
#include <string_view>

namespace ackline {

// Appends `text` as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);

// The same without the quotes, for a string that is put together from parts.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace ackline

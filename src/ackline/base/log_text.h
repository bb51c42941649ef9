// How a value looks in a log line: plain when it is harmless, else quoted and escaped.
//
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace ackline::log_text {

// Longer values are cut, with the number of bytes left out.
inline constexpr std::size_t kValueMaxBytes = 2048;

// Appends `value`, quoted when it is empty or holds a space, `"`, `=`, `\`, or anything that is
// escaped: control characters (C0, DEL, C1), line and paragraph separators, the marks that turn the
// direction of writing, and bytes that are no UTF-8.
void append_value(std::string_view value, std::string& out);

// Appends `message` unquoted, with the same escapes.
void append_message(std::string_view message, std::string& out);

// A name or key from a file, for a sentence: escaped like that, and cut after 128 bytes.
[[nodiscard]] std::string name(std::string_view name);

[[nodiscard]] std::string number(double value);

}  // namespace ackline::log_text

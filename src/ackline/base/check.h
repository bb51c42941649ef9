// CHECK: programming errors stop the process, in release builds too.
//
// A failed check prints the expression and its place on stderr and aborts. It is for states that
// only a bug can reach, never for input, disks or peers: those are errors as values (`result.h`).
#pragma once

#include <source_location>

namespace ackline {

[[noreturn]] void check_failed(const char* expression,
                               std::source_location place = std::source_location::current());

}  // namespace ackline

#define ACKLINE_CHECK(condition) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::ackline::check_failed(#condition))

#include "ackline/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace ackline {

void check_failed(const char* expression, std::source_location place) {
  std::fprintf(stderr, "ackline: check failed: %s at %s:%u in %s\n", expression, place.file_name(),
               place.line(), place.function_name());
  std::fflush(stderr);
  std::abort();
}

}  // namespace ackline

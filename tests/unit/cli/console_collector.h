// A console that keeps what is printed.
#pragma once

#include <string>

#include "ackline/cli/console.h"

namespace ackline::cli {

struct CollectedText {
  std::string out;
  std::string err;
};

inline Console::Options collecting(CollectedText& into) {
  Console::Options options;
  options.out = [&into](std::string_view text) { into.out += text; };
  options.err = [&into](std::string_view text) { into.err += text; };
  return options;
}

}  // namespace ackline::cli

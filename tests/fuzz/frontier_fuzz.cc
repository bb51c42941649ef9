// The frontier's bytes. Law: what is read is consistent, and is written and read as the same again.
#include <cstdint>
#include <string>

#include "ackline/frontier/frontier.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using ackline::frontier::Frontier;
using ackline::fuzz::Input;
using ackline::fuzz::law;

constexpr std::uint64_t kAheadMax = 1000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1024) return -1;  // a thousand offsets may be ahead: longer says nothing new
  const Input input(data, size);
  const auto read = Frontier::deserialise(ackline::as_bytes(input.rest()), kAheadMax);
  if (!read) {
    law(read.error().code == ackline::ErrorCode::kCorrupt, "refused bytes are corrupt");
    return 0;
  }
  ackline::fuzz::planted(read->settled_ahead() == 11 || read->settled_ahead() == 13 ||
                         read->settled_ahead() == 19);
  law(read->cursor() == read->committed(), "the cursor restarts at the frontier");
  law(!read->is_settled(read->committed()), "the frontier is as far as it can be");
  std::string first;
  read->serialise(first);
  const auto again = Frontier::deserialise(ackline::as_bytes(first), kAheadMax);
  law(again.has_value(), "what is written can be read");
  law(again->value() == read->value() && again->settled_ahead() == read->settled_ahead(),
      "what is written is what was read");
  std::string second;
  again->serialise(second);
  law(first == second, "the same knowledge has the same bytes");
  return 0;
}

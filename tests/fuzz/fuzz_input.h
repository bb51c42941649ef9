// Takes structured values from a fuzz input; past its end everything is zero or empty.
//
// One object per run of a target, one thread, no failure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace ackline::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return static_cast<std::uint8_t>(first);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8U | byte();
    return value;
  }
  std::uint32_t small() { return static_cast<std::uint32_t>(byte() << 8U | byte()); }
  std::string_view text(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view line() {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return taken;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// A broken law is a finding, like a crash.
inline void law(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken law: %s\n", what);
  std::abort();
}

// A finding that is there to be found (`tools/run-fuzz --plants`): `reached` holds for some inputs
// that are read as well-formed and for none of the seeds. A target that does not get there would
// not find a real one either.
inline void planted(bool reached) {
  static const bool armed = std::getenv("ACKLINE_FUZZ_PLANTS") != nullptr;
  law(!armed || !reached, "planted");
}

}  // namespace ackline::fuzz

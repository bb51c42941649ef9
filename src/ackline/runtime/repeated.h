// Something that is tried again and again: tells when it stops working and when it works again, so
// that a log says either once. Plain data, its owner's thread.
#pragma once

#include <cstdint>

namespace ackline::runtime {

class Repeated {
 public:
  enum class Change : std::uint8_t { kNone, kBroke, kWorksAgain };
  [[nodiscard]] Change note(bool works) {
    const bool changed = works == broken_;
    broken_ = !works;
    if (!changed) return Change::kNone;
    return broken_ ? Change::kBroke : Change::kWorksAgain;
  }

 private:
  bool broken_ = false;
};

}  // namespace ackline::runtime

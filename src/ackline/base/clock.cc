#include "ackline/base/clock.h"

#include <chrono>

namespace ackline {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

MonoMs SystemClock::mono() const {
  return MonoMs(
      duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

WallMs SystemClock::wall() const {
  return WallMs(
      duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count());
}

}  // namespace ackline

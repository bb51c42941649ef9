// Recovers what a power cut left and holds it to what clients had been told before.
#pragma once

#include <cstdint>
#include <string>

#include "tests/powerloss/recorded.h"

namespace ackline::powerloss {

struct ImageOptions {
  Shape shape;
  std::uint64_t seed = 1;
  bool settles_are_synced = true;  // else an ack may be lost, a told frontier never
  bool die_again = false;          // the power goes once more while it recovers
  bool drain = false;              // then clients settle all that is left
  bool may_be_damaged = false;     // what says that it is damaged is not held to anything
  bool* detected = nullptr;        // set when something said so
};

// "" when every promise is kept, else what is broken. Uses the disks up.
[[nodiscard]] std::string check_image(Disks disks, const Told& told, const ImageOptions& options);

}  // namespace ackline::powerloss

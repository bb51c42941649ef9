#include "ackline/cli/demo_record.h"

namespace ackline::cli {

std::int64_t GroupRecord::frontier(std::size_t partition) const {
  std::int64_t expected = 0;
  for (const std::int64_t offset : settled_[partition]) {
    if (offset != expected) break;
    ++expected;
  }
  return expected - 1;
}

std::int64_t GroupRecord::settled() const {
  std::size_t count = 0;
  for (const auto& one : settled_) count += one.size();
  return static_cast<std::int64_t>(count);
}

}  // namespace ackline::cli

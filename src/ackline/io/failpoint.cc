#include "ackline/io/failpoint.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <string>

namespace ackline::io {
namespace {

struct Counters {
  std::array<std::atomic<std::uint32_t>, kFailpointNames.size()> visits{};
  std::array<std::uint32_t, kFailpointNames.size()> kill_at{};  // 0: never
};

Counters& counters() {
  static constinit Counters all;
  return all;
}

std::unexpected<Error> bad(std::string_view part, std::string_view why) {
  return fail(ErrorCode::kBadValue, fmt::format("the failpoint '{}': {}", part, why),
              "Write name:nth=kill with a name of src/ackline/io/failpoint.h and nth from 1 on.");
}

Result<void> arm_one(std::string_view part) {
  const std::size_t colon = part.find(':');
  const std::size_t equals = part.find('=');
  if (colon == std::string_view::npos || equals == std::string_view::npos || equals < colon) {
    return bad(part, "it is not name:nth=kill");
  }
  const auto name = std::ranges::find(kFailpointNames, part.substr(0, colon));
  if (name == kFailpointNames.end()) return bad(part, "there is none of that name");
  if (part.substr(equals + 1) != "kill") return bad(part, "it can only kill");
  const std::string_view digits = part.substr(colon + 1, equals - colon - 1);
  std::uint32_t nth = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), nth);
  if (error != std::errc() || end != digits.data() + digits.size() || nth == 0) {
    return bad(part, "the count is not a number from 1 on");
  }
  counters().kill_at[static_cast<std::size_t>(name - kFailpointNames.begin())] = nth;
  return {};
}

}  // namespace

Result<void> arm_failpoints(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (auto done = arm_one(text.substr(0, end)); !done) return done;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  failpoints_armed().store(true);
  return {};
}

bool failpoint_reached(Failpoint which) {
  const auto at = static_cast<std::size_t>(which);
  return counters().visits[at].fetch_add(1) + 1 == counters().kill_at[at];
}

void die_at(Failpoint which) {
  const auto at = static_cast<std::size_t>(which);
  const std::string line =
      fmt::format("failpoint {} visit {}: killed\n", kFailpointNames[at], counters().kill_at[at]);
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  for (;;) ::kill(::getpid(), SIGKILL);
}

}  // namespace ackline::io

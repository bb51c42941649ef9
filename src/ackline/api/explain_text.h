// What holds a group up, in words: the state, the sentence and the remedy of `/admin/explain`.
//
// Pure functions over the runtime's report; any thread. The sentences are read in the night by
// somebody who did not write the consumer: they name the offset, who holds it, since when, and what
// helps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ackline/api/admin.h"

namespace ackline::api {

// In the order of severity.
enum class ProgressState : std::uint8_t {
  kCaughtUp,
  kMoving,
  kUnknown,
  kWaiting,
  kNoClient,
  kBlocked,
  kQuarantined,
};
[[nodiscard]] std::string_view progress_state_word(ProgressState state);

[[nodiscard]] ProgressState progress_state(const ExplainPartition& partition);
// "Blocked at offset 3: leased by c1 for 12.4 s, attempt 1 of 6; 6 settled behind it."
[[nodiscard]] std::string partition_sentence(const ExplainPartition& partition);
// "" when nothing is to be done. `clients` are the live ones of the group.
[[nodiscard]] std::string partition_remedy(const ExplainPartition& partition,
                                           std::uint64_t clients);

struct GroupExplained {
  ProgressState state = ProgressState::kCaughtUp;
  std::string sentence;
};
[[nodiscard]] GroupExplained explain_group(const ExplainAnswer& answer);

}  // namespace ackline::api

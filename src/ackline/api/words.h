// Enumerations as the words of the contract.
#pragma once

#include <string_view>

#include "ackline/api/admin.h"
#include "ackline/api/input.h"
#include "ackline/delivery/policy.h"
#include "ackline/delivery/report.h"

namespace ackline::api {

inline constexpr Word<delivery::Mode> kModes[] = {
    {"CLUSTERING", delivery::Mode::kClustering},  {"BROADCASTING", delivery::Mode::kBroadcasting},
    {"MULTICAST", delivery::Mode::kMulticast},    {"LOAD_BALANCE", delivery::Mode::kClustering},
    {"BROADCAST", delivery::Mode::kBroadcasting},
};
inline constexpr Word<delivery::Ordering> kOrderings[] = {
    {"none", delivery::Ordering::kNone},
    {"key", delivery::Ordering::kKey},
    {"partition", delivery::Ordering::kPartition},
};
inline constexpr Word<delivery::EntryState> kEntryStates[] = {
    {"dead", delivery::EntryState::kDead},
    {"redriving", delivery::EntryState::kRedriving},
    {"resolved", delivery::EntryState::kResolved},
    {"purged", delivery::EntryState::kPurged},
};
inline constexpr Word<delivery::BlockerState> kBlockerStates[] = {
    {"leased", delivery::BlockerState::kLeased},
    {"waiting_retry", delivery::BlockerState::kWaitingRetry},
    {"blocked_by_key", delivery::BlockerState::kBlockedByKey},
    {"dead_lettering", delivery::BlockerState::kDeadLettering},
    {"not_offered", delivery::BlockerState::kNotOffered},
    {"ahead_limit", delivery::BlockerState::kAheadLimit},
};

// The first word of the value.
template <class E, std::size_t N>
[[nodiscard]] constexpr std::string_view word_of(const Word<E> (&words)[N], E value) {
  for (const Word<E>& one : words) {
    if (one.value == value) {
      return one.text;
    }
  }
  return words[0].text;
}

// The policy of a group, as subscribe and PATCH read it.
struct PolicyInput {
  std::optional<delivery::Mode> mode;
  std::optional<delivery::Ordering> ordering;
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::vector<std::int64_t>> backoff_ms;
  std::optional<std::string> filter_json;
  std::optional<bool> dead_letter_expired;
};
[[nodiscard]] PolicyInput read_policy(Input& input);

}  // namespace ackline::api

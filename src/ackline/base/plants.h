// Planted bugs: the mutation check of the checker.
//
// Each plant switches one rule of docs/guarantees.md off where it is kept, so that the simulation
// can show that it would notice. They exist in builds with ACKLINE_PLANTS only; elsewhere `plant()`
// is the constant false and nothing of a plant is compiled in. One plant is active at a time, set
// before the runtime starts; reading it is for any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ackline {

enum class Plant : std::uint8_t {
  kMaxAckFrontier,          // the frontier is the newest ack
  kSettleBeforeJournal,     // an ack is answered before its record is written
  kNoAttemptOnExpiry,       // an expired lease gives its attempt back
  kSettleBeforeDeadLetter,  // settled although the dead letter is not written
  kSupersededAckAccepted,   // an ack of an earlier offer counts
  kFsyncErrorIgnored,       // a failed sync is taken for done
  kCutBelowLastSync,        // the journal is cut below the last sync
  kRedriveMovesFrontier,    // a redrive settles in the group's own progress
  kHoleLostInSnapshot,      // a snapshot forgets what is not settled
  kLagFromCursor,           // the lag is counted from the cursor
  kKeyOrderLostOnRetry,     // a retry frees its key
  kCreditLeaked,            // a disconnect keeps the client's credit
  kOffsetReused,            // an offset is given again after a lost tail
  kFirstOfferIdReborn,      // an id of an earlier boot is current again
  kWakeLost,                // new events wake nobody
};

inline constexpr std::array<std::string_view, 15> kPlantNames = {
    "max-ack-frontier",    "settle-before-journal",   "no-attempt-on-expiry",
    "settle-before-dlq",   "superseded-ack-accepted", "fsync-error-ignored",
    "cut-below-last-sync", "redrive-moves-frontier",  "hole-lost-in-snapshot",
    "lag-from-cursor",     "key-order-lost-on-retry", "credit-leaked",
    "offset-reused",       "first-offer-id-reborn",   "wake-lost",
};

[[nodiscard]] constexpr std::string_view plant_name(Plant which) {
  return kPlantNames[static_cast<std::size_t>(which)];
}

#ifdef ACKLINE_PLANTS
inline std::optional<Plant>& active_plant() {
  static std::optional<Plant> active;
  return active;
}
[[nodiscard]] inline bool plant(Plant which) {
  return active_plant() == which;
}
#else
[[nodiscard]] constexpr bool plant(Plant /*which*/) {
  return false;
}
#endif

}  // namespace ackline

// The ledger of dead letters: which deliveries are confirmed dead, and where in the DLQ topic.
//
// A dead letter is appended to the DLQ topic, then recorded here, then its source is settled
// (invariant 16). A crash between any two steps repeats a step, so recording is idempotent, and
// when one key has several DLQ records the lowest one counts. Asked before any pending delivery is
// retired.
//
// Blocking, any thread. A record is durable when the call returns.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ackline/base/types.h"
#include "ackline/meta/meta_store.h"
#include "ackline/state/stateful_store.h"

namespace ackline::state {

// Identity of a dead letter: the same after a takeover, new after a replay. Text form (`dlqkey`):
// group/topic@incarnation/partition/offset/generation.
struct DeadLetterKey {
  std::string group;
  std::string topic;
  Incarnation incarnation;
  PartitionIndex partition;
  Offset offset;
  Generation generation;
  friend auto operator<=>(const DeadLetterKey&, const DeadLetterKey&) = default;
  [[nodiscard]] std::string text() const;
  // kBadValue for anything that `text` does not produce.
  [[nodiscard]] static Result<DeadLetterKey> parse(std::string_view text);
};

// Where the event lies: the DLQ topic, in the partition of the key's number.
struct DeadLetterPlace {
  std::string dlq_topic;
  Offset dlq_offset;
  friend auto operator<=>(const DeadLetterPlace&, const DeadLetterPlace&) = default;
};

// The write happens only while `key` still has `revision`: the owner's record (invariant 27).
struct OwnerFence {
  std::string key;
  meta::Revision revision;
};

struct DeadLetterRecorded {
  bool first = false;     // this call made the key dead
  DeadLetterPlace place;  // the one that counts
};

class DeadLetterStore : public StatefulStore {
 public:
  // Errors: kFenced (another owner), kBadName, kBadValue (another DLQ topic than recorded).
  [[nodiscard]] virtual Result<DeadLetterRecorded> record_dead_letter(
      const DeadLetterKey& key, const DeadLetterPlace& place,
      const std::optional<OwnerFence>& fence) = 0;
  // nullopt: not dead.
  [[nodiscard]] virtual Result<std::optional<DeadLetterPlace>> is_dead_lettered(
      const DeadLetterKey& key) = 0;
  // The DLQ record was purged. True when the key was there.
  [[nodiscard]] virtual Result<bool> forget(const DeadLetterKey& key) = 0;
};

}  // namespace ackline::state

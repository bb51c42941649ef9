// Damage of journals that earlier starts have found.
//
// It is found again at every start, for as long as the journal is kept from before it: what a
// damaged partition has is evidence. Partitions that were made after the start that found it first
// were not there when the lost batches were written, and are none of its victims. One list for each
// journal, kept in meta. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/types.h"
#include "ackline/io/journal/recovery.h"

namespace ackline::runtime {

struct FoundDamage {
  Lsn through;                   // the start that found it went on behind this batch
  std::uint32_t partitions = 0;  // the numbers below this were given by then
  friend bool operator==(const FoundDamage&, const FoundDamage&) = default;
};

class KnownDamage {
 public:
  // nullopt: unreadable.
  [[nodiscard]] static std::optional<KnownDamage> decode(std::string_view text);
  [[nodiscard]] std::string encode() const;  // "" when there is none

  // Numbers from here on were given after this damage was found first.
  [[nodiscard]] std::uint32_t partitions_hit(const io::JournalDamage& damage) const;
  // A start has read the journal. What lies below `lowest_needed` is not read any more.
  void note(const io::JournalRecovery& recovered, Lsn lowest_needed, std::uint32_t partitions);
  friend bool operator==(const KnownDamage&, const KnownDamage&) = default;

 private:
  std::vector<FoundDamage> found_;  // ascending
};

}  // namespace ackline::runtime

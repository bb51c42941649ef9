#include "ackline/runtime/known_damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ackline::runtime {

// "through:partitions", separated by commas.
std::optional<KnownDamage> KnownDamage::decode(std::string_view text) {
  KnownDamage known;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::uint64_t through = 0;
    FoundDamage one;
    auto read = std::from_chars(at, end, through);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != ':') return std::nullopt;
    read = std::from_chars(read.ptr + 1, end, one.partitions);
    if (read.ec != std::errc()) return std::nullopt;
    one.through = Lsn(through);
    known.found_.push_back(one);
    at = read.ptr;
    if (at == end) break;
    if (*at != ',' || at + 1 == end) return std::nullopt;
    ++at;
  }
  return known;
}

std::string KnownDamage::encode() const {
  std::string text;
  for (const FoundDamage& one : found_) {
    fmt::format_to(std::back_inserter(text), "{}{}:{}", text.empty() ? "" : ",",
                   one.through.value(), one.partitions);
  }
  return text;
}

std::uint32_t KnownDamage::partitions_hit(const io::JournalDamage& damage) const {
  for (const FoundDamage& one : found_) {
    if (damage.last <= one.through) return one.partitions;
  }
  return std::numeric_limits<std::uint32_t>::max();
}

void KnownDamage::note(const io::JournalRecovery& recovered, Lsn lowest_needed,
                       std::uint32_t partitions) {
  std::erase_if(found_, [&](const FoundDamage& one) { return one.through < lowest_needed; });
  const bool is_new = std::ranges::any_of(recovered.damage, [this](const io::JournalDamage& one) {
    return partitions_hit(one) == std::numeric_limits<std::uint32_t>::max();
  });
  if (is_new) found_.push_back({recovered.synced, partitions});
}

}  // namespace ackline::runtime

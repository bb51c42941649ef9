// Walks the dead-letter partitions of one topic on one shard and picks the entries that a query
// means.
//
// The record in the dead-letter log says what the entry is, the dispatcher says what has become of
// it; a record that the dispatcher does not know under its offset is a double of a crash and is
// hidden (invariant 16). Reads in pages, so a topic with a million dead letters costs a page what a
// page costs. The shard's thread.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ackline/api/admin.h"
#include "ackline/event/filter.h"
#include "ackline/runtime/shard.h"

namespace ackline::runtime {

struct DeadLetterSelection {
  TopicPtr topic;
  std::optional<std::string> group;
  std::map<std::uint32_t, std::set<Offset>> ids;  // by partition; used when `by_id`
  bool by_id = false;
  std::optional<std::string> reason;
  std::optional<delivery::EntryState> state;
  std::optional<WallMs> since;
  std::optional<WallMs> until;
  std::optional<event::Filter> filter;
  std::optional<std::pair<std::uint32_t, Offset>> after;  // the first record to look at
  std::uint64_t limit = 100;                              // entries a partition
  bool want_frames = true;
  // A page's, of one shard: the entry that comes after so many bytes of frames begins the next
  // page.
  std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();
  // What is not dead is counted and neither listed nor part of the limit: a redrive of at most ten
  // is one of ten also when others were redriven before.
  bool only_dead = false;
  // The same for a purge: what is dead, or was redriven well.
  bool only_ended = false;
  // True when every entry but purged ones is meant: then they can be counted without reading.
  [[nodiscard]] bool plain() const { return !by_id && !reason && !since && !until && !filter; }
};

struct DeadLetterFound {
  api::DeadLetterItem item;
  std::uint32_t partition = 0;
  Offset dlq;
  ProgressNumber group;
};

struct DeadLetterPart {
  std::vector<DeadLetterFound> found;              // by partition and offset
  std::map<ProgressNumber, std::uint64_t> others;  // of each group, met and left out
  std::uint64_t total = 0;                         // of a plain selection
  // The first entry for which there were no bytes left; none at or behind it is in `found`.
  std::optional<std::pair<std::uint32_t, Offset>> rest;
  std::map<std::uint32_t, Error> left_out;  // quarantined, or their events are
  bool looked = false;                      // at some partition
  std::optional<Error> error;
};

// Parses ids, filter and cursor. Errors: kBadValue, kBadCursor, the filter's.
[[nodiscard]] Result<DeadLetterSelection> selection_of(const TopicPtr& topic,
                                                       const api::DeadLetterQuery& query);
void scan_dead_letters(Shard& shard, std::shared_ptr<const DeadLetterSelection> selection,
                       std::move_only_function<void(DeadLetterPart)> done);
// "<dlqTopic>:<partition>:<offset>".
[[nodiscard]] std::string entry_id(std::string_view topic, std::uint32_t partition, Offset dlq);

}  // namespace ackline::runtime

#include "ackline/runtime/dead_letter_scan.h"

#include <fmt/format.h>

#include <charconv>

#include "ackline/base/time_text.h"
#include "ackline/event/frame.h"
#include "ackline/event/names.h"

namespace ackline::runtime {
namespace {

constexpr std::uint32_t kReadEvents = 256;

template <class T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "P:O" as in the opaque cursor, and behind the topic in an entry's id.
std::optional<std::pair<std::uint32_t, Offset>> place_of(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto partition = number_of<std::uint32_t>(text.substr(0, colon));
  const auto offset = number_of<std::int64_t>(text.substr(colon + 1));
  if (!partition || !offset || *offset < 0) return std::nullopt;
  return std::pair(*partition, Offset(*offset));
}

// The walk over all partitions of the shard, one after the other.
struct Walk {
  Shard& shard;
  std::shared_ptr<const DeadLetterSelection> selection;
  std::move_only_function<void(DeadLetterPart)> done;
  DeadLetterPart part;
  std::uint32_t partition = 0;
  Offset next;
  std::uint64_t of_partition = 0;
  std::uint64_t bytes = 0;  // of the frames of what was found
  bool entered = false;

  [[nodiscard]] PartitionNumber number() const { return selection->topic->dead_letters[partition]; }
};
using WalkPtr = std::shared_ptr<Walk>;

std::optional<DeadLetterFound> look_at(const Walk& walk, const log::StoredEvent& stored) {
  const DeadLetterSelection& want = *walk.selection;
  if (want.by_id) {
    const auto ids = want.ids.find(walk.partition);
    if (ids == want.ids.end() || !ids->second.contains(stored.offset)) return std::nullopt;
  }
  auto frame = event::FrameView::open(stored.frame);
  if (!frame) return std::nullopt;
  const std::string_view group_name = frame->get("dlqgroup");
  if (want.group && *want.group != group_name) return std::nullopt;
  const GroupPtr group = walk.shard.catalog().group(want.topic->name, group_name);
  if (!group) return std::nullopt;  // its group was deleted
  const Offset source(number_of<std::int64_t>(frame->get("dlqoffset")).value_or(-1));
  const delivery::ProgressKey key{group->number, want.topic->partitions[walk.partition]};
  // A record that is nobody's entry is the double of a crash: hidden (invariant 16).
  const auto entry = walk.shard.dispatcher().dead_entry_at(key, stored.offset);
  if (!entry || entry->source != source) return std::nullopt;
  if (want.state ? entry->state != *want.state : entry->state == delivery::EntryState::kPurged) {
    return std::nullopt;
  }
  if (want.reason && *want.reason != frame->get("dlqreason")) return std::nullopt;
  if (want.since && stored.append_time < *want.since) return std::nullopt;
  if (want.until && stored.append_time >= *want.until) return std::nullopt;
  if (want.filter && want.filter->evaluate(*frame) == event::FilterResult::kNoMatch) {
    return std::nullopt;
  }
  DeadLetterFound found;
  found.partition = walk.partition;
  found.dlq = stored.offset;
  found.group = group->number;
  api::DeadLetterItem& item = found.item;
  item.id = entry_id(want.topic->name, walk.partition, stored.offset);
  item.group = group_name;
  item.reason = frame->get("dlqreason");
  item.attempts = number_of<std::uint32_t>(frame->get("dlqattempts")).value_or(0);
  item.last_error =
      entry->last_error.empty() ? std::string(frame->get("dlqerror")) : entry->last_error;
  item.dead_time = parse_rfc3339(frame->get("dlqtime")).value_or(stored.append_time);
  item.origin_topic = want.topic->name;
  item.origin_partition = walk.partition;
  item.origin_offset = source;
  item.origin_delivery_id = frame->get("dlqdeliveryid");
  item.state = entry->state;
  item.redrives = entry->redrives;
  if (want.want_frames) item.frame = as_text(stored.frame);
  return found;
}

// Null: it can be looked at. What has become of an entry is part of its event's partition.
const Error* damage_of(Shard& shard, const Topic& topic, std::uint32_t index) {
  for (const PartitionNumber number : {topic.dead_letters[index], topic.partitions[index]}) {
    const log::PartitionLog* log = shard.partition(number);
    if (log != nullptr && log->damage()) return &*log->damage();
  }
  return nullptr;
}

// Moves to the next partition that this shard owns and the selection means. False: there is none.
bool enter_partition(Walk& walk) {
  const DeadLetterSelection& want = *walk.selection;
  for (; walk.partition < want.topic->dead_letters.size(); ++walk.partition) {
    const log::PartitionLog* log = walk.shard.partition(walk.number());
    if (log == nullptr) continue;
    if (const Error* why = damage_of(walk.shard, *want.topic, walk.partition)) {
      walk.part.left_out.emplace(walk.partition, *why);
      if (want.by_id && want.ids.contains(walk.partition)) walk.part.error = *why;
      continue;
    }
    walk.part.looked = true;
    if (walk.part.rest) continue;  // full; what is left out is told all the same
    if (want.after && walk.partition < want.after->first) continue;
    if (want.by_id && !want.ids.contains(walk.partition)) continue;
    walk.next = log->log_start();
    if (want.after && walk.partition == want.after->first) {
      walk.next = std::max(walk.next, want.after->second);
    }
    if (want.by_id) walk.next = std::max(walk.next, *want.ids.at(walk.partition).begin());
    walk.of_partition = 0;
    walk.entered = true;
    return true;
  }
  return false;
}

bool is_left_out(const DeadLetterSelection& want, delivery::EntryState state) {
  const bool dead = state == delivery::EntryState::kDead;
  if (want.only_ended) return !dead && state != delivery::EntryState::kResolved;
  return want.only_dead && !dead;
}

void leave_partition(Walk& walk) {
  ++walk.partition;
  walk.entered = false;
}

void step(const WalkPtr& walk);

// One read; false: what it needs is not in memory.
bool read_some(const WalkPtr& walk) {
  log::PartitionLog* log = walk->shard.partition(walk->number());
  const bool over = log == nullptr || walk->next > log->high_watermark();
  auto batch = over ? Result<log::ReadBatch>()
                    : log->read(walk->next, {.max_events = kReadEvents, .max_bytes = 1U << 20U});
  if (!batch && batch.error().code == ErrorCode::kTimeout) return false;
  if (!batch) walk->part.error = batch.error();
  if (over || !batch || batch->events.empty()) {
    leave_partition(*walk);
  } else {
    const DeadLetterSelection& want = *walk->selection;
    for (const log::StoredEvent& stored : batch->events) {
      if (walk->of_partition == want.limit) break;
      walk->next = stored.offset.next();
      auto found = look_at(*walk, stored);
      if (!found) continue;
      if (is_left_out(want, found->item.state)) {
        ++walk->part.others[found->group];
        continue;
      }
      if (walk->bytes >= want.bytes_max) {
        walk->part.rest.emplace(found->partition, found->dlq);
        break;
      }
      walk->bytes += stored.frame.size();
      walk->part.found.push_back(std::move(*found));
      ++walk->of_partition;
    }
    const bool past_ids = want.by_id && walk->next > *want.ids.at(walk->partition).rbegin();
    if (walk->of_partition == want.limit || past_ids || walk->part.rest) {
      leave_partition(*walk);
    }
  }
  walk->shard.executor().post([walk] { step(walk); });
  return true;
}

void step(const WalkPtr& walk) {
  if (walk->part.error || (!walk->entered && !enter_partition(*walk))) {
    walk->done(std::move(walk->part));
    return;
  }
  walk->shard.read_cold(walk->number(), walk->next, [walk] { return read_some(walk); });
}

// Counts without reading the log.
std::uint64_t count_entries(Shard& shard, const DeadLetterSelection& want) {
  std::uint64_t total = 0;
  for (const GroupPtr& group : shard.catalog().groups(want.topic->name)) {
    if (want.group && group->name != *want.group) continue;
    for (std::uint32_t i = 0; i < want.topic->partitions.size(); ++i) {
      const PartitionNumber number = want.topic->partitions[i];
      if (!shard.owns(number) || damage_of(shard, *want.topic, i) != nullptr) continue;
      shard.dispatcher().for_each_dead(
          {group->number, number}, [&](Offset /*dlq*/, delivery::EntryState state) {
            const bool meant =
                want.state ? state == *want.state : state != delivery::EntryState::kPurged;
            total += meant ? 1 : 0;
          });
    }
  }
  return total;
}

}  // namespace

std::string entry_id(std::string_view topic, std::uint32_t partition, Offset dlq) {
  return fmt::format("{}:{}:{}", event::dlq_topic(topic), partition, dlq.value());
}

Result<DeadLetterSelection> selection_of(const TopicPtr& topic, const api::DeadLetterQuery& query) {
  DeadLetterSelection selection;
  selection.topic = topic;
  selection.group = query.group;
  selection.by_id = !query.ids.empty();
  const std::string head = event::dlq_topic(topic->name) + ":";
  for (const std::string& id : query.ids) {
    const auto place =
        id.starts_with(head) ? place_of(std::string_view(id).substr(head.size())) : std::nullopt;
    if (!place || place->first >= topic->dead_letters.size()) {
      return fail(ErrorCode::kBadValue, fmt::format("{} is not an entry of {}", id, topic->name),
                  "Use ids as /admin/dlq/browse gives them.", "ids");
    }
    selection.ids[place->first].insert(place->second);
  }
  selection.reason = query.reason;
  selection.state = query.state;
  selection.since = query.since;
  selection.until = query.until;
  if (query.filter_json && !query.filter_json->empty()) {
    auto filter = event::Filter::parse(*query.filter_json);
    if (!filter) return fail(filter);
    selection.filter = std::move(*filter);
  }
  if (query.after) {
    selection.after = place_of(*query.after);
    if (!selection.after) {
      return fail(ErrorCode::kBadCursor, "after is not a cursor of this list",
                  "Use next as the last page gave it.", "after");
    }
  }
  if (query.max) selection.limit = *query.max;
  return selection;
}

void scan_dead_letters(Shard& shard, std::shared_ptr<const DeadLetterSelection> selection,
                       std::move_only_function<void(DeadLetterPart)> done) {
  // What was answered before is in: the round first, then the walk.
  shard.report<bool>([] { return true; },
                     [&shard, selection = std::move(selection),
                      done = std::move(done)](const Result<bool>& synced) mutable {
                       if (!synced) {
                         DeadLetterPart failed;
                         failed.error = synced.error();
                         done(std::move(failed));
                         return;
                       }
                       auto walk = std::make_shared<Walk>(Walk{
                           shard, std::move(selection), std::move(done), {}, 0, {}, 0, 0, false});
                       if (walk->selection->plain()) {
                         walk->part.total = count_entries(shard, *walk->selection);
                       }
                       step(walk);
                     });
}

}  // namespace ackline::runtime

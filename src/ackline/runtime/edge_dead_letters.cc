// Dead letters: browse, purge, redrive. The lanes that redrives are: edge_lanes.cc.
#include <fmt/format.h>

#include "ackline/event/names.h"
#include "ackline/runtime/dead_letter_scan.h"
#include "ackline/runtime/edge.h"

namespace ackline::runtime {
namespace {

using Parts = std::vector<DeadLetterPart>;

std::uint32_t job_max(const api::DeadLetterQuery& which) {
  return std::min(which.max.value_or(api::kJobEntriesMax), api::kJobEntriesMax);
}

void scan_all(Node& node, Executor& home,
              const std::shared_ptr<const DeadLetterSelection>& selection,
              std::move_only_function<void(Result<Parts>)> done) {
  gather<DeadLetterPart>(
      node, home,
      [selection](ShardUnit& unit, std::move_only_function<void(DeadLetterPart)> answer) {
        scan_dead_letters(*unit.shard, selection, std::move(answer));
      },
      [done = std::move(done)](Parts parts) mutable {
        for (const DeadLetterPart& part : parts) {
          if (!part.error) continue;
          done(std::unexpected(*part.error));
          return;
        }
        done(std::move(parts));
      });
}

// The partitions that are quarantined; the error of one where that is all of them.
const Error* left_out(const Parts& parts, std::vector<std::uint32_t>& quarantined) {
  const Error* why = nullptr;
  bool looked = false;
  for (const DeadLetterPart& part : parts) {
    looked = looked || part.looked;
    for (const auto& [index, error] : part.left_out) {
      quarantined.push_back(index);
      why = &error;
    }
  }
  std::ranges::sort(quarantined);
  return looked ? nullptr : why;
}

// In the order of partition and offset, whichever shard they came from.
std::vector<DeadLetterFound> in_order(Parts parts) {
  std::vector<DeadLetterFound> all;
  for (DeadLetterPart& part : parts) std::ranges::move(part.found, std::back_inserter(all));
  std::ranges::sort(all, [](const DeadLetterFound& a, const DeadLetterFound& b) {
    return std::tuple(a.partition, a.dlq) < std::tuple(b.partition, b.dlq);
  });
  return all;
}

// What one page shows. Where a shard's bytes ran out the page ends, whatever others found behind
// it: the cursor is one place in the order of all.
void fill_page(Parts parts, std::uint64_t limit, api::DeadLetterPage& page) {
  using Place = std::pair<std::uint32_t, Offset>;
  std::optional<Place> rest;
  for (const DeadLetterPart& part : parts) {
    if (part.rest) rest = rest ? std::min(*rest, *part.rest) : *part.rest;
  }
  for (DeadLetterFound& one : in_order(std::move(parts))) {
    const Place place(one.partition, one.dlq);
    if (rest && place >= *rest) break;
    if (page.items.size() == limit) {
      rest = place;
      break;
    }
    page.items.push_back(std::move(one.item));
  }
  if (rest) page.next = fmt::format("{}:{}", rest->first, rest->second.value());
}

// What a redrive or a purge takes: the first `max` of all partitions.
struct Chosen {
  std::vector<DeadLetterFound> taken;
  std::map<ProgressNumber, std::uint64_t> others;  // met and left out
};

Chosen choose(Parts parts, std::uint32_t max) {
  Chosen chosen;
  for (const DeadLetterPart& part : parts) {
    for (const auto& [group, count] : part.others) chosen.others[group] += count;
  }
  chosen.taken = in_order(std::move(parts));
  if (chosen.taken.size() > max) chosen.taken.resize(max);
  return chosen;
}

// The lanes of a redrive: one for each group among the entries.
std::vector<std::shared_ptr<Lane>> lanes_of(const TopicPtr& topic, const Chosen& chosen,
                                            std::uint32_t rate_per_second) {
  std::map<ProgressNumber, std::shared_ptr<Lane>> lanes;
  for (const DeadLetterFound& one : chosen.taken) {
    auto& lane = lanes[one.group];
    if (!lane) {
      lane = std::make_shared<Lane>();
      lane->topic = topic->name;
      lane->group = one.item.group;
      lane->group_number = one.group;
      lane->rate_per_second = rate_per_second;
    }
    ++lane->matched;
    lane->entries[one.partition].push_back(one.dlq);
  }
  for (const auto& [group, count] : chosen.others) {
    if (const auto lane = lanes.find(group); lane != lanes.end()) lane->second->matched += count;
  }
  std::vector<std::shared_ptr<Lane>> list;
  for (auto& [number, lane] : lanes) {
    for (auto& [partition, offsets] : lane->entries) std::ranges::sort(offsets);
    list.push_back(std::move(lane));
  }
  return list;
}

}  // namespace

void Edge::browse_dead(api::DeadLetterQuery query, api::Done<api::DeadLetterPage> done) {
  auto topic = require_topic(query.topic);
  auto selection = topic ? selection_of(*topic, query) : Result<DeadLetterSelection>(fail(topic));
  if (!selection) {
    answer_later<api::DeadLetterPage>(std::move(done), fail(selection));
    return;
  }
  const std::uint64_t limit = selection->limit;
  selection->limit = limit + 1;  // one more tells whether there is a next page
  selection->bytes_max = std::max<std::uint64_t>(1, api::kPageBytes / node_.shard_count());
  auto shared = std::make_shared<const DeadLetterSelection>(std::move(*selection));
  scan_all(node_, executor(), shared,
           [shared, limit, done = std::move(done)](Result<Parts> parts) mutable {
             if (!parts) {
               done(fail(parts));
               return;
             }
             api::DeadLetterPage page;
             if (const Error* why = left_out(*parts, page.quarantined)) {
               done(std::unexpected(*why));
               return;
             }
             page.dlq_topic = event::dlq_topic(shared->topic->name);
             if (shared->plain() && page.quarantined.empty()) {
               page.total = 0;
               for (const DeadLetterPart& part : *parts) *page.total += part.total;
             }
             fill_page(std::move(*parts), limit, page);
             done(std::move(page));
           });
}

void Edge::purge_dead(api::DeadLetterQuery which, api::Done<api::Purged> done) {
  auto topic = require_topic(which.topic);
  which.max = job_max(which);
  auto selection = topic ? selection_of(*topic, which) : Result<DeadLetterSelection>(fail(topic));
  if (!selection) {
    answer_later<api::Purged>(std::move(done), fail(selection));
    return;
  }
  selection->want_frames = false;
  selection->only_ended = true;
  auto shared = std::make_shared<const DeadLetterSelection>(std::move(*selection));
  scan_all(node_, executor(), shared,
           [this, topic = shared->topic, max = *which.max,
            done = std::move(done)](Result<Parts> parts) mutable {
             if (!parts) {
               done(fail(parts));
               return;
             }
             auto entries = std::make_shared<PurgeEntries>();
             for (const DeadLetterFound& one : choose(std::move(*parts), max).taken) {
               (*entries)[{one.group, topic->partitions[one.partition]}].push_back(one.dlq);
             }
             purge_entries(topic, std::move(entries), std::move(done));
           });
}

// Each shard forgets its own.
void Edge::purge_entries(const TopicPtr& topic, std::shared_ptr<const PurgeEntries> entries,
                         api::Done<api::Purged> done) {
  gather<Result<std::uint64_t>>(
      node_, executor(),
      [topic, entries = std::move(entries)](
          ShardUnit& unit, std::move_only_function<void(Result<std::uint64_t>)> answer) {
        std::uint64_t purged = 0;
        for (const auto& [key, offsets] : *entries) {
          if (!unit.shard->owns(key.partition)) continue;
          purged += unit.shard->dispatcher().purge_dead(key, offsets);
        }
        unit.shard->trim_dead_letters(*topic);
        unit.shard->after_sync([purged, answer = std::move(answer)](const Error* error) mutable {
          if (error != nullptr) {
            answer(std::unexpected(*error));
          } else {
            answer(purged);
          }
        });
      },
      [this, topic,
       done = std::move(done)](const std::vector<Result<std::uint64_t>>& parts) mutable {
        api::Purged purged;
        for (const auto& part : parts) {
          if (!part) {
            done(std::unexpected(part.error()));
            return;
          }
          purged.purged += *part;
        }
        purged.audit_id = node_.audit().record("dlq.purge", topic->name,
                                               fmt::format("{{\"purged\":{}}}", purged.purged));
        done(std::move(purged));
      });
}

void Edge::redrive(api::RedriveRequest request, api::Done<api::LaneItem> done) {
  auto topic = require_topic(request.which.topic);
  if (topic && request.which.group) {
    if (auto group = require_group(request.which.topic, *request.which.group); !group) {
      topic = fail(group);
    }
  }
  request.which.max = job_max(request.which);
  auto selection =
      topic ? selection_of(*topic, request.which) : Result<DeadLetterSelection>(fail(topic));
  if (!selection) {
    answer_later<api::LaneItem>(std::move(done), fail(selection));
    return;
  }
  selection->want_frames = false;
  selection->only_dead = true;
  auto shared = std::make_shared<const DeadLetterSelection>(std::move(*selection));
  scan_all(node_, executor(), shared,
           [this, shared, rate = request.rate_per_second, dry_run = request.dry_run,
            max = *request.which.max, done = std::move(done)](Result<Parts> parts) mutable {
             if (!parts) {
               done(fail(parts));
               return;
             }
             const Chosen chosen = choose(std::move(*parts), max);
             auto lanes = lanes_of(shared->topic, chosen, rate);
             api::LaneItem sum;
             sum.kind = "redrive";
             sum.topic = shared->topic->name;
             sum.group = shared->group.value_or("");
             sum.dry_run = dry_run;
             sum.state = "done";
             sum.started = chosen.taken.size();
             for (const auto& [group, count] : chosen.others) sum.already_redriven += count;
             sum.matched = sum.started + sum.already_redriven;
             if (dry_run || sum.started == 0) {
               if (dry_run) sum.started = 0;
               done(std::move(sum));
               return;
             }
             start_lanes(std::move(lanes), std::move(sum), std::move(done));
           });
}

}  // namespace ackline::runtime

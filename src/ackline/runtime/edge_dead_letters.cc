// Dead letters: browse, purge, redrive. The lanes that redrives are: edge_lanes.cc.
#include <fmt/format.h>

#include "ackline/event/names.h"
#include "ackline/runtime/dead_letter_scan.h"
#include "ackline/runtime/edge.h"

namespace ackline::runtime {
namespace {

constexpr std::uint64_t kJobEntriesMax =
    100'000;  // of one redrive or purge: its offsets are one record in meta

using Parts = std::vector<DeadLetterPart>;

void scan_all(Node& node, Executor& home, std::shared_ptr<const DeadLetterSelection> selection,
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

// In the order of partition and offset, whichever shard they came from.
std::vector<DeadLetterFound> in_order(Parts parts) {
  std::vector<DeadLetterFound> all;
  for (DeadLetterPart& part : parts) std::ranges::move(part.found, std::back_inserter(all));
  std::ranges::sort(all, [](const DeadLetterFound& a, const DeadLetterFound& b) {
    return std::tuple(a.partition, a.dlq) < std::tuple(b.partition, b.dlq);
  });
  return all;
}

// The lanes of a redrive: one for each group among the entries that are dead.
std::vector<std::shared_ptr<Lane>> lanes_of(const TopicPtr& topic,
                                            const std::vector<DeadLetterFound>& found,
                                            std::uint32_t rate_per_second) {
  std::map<ProgressNumber, std::shared_ptr<Lane>> lanes;
  for (const DeadLetterFound& one : found) {
    auto& lane = lanes[one.group];
    if (!lane) {
      lane = std::make_shared<Lane>();
      lane->topic = topic->name;
      lane->group = one.item.group;
      lane->group_number = one.group;
      lane->rate_per_second = rate_per_second;
    }
    ++lane->matched;
    if (one.item.state == delivery::EntryState::kDead) {
      lane->entries[one.partition].push_back(one.dlq);
    }
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
  auto shared = std::make_shared<const DeadLetterSelection>(std::move(*selection));
  scan_all(node_, executor(), shared,
           [shared, limit, done = std::move(done)](Result<Parts> parts) mutable {
             if (!parts) {
               done(fail(parts));
               return;
             }
             api::DeadLetterPage page;
             page.dlq_topic = event::dlq_topic(shared->topic->name);
             if (shared->plain()) {
               page.total = 0;
               for (const DeadLetterPart& part : *parts) *page.total += part.total;
             }
             for (DeadLetterFound& one : in_order(std::move(*parts))) {
               if (page.items.size() == limit) {
                 page.next = fmt::format("{}:{}", one.partition, one.dlq.value());
                 break;
               }
               page.items.push_back(std::move(one.item));
             }
             done(std::move(page));
           });
}

void Edge::purge_dead(api::DeadLetterQuery which, api::Done<api::Purged> done) {
  auto topic = require_topic(which.topic);
  which.max = which.max.value_or(static_cast<std::uint32_t>(kJobEntriesMax));
  auto selection = topic ? selection_of(*topic, which) : Result<DeadLetterSelection>(fail(topic));
  if (!selection) {
    answer_later<api::Purged>(std::move(done), fail(selection));
    return;
  }
  selection->want_frames = false;
  auto shared = std::make_shared<const DeadLetterSelection>(std::move(*selection));
  gather<Result<std::uint64_t>>(
      node_, executor(),
      [shared](ShardUnit& unit, std::move_only_function<void(Result<std::uint64_t>)> answer) {
        scan_dead_letters(
            *unit.shard, shared,
            [&unit, shared, answer = std::move(answer)](DeadLetterPart part) mutable {
              if (part.error) {
                answer(std::unexpected(*part.error));
                return;
              }
              std::map<delivery::ProgressKey, std::vector<Offset>> offsets;
              for (const DeadLetterFound& one : part.found) {
                offsets[{one.group, shared->topic->partitions[one.partition]}].push_back(one.dlq);
              }
              std::uint64_t purged = 0;
              for (auto& [key, entries] : offsets) {
                purged += unit.shard->dispatcher().purge_dead(key, entries);
              }
              unit.shard->trim_dead_letters(*shared->topic);
              unit.shard->after_sync(
                  [purged, answer = std::move(answer)](const Error* error) mutable {
                    if (error != nullptr) {
                      answer(std::unexpected(*error));
                    } else {
                      answer(purged);
                    }
                  });
            });
      },
      [this, shared,
       done = std::move(done)](const std::vector<Result<std::uint64_t>>& parts) mutable {
        api::Purged purged;
        for (const auto& part : parts) {
          if (!part) {
            done(std::unexpected(part.error()));
            return;
          }
          purged.purged += *part;
        }
        purged.audit_id = node_.audit().record("dlq.purge", shared->topic->name,
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
  request.which.max = request.which.max.value_or(static_cast<std::uint32_t>(kJobEntriesMax));
  auto selection =
      topic ? selection_of(*topic, request.which) : Result<DeadLetterSelection>(fail(topic));
  if (!selection) {
    answer_later<api::LaneItem>(std::move(done), fail(selection));
    return;
  }
  selection->want_frames = false;
  auto shared = std::make_shared<const DeadLetterSelection>(std::move(*selection));
  scan_all(node_, executor(), shared,
           [this, shared, rate = request.rate_per_second, dry_run = request.dry_run,
            max = *request.which.max, done = std::move(done)](Result<Parts> parts) mutable {
             if (!parts) {
               done(fail(parts));
               return;
             }
             std::vector<DeadLetterFound> found = in_order(std::move(*parts));
             if (found.size() > max) found.resize(max);
             auto lanes = lanes_of(shared->topic, found, rate);
             api::LaneItem sum;
             sum.kind = "redrive";
             sum.topic = shared->topic->name;
             sum.group = shared->group.value_or("");
             sum.dry_run = dry_run;
             sum.state = "done";
             for (const auto& lane : lanes) {
               sum.matched += lane->matched;
               for (const auto& [partition, offsets] : lane->entries) sum.started += offsets.size();
             }
             sum.already_redriven = sum.matched - sum.started;
             if (dry_run || sum.started == 0) {
               if (dry_run) sum.started = 0;
               done(std::move(sum));
               return;
             }
             std::erase_if(lanes, [](const auto& lane) { return lane->entries.empty(); });
             start_lanes(std::move(lanes), std::move(sum), std::move(done));
           });
}

}  // namespace ackline::runtime

// Lag and holes: captured by the shards that own the partitions, put together here.
#include <fmt/format.h>

#include <set>

#include "ackline/base/storage_lanes.h"
#include "ackline/log/local/doctor.h"
#include "ackline/log/local/format.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/lag_capture.h"

namespace ackline::runtime {
namespace {

struct Ages {
  std::vector<LagPart> parts;
  std::size_t left = 1;
  std::move_only_function<void(std::vector<LagPart>)> done;
  void finish() {
    if (--left == 0) done(std::move(parts));
  }
};

// The age of the oldest pending event of each part; its append time may have to be read from disk.
void add_ages(ShardUnit& unit, std::vector<LagPart> parts,
              std::move_only_function<void(std::vector<LagPart>)> done) {
  auto ages = std::make_shared<Ages>();
  ages->parts = std::move(parts);
  ages->done = std::move(done);
  for (std::size_t i = 0; i < ages->parts.size(); ++i) {
    const LagPart& part = ages->parts[i];
    if (part.lag.pending == 0 || !part.lag.known) continue;
    Offset oldest = part.lag.report.oldest_pending.value_or(part.lag.report.cursor);
    oldest = std::max(oldest, part.lag.log_start);
    if (oldest > part.lag.high_watermark) continue;
    ++ages->left;
    unit.shard->read_cold(part.number, oldest, [ages, i, oldest, shard = unit.shard.get()] {
      log::PartitionLog* log = shard->partition(ages->parts[i].number);
      if (log != nullptr) {
        const auto time = log->append_time(oldest);
        if (!time && time.error().code == ErrorCode::kTimeout) return false;
        if (time) {
          const std::int64_t age = shard->wall().value() - time->value();
          ages->parts[i].lag.lag_seconds =
              static_cast<double>(std::max<std::int64_t>(0, age)) / 1000.0;
        }
      }
      ages->finish();
      return true;
    });
  }
  ages->finish();
}

using Wanted = std::set<ProgressNumber>;

using LagParts = std::vector<LagPart>;

void lag_of_shard(ShardUnit& unit, const std::shared_ptr<const Wanted>& wanted,
                  ReportDone<LagParts> answer) {
  unit.shard->report<LagParts>(
      [&unit, wanted] {
        LagParts parts;
        for (const delivery::ProgressKey& key : unit.shard->dispatcher().keys()) {
          if (!wanted->contains(key.progress)) continue;
          if (auto part = capture_lag(unit, key)) parts.push_back(*part);
        }
        return parts;
      },
      [&unit, answer = std::move(answer)](Result<LagParts> parts) mutable {
        if (parts) {
          add_ages(unit, std::move(*parts), std::move(answer));
        } else {
          answer(std::move(parts));
        }
      });
}

// The doctor's reader counts what exists past the frontier, from the files (invariant 6). Blocking.
std::uint64_t recount(Node& node, const LagPart& part, Result<void>& outcome) {
  const std::string directory =
      log::format::partition_directory(node.options().data_path, part.number);
  std::uint64_t count = 0;
  auto done =
      log::for_each_offset(node.deps().fs, directory, part.number, part.lag.report.frontier.next(),
                           part.lag.high_watermark, [&count](Offset) {
                             ++count;
                             return true;
                           });
  if (!done) outcome = done;
  return count;
}

struct Audit {
  std::map<std::pair<ProgressNumber, std::uint32_t>, std::uint64_t> counts;
  Result<void> outcome;
};

void recount_all(Node& node, const std::vector<LagParts>& parts, Audit& audited) {
  for (const auto& shard : parts) {
    for (const LagPart& part : shard) {
      if (!part.lag.known) continue;
      audited.counts[{part.group, part.partition}] = recount(node, part, audited.outcome);
    }
  }
}

// The parts of one group, summed; with the audit's own count beside.
api::GroupLag lag_of_group(const Group& group, WallMs as_of, const std::vector<LagParts>& parts,
                           const Audit* audited) {
  api::GroupLag answer;
  answer.topic = group.topic;
  answer.group = group.name;
  answer.as_of = as_of;
  std::uint64_t recounted = 0;
  std::uint64_t lag = 0;
  bool known = true;
  for (const auto& shard : parts) {
    for (const LagPart& part : shard) {
      if (part.group != group.number) continue;
      answer.partitions[part.partition] = part.lag;
      lag += part.lag.lag;
      known = known && part.lag.known;
      if (audited == nullptr) continue;
      const auto count = audited->counts.find({part.group, part.partition});
      if (count != audited->counts.end()) recounted += count->second;
    }
  }
  if (audited != nullptr) {
    answer.audit.emplace();
    if (known) answer.audit = {recounted, recounted == lag};
  }
  return answer;
}

}  // namespace

void Edge::lag(std::optional<std::string> topic, std::optional<std::string> group, bool audit,
               api::Done<std::vector<api::GroupLag>> done) {
  Result<void> fine;
  if (topic && group) {
    if (auto found = require_group(*topic, *group); !found) fine = fail(found);
  } else if (topic) {
    if (auto found = require_topic(*topic); !found) fine = fail(found);
  }
  if (!fine) {
    answer_later<std::vector<api::GroupLag>>(std::move(done), fail(fine));
    return;
  }
  std::vector<GroupPtr> groups;
  auto wanted = std::make_shared<Wanted>();
  for (const GroupPtr& one : catalog().groups(topic.value_or(""))) {
    if (group && one->name != *group) continue;
    groups.push_back(one);
    wanted->insert(one->number);
  }
  auto shared_done = std::make_shared<api::Done<std::vector<api::GroupLag>>>(std::move(done));
  const auto combine = [this, groups, shared_done](const std::vector<LagParts>& parts,
                                                   const Audit* audited) {
    if (audited != nullptr && !audited->outcome) {
      (*shared_done)(fail(audited->outcome));
      return;
    }
    std::vector<api::GroupLag> answers;
    answers.reserve(groups.size());
    for (const GroupPtr& one : groups) {
      answers.push_back(lag_of_group(*one, executor().clock().wall(), parts, audited));
    }
    (*shared_done)(std::move(answers));
  };
  gather_reports<LagParts>(
      node_, executor(),
      [wanted, audit](ShardUnit& unit, ReportDone<LagParts> answer) {
        // An audit reads files: what is only in the tail is written first, and nothing is cut
        // meanwhile.
        if (audit) unit.shard->flush_tails();
        lag_of_shard(unit, wanted, std::move(answer));
      },
      [this, audit, combine](Result<std::vector<LagParts>> parts) {
        if (!parts) {
          Audit failed;
          failed.outcome = fail(parts);
          combine({}, &failed);
          return;
        }
        if (!audit) {
          combine(*parts, nullptr);
          return;
        }
        auto shared = std::make_shared<std::vector<LagParts>>(std::move(*parts));
        auto audited = std::make_shared<Audit>();
        node_.deps().storage.run(
            storage_lane::recount(),
            [this, shared, audited] { recount_all(node_, *shared, *audited); }, executor(),
            [shared, audited, combine] { combine(*shared, audited.get()); });
      });
}

namespace {

struct HolesPart {
  std::map<std::uint32_t, delivery::HolePage> pages;
  std::map<std::uint32_t, Error> left_out;
  std::int64_t wall_minus_mono = 0;
};

HolesPart capture_holes(ShardUnit& unit, const Topic& topic, const api::HolesQuery& query,
                        ProgressNumber number) {
  HolesPart part;
  part.wall_minus_mono = unit.shard->wall().value() - unit.shard->now().value();
  for (std::uint32_t i = 0; i < topic.partitions.size(); ++i) {
    if (query.partition && *query.partition != i) continue;
    const delivery::ProgressKey key{number, topic.partitions[i]};
    const log::PartitionLog* log = unit.shard->partition(key.partition);
    if (log == nullptr) continue;
    if (log->damage()) {
      part.left_out.emplace(i, *log->damage());
      continue;
    }
    // Partitions before `after` only count.
    const bool before = query.after && i < query.after->first;
    const Offset from = query.after && i == query.after->first ? query.after->second : Offset{0};
    part.pages[i] = unit.shard->dispatcher().holes(key, from, before ? 0 : query.limit + 1);
  }
  return part;
}

// Null: some partition can be looked at.
const Error* nothing_left(const std::vector<HolesPart>& parts) {
  const Error* why = nullptr;
  for (const HolesPart& part : parts) {
    if (!part.pages.empty()) return nullptr;
    if (!part.left_out.empty()) why = &part.left_out.begin()->second;
  }
  return why;
}

// In the order of partitions, whichever shard they came from, up to the limit.
api::HolesAnswer one_page(const api::HolesQuery& query, WallMs as_of,
                          const std::vector<HolesPart>& parts) {
  api::HolesAnswer answer;
  answer.as_of = as_of;
  std::map<std::uint32_t, std::pair<const delivery::HolePage*, std::int64_t>> pages;
  std::uint64_t total = 0;
  for (const HolesPart& part : parts) {
    for (const auto& [index, why] : part.left_out) answer.quarantined.push_back(index);
    for (const auto& [index, page] : part.pages) {
      pages[index] = {&page, part.wall_minus_mono};
      total += page.total;
    }
  }
  std::ranges::sort(answer.quarantined);
  if (answer.quarantined.empty()) answer.total = total;
  for (const auto& [index, page] : pages) {
    for (const delivery::Hole& hole : page.first->holes) {
      if (answer.items.size() == query.limit) {
        answer.next = {index, hole.from};
        return answer;
      }
      api::HoleItem item;
      item.partition = index;
      item.hole = hole;
      if (hole.oldest) item.oldest_time = WallMs(hole.oldest->value() + page.second);
      answer.items.push_back(item);
    }
  }
  return answer;
}

}  // namespace

void Edge::holes(api::HolesQuery query, api::Done<api::HolesAnswer> done) {
  auto group = require_group(query.topic, query.group);
  if (!group) {
    answer_later<api::HolesAnswer>(std::move(done), fail(group));
    return;
  }
  const TopicPtr topic = catalog().topic(query.topic);
  if (query.partition && *query.partition >= topic->partitions.size()) {
    answer_later<api::HolesAnswer>(
        std::move(done),
        fail(ErrorCode::kBadValue, fmt::format("partition {} is out of range", *query.partition),
             "Name a partition that the topic has.", "partition"));
    return;
  }
  gather_reports<HolesPart>(
      node_, executor(),
      [topic, query, number = (*group)->number](ShardUnit& unit, ReportDone<HolesPart> answer) {
        unit.shard->report<HolesPart>(
            [&unit, topic, query, number] { return capture_holes(unit, *topic, query, number); },
            std::move(answer));
      },
      [query, at = executor().clock().wall(),
       done = std::move(done)](Result<std::vector<HolesPart>> parts) mutable {
        if (!parts) {
          done(fail(parts));
        } else if (const Error* why = nothing_left(*parts)) {
          done(std::unexpected(*why));
        } else {
          done(one_page(query, at, *parts));
        }
      });
}

}  // namespace ackline::runtime

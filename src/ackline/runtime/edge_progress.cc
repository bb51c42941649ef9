// Lag, holes and explain: captured by the shards that own the partitions, put together here.
#include <fmt/format.h>

#include <set>

#include "ackline/event/frame.h"
#include "ackline/log/local/doctor.h"
#include "ackline/log/local/format.h"
#include "ackline/runtime/edge.h"
#include "ackline/runtime/progress_math.h"

namespace ackline::runtime {
namespace {

constexpr std::uint32_t kByteHoles = 4096;  // holes whose bytes are counted one by one

// One group on one partition, as its shard says.
struct LagPart {
  ProgressNumber group;
  std::uint32_t partition = 0;
  PartitionNumber number;
  api::PartitionLag lag;
};

// Bytes of what is pending: the holes below the cursor and everything from the cursor on.
std::uint64_t pending_bytes(ShardUnit& unit, const delivery::ProgressKey& key,
                            const api::PartitionLag& lag) {
  log::LocalPartition& log = *unit.shard->partition(key.partition);
  const Offset end = lag.high_watermark.next();
  const Offset from = std::max(lag.report.frontier.next(), lag.log_start);
  if (lag.report.settled_ahead == 0) return log.bytes_between(from, end).bytes;
  std::uint64_t bytes = log.bytes_between(std::max(from, lag.report.cursor), end).bytes;
  const auto page = unit.shard->dispatcher().holes(key, from, kByteHoles);
  std::uint64_t events = 0;
  for (const delivery::Hole& hole : page.holes) {
    bytes += log.bytes_between(hole.from, hole.to.next()).bytes;
    events += hole.events;
  }
  // With more holes than that the rest is taken at the same bytes an event.
  if (page.next && events > 0) {
    const std::uint64_t below =
        lag.pending -
        std::min<std::uint64_t>(lag.pending, static_cast<std::uint64_t>(std::max<std::int64_t>(
                                                 0, end.value() - lag.report.cursor.value())));
    bytes += bytes / events * (below - std::min(below, events));
  }
  return bytes;
}

std::optional<LagPart> capture_lag(ShardUnit& unit, const delivery::ProgressKey& key) {
  const auto report = unit.shard->dispatcher().progress(key);
  const auto place = unit.shard->catalog().place(key.partition);
  const log::LocalPartition* log = unit.shard->partition(key.partition);
  if (!report || !place || log == nullptr) return std::nullopt;
  LagPart part;
  part.group = key.progress;
  part.partition = place->index.value();
  part.number = key.partition;
  part.lag.report = *report;
  part.lag.log_start = log->log_start();
  part.lag.high_watermark = log->high_watermark();
  fill_lag(part.lag);
  if (part.lag.pending > 0) part.lag.lag_bytes = pending_bytes(unit, key, part.lag);
  return part;
}

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
    if (part.lag.pending == 0) continue;
    Offset oldest = part.lag.report.oldest_pending.value_or(part.lag.report.cursor);
    oldest = std::max(oldest, part.lag.log_start);
    if (oldest > part.lag.high_watermark) continue;
    ++ages->left;
    unit.shard->read_cold(part.number, oldest, [ages, i, oldest, shard = unit.shard.get()] {
      log::LocalPartition* log = shard->partition(ages->parts[i].number);
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

void lag_of_shard(ShardUnit& unit, std::shared_ptr<const Wanted> wanted,
                  std::move_only_function<void(std::vector<LagPart>)> answer) {
  unit.shard->report<std::vector<LagPart>>(
      [&unit, wanted] {
        std::vector<LagPart> parts;
        for (const delivery::ProgressKey& key : unit.shard->dispatcher().keys()) {
          if (!wanted->contains(key.progress)) continue;
          if (auto part = capture_lag(unit, key)) parts.push_back(std::move(*part));
        }
        return parts;
      },
      [&unit, answer = std::move(answer)](std::vector<LagPart> parts) mutable {
        add_ages(unit, std::move(parts), std::move(answer));
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
  const auto combine =
      [this, groups,
       done = std::make_shared<api::Done<std::vector<api::GroupLag>>>(std::move(done))](
          const std::vector<std::vector<LagPart>>& parts, const Audit* audited) {
        std::vector<api::GroupLag> answers;
        for (const GroupPtr& one : groups) {
          api::GroupLag answer;
          answer.topic = one->topic;
          answer.group = one->name;
          answer.as_of = executor().clock().wall();
          api::LagAudit sums;
          std::uint64_t lag = 0;
          for (const auto& shard : parts) {
            for (const LagPart& part : shard) {
              if (part.group != one->number) continue;
              answer.partitions[part.partition] = part.lag;
              lag += part.lag.lag;
              if (audited == nullptr) continue;
              const auto count = audited->counts.find({part.group, part.partition});
              if (count != audited->counts.end()) sums.recount += count->second;
            }
          }
          if (audited != nullptr && audited->outcome) {
            sums.equal = sums.recount == lag;
            answer.audit = sums;
          }
          answers.push_back(std::move(answer));
        }
        if (audited != nullptr && !audited->outcome) {
          (*done)(fail(audited->outcome));
        } else {
          (*done)(std::move(answers));
        }
      };
  gather<std::vector<LagPart>>(
      node_, executor(),
      [wanted, audit](ShardUnit& unit, std::move_only_function<void(std::vector<LagPart>)> answer) {
        // An audit reads files: what is only in the tail is written first, and nothing is cut
        // meanwhile.
        if (audit) unit.shard->flush_tails();
        lag_of_shard(unit, wanted, std::move(answer));
      },
      [this, audit, combine](std::vector<std::vector<LagPart>> parts) {
        if (!audit) {
          combine(parts, nullptr);
          return;
        }
        auto shared = std::make_shared<std::vector<std::vector<LagPart>>>(std::move(parts));
        auto audited = std::make_shared<Audit>();
        node_.deps().storage.run(
            4001,
            [this, shared, audited] {
              for (const auto& shard : *shared) {
                for (const LagPart& part : shard) {
                  audited->counts[{part.group, part.partition}] =
                      recount(node_, part, audited->outcome);
                }
              }
            },
            executor(), [shared, audited, combine] { combine(*shared, audited.get()); });
      });
}

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
  struct Part {
    std::map<std::uint32_t, delivery::HolePage> pages;
    std::int64_t wall_minus_mono = 0;
  };
  gather<Part>(
      node_, executor(),
      [topic, query, number = (*group)->number](ShardUnit& unit,
                                                std::move_only_function<void(Part)> answer) {
        unit.shard->report<Part>(
            [&unit, topic, query, number] {
              Part part;
              part.wall_minus_mono = unit.shard->wall().value() - unit.shard->now().value();
              for (std::uint32_t i = 0; i < topic->partitions.size(); ++i) {
                if (query.partition && *query.partition != i) continue;
                const delivery::ProgressKey key{number, topic->partitions[i]};
                if (!unit.shard->owns(key.partition)) continue;
                // Pages before `after` only count.
                const bool before = query.after && i < query.after->first;
                const Offset from =
                    query.after && i == query.after->first ? query.after->second : Offset{0};
                part.pages[i] =
                    unit.shard->dispatcher().holes(key, from, before ? 0 : query.limit + 1);
              }
              return part;
            },
            std::move(answer));
      },
      [query, at = executor().clock().wall(),
       done = std::move(done)](const std::vector<Part>& parts) mutable {
        api::HolesAnswer answer;
        answer.as_of = at;
        std::map<std::uint32_t, std::pair<const delivery::HolePage*, std::int64_t>> pages;
        for (const Part& part : parts) {
          for (const auto& [index, page] : part.pages) {
            pages[index] = {&page, part.wall_minus_mono};
            answer.total += page.total;
          }
        }
        for (const auto& [index, page] : pages) {
          for (const delivery::Hole& hole : page.first->holes) {
            if (answer.items.size() == query.limit) {
              answer.next = {index, hole.from};
              done(std::move(answer));
              return;
            }
            api::HoleItem item;
            item.partition = index;
            item.hole = hole;
            if (hole.oldest) item.oldest_time = WallMs(hole.oldest->value() + page.second);
            answer.items.push_back(std::move(item));
          }
        }
        done(std::move(answer));
      });
}

namespace {

struct Explaining {
  std::map<std::uint32_t, api::ExplainPartition> partitions;
  std::size_t left = 1;
  std::move_only_function<void(std::map<std::uint32_t, api::ExplainPartition>)> done;
  void finish() {
    if (--left == 0) done(std::move(partitions));
  }
};

// What one partition's blocker is, without the event's own names.
api::ExplainPartition capture_explain(ShardUnit& unit, const delivery::ProgressKey& key) {
  api::ExplainPartition out;
  if (const auto part = capture_lag(unit, key)) out.lag = part->lag;
  out.blocker = unit.shard->dispatcher().blocker(key, unit.shard->now());
  if (out.blocker.since) {
    const std::int64_t for_ms = unit.shard->now().value() - out.blocker.since->value();
    out.for_seconds = static_cast<double>(std::max<std::int64_t>(0, for_ms)) / 1000.0;
    out.since = WallMs(unit.shard->wall().value() - for_ms);
  }
  const log::LocalPartition* log = unit.shard->partition(key.partition);
  if (log != nullptr && log->damage()) {
    out.quarantined = true;
    out.quarantine_detail = log->damage()->detail;
  }
  return out;
}

// Adds id, type and key of each blocking event.
void add_events(
    ShardUnit& unit, const TopicPtr& topic,
    std::map<std::uint32_t, api::ExplainPartition> partitions,
    std::move_only_function<void(std::map<std::uint32_t, api::ExplainPartition>)> done) {
  auto explaining = std::make_shared<Explaining>();
  explaining->partitions = std::move(partitions);
  explaining->done = std::move(done);
  for (auto& [index, partition] : explaining->partitions) {
    if (partition.blocker.caught_up || partition.quarantined) continue;
    const PartitionNumber number = topic->partitions[index];
    const Offset offset = partition.blocker.offset;
    ++explaining->left;
    unit.shard->read_cold(
        number, offset, [explaining, number, offset, at = index, shard = unit.shard.get()] {
          log::LocalPartition* log = shard->partition(number);
          if (log != nullptr) {
            auto batch = log->read(offset, {.max_events = 1, .max_bytes = 1});
            if (!batch && batch.error().code == ErrorCode::kTimeout) return false;
            if (batch && !batch->events.empty() && batch->events.front().offset == offset) {
              if (auto frame = event::FrameView::open(batch->events.front().frame)) {
                api::ExplainPartition& out = explaining->partitions[at];
                out.event_id = frame->get("id");
                out.event_type = frame->get("type");
                if (const auto event_key = frame->find("partitionkey")) {
                  out.event_key = std::string(event_key->value);
                }
              }
            }
          }
          explaining->finish();
          return true;
        });
  }
  explaining->finish();
}

}  // namespace

void Edge::explain(std::string topic, std::string group, std::optional<std::uint32_t> partition,
                   api::Done<api::ExplainAnswer> done) {
  auto found = require_group(topic, group);
  if (!found) {
    answer_later<api::ExplainAnswer>(std::move(done), fail(found));
    return;
  }
  const TopicPtr of = catalog().topic(topic);
  if (partition && *partition >= of->partitions.size()) {
    answer_later<api::ExplainAnswer>(
        std::move(done),
        fail(ErrorCode::kBadValue, fmt::format("partition {} is out of range", *partition),
             "Name a partition that the topic has.", "partition"));
    return;
  }
  struct Part {
    std::map<std::uint32_t, api::ExplainPartition> partitions;
    std::uint64_t connected = 0;
  };
  const auto members = catalog().subscriptions_of_group(topic, group);
  gather<Part>(
      node_, executor(),
      [of, members, partition, number = (*found)->number](
          ShardUnit& unit, std::move_only_function<void(Part)> answer) {
        auto part = std::make_shared<Part>();
        for (const SessionView& view : unit.sessions->views()) {
          if (!view.connected) continue;
          for (const SubscriptionPtr& one : members) {
            if (one->client_id == view.client_id) ++part->connected;
          }
        }
        using Map = std::map<std::uint32_t, api::ExplainPartition>;
        unit.shard->report<Map>(
            [&unit, of, partition, number] {
              Map all;
              for (std::uint32_t i = 0; i < of->partitions.size(); ++i) {
                if (partition && *partition != i) continue;
                if (!unit.shard->owns(of->partitions[i])) continue;
                all[i] = capture_explain(unit, {number, of->partitions[i]});
              }
              return all;
            },
            [&unit, of, part, answer = std::move(answer)](Map all) mutable {
              add_events(unit, of, std::move(all),
                         [part, answer = std::move(answer)](Map filled) mutable {
                           part->partitions = std::move(filled);
                           answer(std::move(*part));
                         });
            });
      },
      [at = executor().clock().wall(), done = std::move(done)](std::vector<Part> parts) mutable {
        api::ExplainAnswer answer;
        answer.as_of = at;
        for (Part& part : parts) {
          answer.partitions.merge(part.partitions);
          answer.clients += part.connected;
        }
        done(std::move(answer));
      });
}

}  // namespace ackline::runtime

// What can be made again of a delivery store of rows that is damaged or gone.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ackline/base/clock.h"
#include "ackline/base/counted.h"
#include "ackline/cli/row_store.h"
#include "ackline/delivery/delivery_id.h"
#include "ackline/delivery/stored.h"
#include "ackline/event/frame.h"
#include "ackline/io/checkpoint/checkpoint.h"
#include "ackline/io/journal/recovery.h"
#include "ackline/io/kv/rocksdb_key_value.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/partition.h"
#include "ackline/runtime/shard_checkpoint.h"
#include "ackline/state/backend/kv_delivery_state_store.h"
#include "ackline/state/backend/kv_offset_store.h"
#include "ackline/state/dead_letter_store.h"

namespace ackline::cli {
namespace {

constexpr std::uint32_t kReadEvents = 256;
constexpr std::size_t kCommitProgresses = 1000;

// All rows of one shard, to be written.
struct ShardRows {
  Lsn journal;  // contained in them through here
  std::vector<state::DeliveryChange> changes;
};

class Rebuilder {
 public:
  Rebuilder(io::FileSystem& fs, const state::DataDirectory& data, const StoredCatalog& catalog)
      : fs_(fs), data_(data), catalog_(catalog), ids_(data.salt(), data.id_key()) {}

  Result<std::vector<ShardRows>> run() {
    read_frontiers();
    std::vector<ShardRows> all;
    for (std::uint32_t i = 0; i < catalog_.shards; ++i) {
      auto rows = rebuild(ShardIndex(i));
      if (!rows) return fail(rows);
      all.push_back(std::move(*rows));
    }
    return all;
  }
  // What has to be told beside the usual.
  [[nodiscard]] const std::string& notes() const { return notes_; }
  [[nodiscard]] std::uint64_t dead_letters() const { return dead_letters_; }

 private:
  using Logs = std::map<PartitionNumber, std::unique_ptr<log::LocalPartition>>;

  void read_frontiers() {
    auto kv = io::open_rocksdb(fs_, data_.offsets_path());
    auto offsets = kv ? state::open_kv_offset_store(**kv)
                      : Result<std::unique_ptr<state::OffsetStore>>(fail(kv));
    auto records = offsets ? (*offsets)->read_all_offsets("")
                           : Result<std::vector<state::OffsetRecord>>(fail(offsets));
    if (!records) {
      notes_ += " The exported frontiers cannot be read (" + records.error().detail +
                "): groups begin where they first began.";
      return;
    }
    for (const state::OffsetRecord& one : *records) exported_[one.key] = one.value;
  }

  Result<ShardRows> rebuild(ShardIndex shard) {
    ShardRows out;
    Logs logs;
    if (auto done = read_logs(shard, logs, out.journal); !done) return fail(done);
    for (const auto& [name, topic] : catalog_.topics) {
      for (std::uint32_t i = 0; i < topic.partitions.size(); ++i) {
        const PartitionIndex index(i);
        if (runtime::shard_of_partition(name, index, catalog_.shards) != shard) continue;
        const auto dead = read_dead_letters(topic, index, *logs.at(topic.dead_letters[i]));
        const Offset end = logs.at(topic.partitions[i])->next_offset();
        for (const runtime::Group& group : catalog_.groups) {
          if (group.topic != name) continue;
          const auto found = dead.find(group.number);
          out.changes.push_back(progress_of(
              group, topic, index, end,
              found == dead.end() ? std::vector<delivery::DeadLetterAt>() : found->second));
        }
      }
    }
    return out;
  }

  // As a start does, but no file is changed: the rest of the journal stays in memory.
  Result<void> read_logs(ShardIndex shard, Logs& logs, Lsn& last) {
    const std::string path = io::join(io::join(data_.path(), state::kJournalName),
                                      fmt::format("{}-{}", catalog_.shards, shard.value()));
    auto checkpoint = io::read_checkpoint(fs_, path, runtime::kSectionVersion);
    if (!checkpoint) return fail(checkpoint);
    io::RecoverOptions options;
    options.shard = shard;
    catalog_.expect_started(shard, options);
    std::map<PartitionNumber, Lsn> applied;
    std::map<PartitionNumber, std::string> sections;
    if (*checkpoint) {
      options.lowest_needed = (*checkpoint)->info.journal_lowest;
      options.synced_at_least =
          std::max(options.synced_at_least, (*checkpoint)->info.journal_synced);
      for (const io::CheckpointSection& section : (*checkpoint)->sections) {
        ByteReader in(as_bytes(section.body));
        if (in.u8() != runtime::kSectionGood) continue;
        sections[section.partition] = in.blob();
        applied[section.partition] = section.applied;
      }
    }
    log::PartitionOptions in_memory;
    in_memory.flush_bytes = UINT64_MAX;
    for (const PartitionNumber number : catalog_.partitions_of(shard)) {
      const auto section = sections.find(number);
      auto opened = log::LocalPartition::open(
          fs_, log::format::partition_directory(data_.path(), number), number,
          section == sections.end() ? std::nullopt
                                    : std::optional<std::string_view>(section->second),
          cache_, in_memory);
      if (!opened) return fail(opened);
      logs.insert_or_assign(number, std::move(*opened));
    }
    const auto recovered = io::recover_journal(
        fs_, path, options, [](const io::JournalRecovery&) { return Result<void>(); },
        [&](Lsn lsn, const io::JournalRecord& record) -> Result<void> {
          const auto log = logs.find(record.partition);
          if (log == logs.end() || lsn <= applied[record.partition]) return {};
          if (static_cast<state::RecordType>(record.type) == state::RecordType::kLogStart) {
            const auto start = state::LogStartRecord::decode(record.body);
            if (start) log->second->replay_log_start(start->offset);
          } else if (static_cast<state::RecordType>(record.type) == state::RecordType::kPublish) {
            // Of a damaged one what can be read is taken: it is quarantined at the start.
            static_cast<void>(log->second->replay_publish(record.body));
          }
          return {};
        });
    if (!recovered) return fail(recovered);
    last = recovered->last;
    for (auto& [number, log] : logs) log->on_synced(log->next_offset());
    return {};
  }

  // By group; of several records of one key the first counts.
  std::map<ProgressNumber, std::vector<delivery::DeadLetterAt>> read_dead_letters(
      const runtime::Topic& topic, PartitionIndex index, log::LocalPartition& log) {
    std::map<ProgressNumber, std::vector<delivery::DeadLetterAt>> all;
    std::map<ProgressNumber, std::set<std::pair<Offset, Generation>>> seen;
    Offset at = log.log_start();
    while (at < log.synced_end()) {
      auto batch = log.read(at, {.max_events = kReadEvents, .max_bytes = 1U << 20U});
      if (!batch && batch.error().code == ErrorCode::kTimeout) {
        auto job = log.read_job(at);
        job->run();
        if (log.absorb(std::move(job))) continue;
        batch = log.read(at, {.max_events = kReadEvents, .max_bytes = 1U << 20U});
      }
      if (!batch || batch->next <= at) {
        notes_ += fmt::format(
            " Dead letters of {}/{} from offset {} on cannot be read{}: they are not listed any "
            "more, and their events come again.",
            topic.name, index.value(), at.value(),
            batch ? std::string() : " (" + batch.error().detail + ")");
        break;
      }
      for (const log::StoredEvent& event : batch->events) {
        const auto found = dead_letter_of(topic, index, event);
        if (!found ||
            !seen[found->first].emplace(found->second.source, found->second.generation).second) {
          continue;
        }
        all[found->first].push_back(found->second);
        ++dead_letters_;
      }
      at = batch->next;
    }
    return all;
  }

  // Of a group that is there now: one that was deleted and made again has a newer number than the
  // deliveries of the old one, whose dead letters say nothing of its events.
  std::optional<std::pair<ProgressNumber, delivery::DeadLetterAt>> dead_letter_of(
      const runtime::Topic& topic, PartitionIndex index, const log::StoredEvent& event) const {
    const auto frame = event::FrameView::open(event.frame);
    if (!frame) return std::nullopt;
    const auto key = state::DeadLetterKey::parse(frame->get("dlqkey"));
    const auto id = ids_.decode(frame->get("dlqdeliveryid"));
    if (!key || !id || key->topic != topic.name || key->incarnation != topic.incarnation ||
        key->partition != index) {
      return std::nullopt;
    }
    const auto group = std::ranges::find_if(catalog_.groups, [&](const runtime::Group& one) {
      return one.topic == topic.name && one.name == key->group;
    });
    if (group == catalog_.groups.end() || id->progress < group->number) return std::nullopt;
    return std::pair(group->number,
                     delivery::DeadLetterAt{key->offset, key->generation, event.offset});
  }

  state::DeliveryChange progress_of(const runtime::Group& group, const runtime::Topic& topic,
                                    PartitionIndex index, Offset end,
                                    const std::vector<delivery::DeadLetterAt>& dead) const {
    const std::uint32_t i = index.value();
    const Offset start = i < group.start.size() ? group.start[i] : Offset{0};
    delivery::KnownProgress known{.key = {group.number, topic.partitions[i]},
                                  .generation = Generation(1),
                                  .start = start,
                                  .frontier = start.previous(),
                                  .end = end};
    const auto exported = exported_.find({topic.name, group.name, index});
    if (exported != exported_.end() && exported->second.is_of(topic.incarnation, group.number)) {
      known.generation = exported->second.generation;
      known.frontier = exported->second.frontier;
    }
    // A reset or a replay of the last second is not exported yet, but something has died in it:
    // where it began is not known, so from the beginning.
    for (const delivery::DeadLetterAt& one : dead) {
      if (one.generation <= known.generation) continue;
      known.generation = one.generation;
      known.frontier = start.previous();
    }
    return delivery::change_of_known(known, dead);
  }

  io::FileSystem& fs_;
  const state::DataDirectory& data_;
  const StoredCatalog& catalog_;
  delivery::DeliveryIdCodec ids_;
  log::ReadCache cache_;
  std::map<state::OffsetKey, state::OffsetValue> exported_;
  std::string notes_;
  std::uint64_t dead_letters_ = 0;
};

Result<void> write_rows(io::FileSystem& fs, const std::string& path, const StoredCatalog& catalog,
                        const std::vector<ShardRows>& shards) {
  auto kv = io::open_rocksdb(fs, path);
  if (!kv) return fail(kv);
  const SystemClock clock;
  for (std::uint32_t i = 0; i < shards.size(); ++i) {
    state::KvDeliveryOptions options;
    options.shards = catalog.shards;
    options.shard = ShardIndex(i);
    options.partitions = catalog.partitions_of(ShardIndex(i));
    options.cache_entries = SIZE_MAX;
    auto store = state::KvDeliveryStateStore::open(**kv, clock, std::move(options));
    if (!store) return fail(store);
    std::size_t waiting = 0;
    for (const state::DeliveryChange& change : shards[i].changes) {
      if (auto done = (*store)->apply(change); !done) return done;
      if (++waiting % kCommitProgresses != 0) continue;
      if (auto done = (*store)->commit(false); !done) return done;
    }
    (*store)->set_journal(shards[i].journal);
    (*store)->mark_alive();
    if (auto done = (*store)->commit(true); !done) return done;
  }
  return {};
}

// The old one lies in the backup by then. A crash in between leaves no store, which is damage of
// the same kind.
Result<void> replace_store(io::FileSystem& fs, const std::string& path,
                           const StoredCatalog& catalog, const std::vector<ShardRows>& shards) {
  const std::string next = path + ".new";
  if (auto done = fs.remove_all(next); !done) return done;
  if (auto done = write_rows(fs, next, catalog, shards); !done) return done;
  if (auto done = fs.remove_all(path); !done) return done;
  if (auto done = fs.rename(next, path); !done) return done;
  return fs.sync_directory(io::parent_of(path));
}

}  // namespace

RowStoreRepair plan_row_store_repair(io::FileSystem& fs, const state::DataDirectory& data) {
  const std::string path = data.deliveries_path();
  const auto catalog = read_stored_catalog(fs, data.meta_path());
  const auto there = fs.exists(path);
  if (!catalog || !there || catalog->shards == 0) return {};  // told by others
  if (!catalog->rows && !*there) return {};
  const Result<Rows> rows = read_rows(path, *catalog);
  if (rows) return {};
  RepairStep step{.where = path, .what = {}, .of = {}, .change = {}};
  if (*there) step.of.push_back(path);
  if (!catalog->rows) {
    step.what = "A delivery store that is not used any more cannot be read (" +
                rows.error().detail + "): it is taken away. Nothing is lost.";
    step.change = [&fs, path] { return fs.remove_all(path); };
    return {.step = std::move(step), .without = {}};
  }
  Rebuilder rebuilder(fs, data, *catalog);
  auto made = rebuilder.run();
  if (!made) {
    return {.step = {},
            .without = NoRepair{path,
                                "It cannot be made again, since checkpoint or journal cannot "
                                "be read: " +
                                    made.error().detail +
                                    ". Mend those first, or restore the data directory from "
                                    "a backup."}};
  }
  step.what = fmt::format(
      "The delivery store is {} ({}): it is made again from the exported frontiers and the "
      "dead-letter log. Each group goes on behind its frontier: what it had settled past it and "
      "what was in flight comes again, as a first attempt. {} stay dead; which of them were "
      "redriven "
      "or purged is forgotten. Lanes that were under way begin anew. A reset or "
      "replay of the last second may be forgotten.{}",
      *there ? "damaged" : "missing", rows.error().detail,
      counted(rebuilder.dead_letters(), "dead letter"), rebuilder.notes());
  step.change = [&fs, path, catalog = *catalog, shards = std::move(*made)] {
    return replace_store(fs, path, catalog, shards);
  };
  return {.step = std::move(step), .without = {}};
}

}  // namespace ackline::cli

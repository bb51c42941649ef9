// What a repair would do: looks at everything, changes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "ackline/base/clock.h"
#include "ackline/base/random.h"
#include "ackline/cli/data_repair.h"
#include "ackline/cli/repaired_checkpoint.h"
#include "ackline/cli/row_store.h"
#include "ackline/cli/shard_place.h"
#include "ackline/io/checkpoint/checkpoint.h"
#include "ackline/io/journal/recovery.h"
#include "ackline/io/kv/rocksdb_key_value.h"
#include "ackline/log/local/doctor.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/records.h"
#include "ackline/meta/local/local_meta_store.h"
#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/shard_checkpoint.h"
#include "ackline/state/records.h"

namespace ackline::cli {
namespace {

// Publishes of one partition that a start will replay, by the segment they go to.
using Replayed = std::map<Offset, Offset>;  // segment -> next offset

}  // namespace

class RepairPlanner {
 public:
  explicit RepairPlanner(RepairPlan& plan) : plan_(plan), fs_(*plan.fs_) {}

  void run() {
    read_meta();
    look_at_offsets();
    look_at_rows();
    look_at_shards();
    look_at_directories();
  }

 private:
  void without(std::string where, std::string why) {
    plan_.without_.push_back({std::move(where), std::move(why)});
  }
  void take_away(std::string where, std::string what, const std::string& path) {
    plan_.steps_.push_back({.where = std::move(where),
                            .what = std::move(what),
                            .of = {path},
                            .change = [fs = &fs_, path] { return fs->remove_all(path); }});
  }

  void read_meta() {
    const std::string path = plan_.data_.meta_path();
    auto kv = io::open_rocksdb(fs_, path);
    const SystemClock clock;
    auto meta = kv ? meta::open_local_meta_store(**kv, clock)
                   : Result<std::unique_ptr<meta::MetaStore>>(fail(kv));
    auto topics = meta ? (*meta)->get_with_prefix(runtime::kTopicsPrefix)
                       : Result<meta::PrefixRead>(fail(meta));
    if (!topics) {
      without(path, "Topics, groups and policies are nowhere else: " + topics.error().detail +
                        ". Restore the data directory from a backup.");
      return;
    }
    if (const auto shards = (*meta)->get(runtime::kShardsKey); shards && *shards) {
      const std::string& text = (*shards)->value;
      std::uint32_t count = 0;
      static_cast<void>(std::from_chars(text.data(), text.data() + text.size(), count));
      if (count > 0) shards_ = count;
    }
    meta_read_ = true;
    for (const meta::Entry& entry : topics->entries) {
      const auto topic = runtime::decode_topic(entry.value);
      if (!topic) {
        meta_read_ = false;
        without(entry.key, "A topic's record is nowhere else: " + topic.error().detail +
                               ". Restore the data directory from a backup.");
        continue;
      }
      for (std::size_t i = 0; i < topic->partitions.size(); ++i) {
        names_[topic->partitions[i]] = fmt::format("{}/{}", topic->name, i);
        names_[topic->dead_letters[i]] = fmt::format("{}_DLQ/{}", topic->name, i);
      }
    }
  }

  void look_at_offsets() {
    const std::string path = plan_.data_.offsets_path();
    const auto there = fs_.exists(path);
    if (!there || !*there) return;
    auto kv = io::open_rocksdb(fs_, path);
    const Result<void> read =
        kv ? (*kv)->scan("", "", [](std::string_view, std::string_view) { return true; })
           : Result<void>(fail(kv));
    if (read) return;
    kv = fail(ErrorCode::kUnavailable, "closed");
    take_away(path,
              "The store of exported frontiers cannot be read (" + read.error().detail +
                  "): it is taken away, and the next start makes it again from the journals. "
                  "Nothing is lost.",
              path);
  }

  void look_at_rows() {
    RowStoreRepair repair = plan_row_store_repair(fs_, plan_.data_);
    if (repair.step) plan_.steps_.push_back(std::move(*repair.step));
    if (repair.without) plan_.without_.push_back(std::move(*repair.without));
  }

  void look_at_shards() {
    const std::string journal = io::join(plan_.path_, state::kJournalName);
    const auto names = fs_.list(journal);
    if (!names) return;
    std::set<std::uint32_t> seen;
    for (const std::string& name : *names) {
      const auto place = shard_place(journal, name);
      if (!place || (shards_ && place->count != *shards_)) continue;  // a start takes care of it
      seen.insert(place->index);
      look_at_shard(*place);
    }
    for (std::uint32_t i = 0; shards_ && i < *shards_ && !names_.empty(); ++i) {
      if (seen.contains(i)) continue;
      without(fmt::format("{}/{}-{}", journal, *shards_, i),
              "The progress and the newest events of this shard were in its journal and are "
              "nowhere else. Restore the data directory from a backup.");
    }
  }

  void look_at_shard(const ShardPlace& place) {
    auto read = io::read_checkpoint(fs_, place.path, runtime::kSectionVersion);
    io::RecoverOptions options;
    options.shard = ShardIndex(place.index);
    if (!read) {
      lost_checkpoint(place, options, read.error());
      return;
    }
    if (*read) {
      options.lowest_needed = (*read)->info.journal_lowest;
      options.synced_at_least = (*read)->info.journal_synced;
    }
    std::map<PartitionNumber, Replayed> replayed;
    const auto recovered = recover(place, options, replayed);
    if (!recovered) {
      without(place.path, "The journal cannot be read: " + recovered.error().detail +
                              ". Restore the data directory from a backup.");
      return;
    }
    if (!recovered->damage.empty()) {
      without(place.path,
              "Batches of the journal are lost, and with them events and settles that nothing else "
              "has; the partitions that they named stay quarantined. Restore the data directory "
              "from a backup, or delete those topics.");
    }
    // Without a checkpoint all is in the journal, and a start fills the segments again from it.
    if (*read) look_at_sections(place, std::move(**read), *recovered, replayed);
  }

  Result<io::JournalRecovery> recover(const ShardPlace& place, const io::RecoverOptions& options,
                                      std::map<PartitionNumber, Replayed>& replayed) {
    return io::recover_journal(
        fs_, place.path, options, [](const io::JournalRecovery&) { return Result<void>(); },
        [&](Lsn, const io::JournalRecord& record) -> Result<void> {
          if (static_cast<state::RecordType>(record.type) != state::RecordType::kPublish) return {};
          const auto publish = log::decode_publish(record.body);
          if (publish) {
            Offset& next = replayed[record.partition][publish->segment];
            next = std::max(next, publish->base.plus(publish->events));
          }
          return {};
        });
  }

  // Neither copy of the manifest can be read. A journal that was never cut has everything.
  void lost_checkpoint(const ShardPlace& place, const io::RecoverOptions& options,
                       const Error& error) {
    std::map<PartitionNumber, Replayed> replayed;
    const auto recovered = recover(place, options, replayed);
    const bool whole = recovered && recovered->damage.empty() && !recovered->files.empty() &&
                       recovered->files.front().first == Lsn(1);
    if (error.code != ErrorCode::kCorrupt || !whole) {
      without(place.path, "The checkpoint cannot be read (" + error.detail +
                              ") and the journal does not reach back to its beginning. Restore the "
                              "data directory from a backup.");
      return;
    }
    RepairStep step{.where = place.path,
                    .what = "The checkpoint cannot be read (" + error.detail +
                            "), but the journal is whole from its beginning: the checkpoint is "
                            "taken away, and the next start replays all of it. Nothing is lost.",
                    .of = {},
                    .change = {}};
    const auto names = fs_.list(place.path);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
      if (name.starts_with("MANIFEST") || name.starts_with("checkpoint-")) {
        step.of.push_back(io::join(place.path, name));
      }
    }
    step.change = [fs = &fs_, files = step.of, path = place.path]() -> Result<void> {
      for (const std::string& file : files) {
        if (auto done = fs->remove(file); !done) return done;
      }
      return fs->sync_directory(path);
    };
    plan_.steps_.push_back(std::move(step));
  }

  void look_at_sections(const ShardPlace& place, io::Checkpoint read,
                        const io::JournalRecovery& recovered,
                        const std::map<PartitionNumber, Replayed>& replayed) {
    if (read.unnamed_damage) {
      without(io::join(place.path, read.file),
              "Sections of the checkpoint are lost and cannot be named, so nobody can say whose "
              "progress they were. Restore the data directory from a backup.");
      return;
    }
    for (const io::DamagedSection& damaged : read.damaged) {
      without(name_of(damaged.partition),
              "The progress of its groups was in a section of the checkpoint that cannot be read, "
              "and nowhere else. Restore the data directory from a backup, or delete the topic.");
    }
    std::vector<RepairStep> steps;
    RepairedCheckpoint next{.read = std::move(read), .changed = {}};
    for (const io::CheckpointSection& section : next.read.sections) {
      if (section.partition == PartitionNumber{0} || !names_.contains(section.partition)) continue;
      if (recovered.is_damaged(section.partition)) continue;  // said already
      const auto found = replayed.find(section.partition);
      look_at_partition(section, found == replayed.end() ? Replayed{} : found->second, next, steps);
    }
    if (next.changed.empty()) return;
    const std::string file = io::join(place.path, next.read.file);
    const std::string manifest = io::join(place.path, "MANIFEST");
    // The checkpoint first: a crash in between leaves files that nobody asks for.
    plan_.steps_.push_back(
        {.where = place.path,
         .what = fmt::format("A new checkpoint, as told below for {} partitions; the rest of it "
                             "stays.",
                             next.changed.size()),
         .of = {manifest, file},
         .change = [fs = &fs_, path = place.path, next] {
           return write_checkpoint(*fs, path, next);
         }});
    std::ranges::move(steps, std::back_inserter(plan_.steps_));
  }

  void look_at_partition(const io::CheckpointSection& section, const Replayed& replayed,
                         RepairedCheckpoint& next, std::vector<RepairStep>& steps) {
    const PartitionNumber number = section.partition;
    ByteReader in(as_bytes(section.body));
    const bool quarantined = in.u8() == runtime::kSectionQuarantined;
    const std::string why(quarantined ? in.blob() : std::string_view());
    ByteReader inner(as_bytes(quarantined ? in.blob() : std::string_view(section.body)));
    inner.u8();
    const auto good = runtime::read_good_section(inner);
    const std::string log_bytes(good ? good->log : std::string_view());
    auto log = log::decode_section(log_bytes);
    if (!in.ok() || !good || !log) {
      without(name_of(number), "It is quarantined (" + why +
                                   ") and its last good checkpoint is not there. Restore the data "
                                   "directory from a backup, or delete the topic.");
      return;
    }
    const std::string directory = directory_of(number);
    // Not merely damaged: perhaps on a disk that is not there now.
    if (const auto there = fs_.exists(directory); !log->segments.empty() && there && !*there) {
      without(
          directory,
          "The whole directory is missing. Put it back, or delete the topic: a repair would give "
          "up all that may be there.");
      return;
    }
    const auto report = log::examine_partition(fs_, directory, number, log_bytes);
    if (!report) {
      without(directory, report.error().detail);
      return;
    }
    std::optional<Offset> worst;  // base of the last segment that is damaged
    std::string what;
    for (const log::Problem& problem : report->problems) {
      if (problem.mend != log::Mend::kGiveUp || problem.severity != log::Severity::kDamage)
        continue;
      worst = std::max(worst.value_or(problem.segment), problem.segment);
      what += fmt::format(" {} at byte {}: {}", problem.file, problem.position, problem.what);
    }
    for (const log::Problem& problem : report->problems) {
      if (problem.mend != log::Mend::kRemoveFile) continue;
      const std::string name = problem.mend_file.substr(problem.mend_file.rfind('/') + 1);
      const auto index = log::format::parse_index_name(name);
      if (worst && index && *index <= *worst) continue;  // goes with its segment
      take_away(problem.mend_file, problem.what + " It is taken away. Nothing is lost.",
                problem.mend_file);
    }
    if (!worst && !quarantined) return;
    RepairStep step{.where = name_of(number), .what = {}, .of = {}, .change = {}};
    if (worst) {
      give_up(number, *log, *worst, replayed, step);
      step.what += what;
    } else {
      step.what = "It was quarantined (" + why +
                  "), but its files are whole now: it is released. Nothing is lost.";
    }
    next.changed[number] = runtime::good_section(
        {log::encode_section(*log), good->deliveries, good->deliveries_applied});
    steps.push_back(std::move(step));
  }

  // The log begins behind the damage: at the next segment that is whole, else where it ended.
  void give_up(PartitionNumber number, log::Section& log, Offset worst, const Replayed& replayed,
               RepairStep& step) {
    const Offset old_start = log.log_start;
    std::erase_if(log.segments, [&](const log::SectionSegment& one) {
      const bool gone = one.facts.base <= worst;
      if (gone) {
        const std::string directory = directory_of(number);
        for (const std::string& name :
             {log::format::segment_name(one.facts.base), log::format::index_name(one.facts.base)}) {
          const std::string path = io::join(directory, name);
          if (const auto there = fs_.exists(path); there && *there) step.of.push_back(path);
        }
      }
      return gone;
    });
    Offset start = log.next;
    if (!log.segments.empty()) {
      start = log.segments.front().facts.base;
    } else if (const auto later = replayed.upper_bound(worst); later != replayed.end()) {
      start = later->first;  // the journal has the segments behind it whole
    } else if (const auto same = replayed.find(worst); same != replayed.end()) {
      start = std::max(start, same->second);
    }
    step.change = [fs = &fs_, files = step.of]() -> Result<void> {
      for (const std::string& file : files) {
        if (auto done = fs->remove(file); !done) return done;
      }
      return {};
    };
    log.log_start = start;
    log.next = std::max(log.next, start);
    step.lost = start.value() - old_start.value();
    step.what = fmt::format(
        "The events from offset {} to {} ({} offsets) are given up, the good ones among them too; "
        "offset {} is the new log start. Groups that had not passed them count them as gone.",
        old_start.value(), start.value() - 1, step.lost, start.value());
  }

  void look_at_directories() {
    const std::string log = plan_.data_.log_path();
    const auto names = fs_.list(log);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
      std::uint32_t number = 0;
      const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
      const bool ours = read.ec == std::errc() && read.ptr == name.data() + name.size();
      if (!ours || !meta_read_ || names_.contains(PartitionNumber(number))) continue;
      const std::string path = io::join(log, name);
      take_away(path, "It is of a topic that was deleted: taken away. Nothing is lost.", path);
    }
  }

  [[nodiscard]] std::string directory_of(PartitionNumber number) const {
    return log::format::partition_directory(plan_.path_, number);
  }
  [[nodiscard]] std::string name_of(PartitionNumber number) const {
    const auto found = names_.find(number);
    return found == names_.end() ? fmt::format("partition number {}", number.value())
                                 : fmt::format("{} (number {})", found->second, number.value());
  }

  RepairPlan& plan_;
  io::FileSystem& fs_;
  bool meta_read_ = false;
  std::optional<std::uint32_t> shards_;
  std::map<PartitionNumber, std::string> names_;
};

Result<RepairPlan> RepairPlan::make(io::FileSystem& fs, const std::string& path) {
  const auto format = fs.exists(io::join(path, state::kFormatName));
  if (!format) return fail(format);
  if (!*format) {
    return fail(
        ErrorCode::kNotFound, path + " has no file that says its format",
        "Name the right directory with --data, or restore the file `format` from a backup.");
  }
  auto data = state::DataDirectory::open(fs, path, {entropy_seed});
  if (!data) return fail(data);
  RepairPlan plan(fs, path, std::move(*data));
  RepairPlanner(plan).run();
  return plan;
}

}  // namespace ackline::cli

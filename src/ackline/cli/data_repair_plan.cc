// What a repair would do: looks at everything, changes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "ackline/base/random.h"
#include "ackline/cli/data_repair.h"
#include "ackline/cli/log_starts.h"
#include "ackline/cli/repaired_checkpoint.h"
#include "ackline/cli/row_store.h"
#include "ackline/cli/shard_place.h"
#include "ackline/cli/stored_catalog.h"
#include "ackline/io/checkpoint/checkpoint.h"
#include "ackline/io/journal/recovery.h"
#include "ackline/io/kv/rocksdb_key_value.h"
#include "ackline/log/local/doctor.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/records.h"
#include "ackline/runtime/data_parts.h"
#include "ackline/runtime/shard_checkpoint.h"
#include "ackline/state/records.h"
#include "ackline/state/store_factory.h"

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
    const auto made = state::meta_is_made(fs_, plan_.data_);
    if (made && !*made) return;  // no server has started here
    auto catalog = made ? read_stored_catalog(fs_, path) : Result<StoredCatalog>(fail(made));
    if (!catalog) {
      without(path, "Topics, groups and policies are nowhere else: " + catalog.error().detail +
                        ". " + std::string(state::kMetaRemedy));
      return;
    }
    catalog_ = std::move(*catalog);
    meta_read_ = true;
    names_ = catalog_.partition_names();
    const auto missing = runtime::missing_parts(fs_, plan_.path_, catalog_.parts());
    if (!missing) without(plan_.path_, missing.error().detail);
    if (!missing) return;
    for (const runtime::MissingPart& one : *missing) {
      without(one.path, one.why.detail + ". " + one.why.remedy);
    }
  }

  void look_at_offsets() {
    const std::string path = plan_.data_.offsets_path();
    const auto there = io::rocksdb_is_made(fs_, path);
    if (there && !*there) return;
    auto kv =
        there ? io::open_rocksdb(fs_, path) : Result<std::unique_ptr<io::KeyValue>>(fail(there));
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
    for (const std::string& name : *names) {
      const auto place = shard_place(journal, name);
      if (!place) continue;
      // A start takes care of it.
      if (catalog_.shards > 0 && place->count != catalog_.shards) continue;
      look_at_shard(*place);
    }
  }

  void look_at_shard(const ShardPlace& place) {
    auto read = io::read_checkpoint(fs_, place.path, runtime::kSectionVersion);
    io::RecoverOptions options;
    options.shard = ShardIndex(place.index);
    catalog_.expect_started(options.shard, options);
    if (!read) {
      lost_checkpoint(place, options, read.error());
      return;
    }
    if (*read) {
      options.lowest_needed = (*read)->info.journal_lowest;
      options.synced_at_least = std::max(options.synced_at_least, (*read)->info.journal_synced);
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
          const auto type = static_cast<state::RecordType>(record.type);
          log_starts_.note(record);
          if (type != state::RecordType::kPublish) return {};
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
    const auto report =
        log::examine_partition(fs_, directory, number, log_bytes, log_starts_.of(number));
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
    const Offset old_start = std::max(log.log_start, log_starts_.of(number));
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
    step.lost = std::max<std::int64_t>(0, start.value() - old_start.value());
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
      if (!ours || names_.contains(PartitionNumber(number))) continue;
      const std::string path = io::join(log, name);
      if (!meta_read_) {
        without(path, "Whose it is cannot be said without meta: it stays.");
        continue;
      }
      if (number >= catalog_.numbers.partition) continue;  // told already
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
  StoredCatalog catalog_;  // when `meta_read_`
  std::map<PartitionNumber, std::string> names_;
  LogStarts log_starts_;
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

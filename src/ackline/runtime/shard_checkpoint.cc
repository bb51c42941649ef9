// Behind the hot path: checkpoints (J8), the export of frontiers, and the orderly stop.
#include "ackline/runtime/shard_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/logging.h"
#include "ackline/base/metric_names.h"
#include "ackline/base/storage_lanes.h"
#include "ackline/io/failpoint.h"
#include "ackline/log/local/records.h"

namespace ackline::runtime {

std::optional<GoodSection> read_good_section(ByteReader& in) {
  GoodSection section;
  section.log = in.blob();
  section.deliveries = in.blob();
  if (in.ok() && !in.empty()) section.deliveries_applied = Lsn(in.u64());
  return in.ok() && in.empty() ? std::optional(section) : std::nullopt;
}

std::string good_section(const GoodSection& section) {
  std::string body;
  ByteWriter out(body);
  out.u8(kSectionGood);
  out.blob(section.log);
  out.blob(section.deliveries);
  if (section.deliveries_applied) out.u64(section.deliveries_applied->value());
  return body;
}

void remove_files(log::LocalPartition& log) {
  if (auto done = log.destroy(); !done) {
    log_warn("files of a deleted topic could not be removed",
             {{"partition", log.number()}, {"error", done.error().detail}});
  }
}

Result<void> Shard::gather_sections(CheckpointJob& job, Lsn applied, bool carry) {
  job.applied = applied;
  job.info.shard = options_.index;
  job.info.shard_count = options_.shards;
  job.info.data_version = kSectionVersion;
  job.info.created = wall();
  std::string deliveries;
  for (auto& [number, partition] : partitions_) {
    if (partition.log->damage()) {
      if (auto done = carry_last(job, number, partition); !done) return done;
      continue;
    }
    auto prepared = partition.log->prepare_checkpoint();
    if (!prepared && carry && prepared.error().code != ErrorCode::kFull) {
      log_warn("files of a partition cannot be written; the checkpoint goes on without it",
               {{"topic", partition.topic->name},
                {"partition", partition.index},
                {"error", prepared.error().detail}});
      if (auto done = carry_last(job, number, partition); !done) return done;
      continue;
    }
    if (!prepared) return fail(prepared);
    deliveries.clear();
    if (!rows_only_) dispatcher_->snapshot(number, now(), deliveries);
    job.sections.push_back(
        {number, applied, good_section({prepared->section, deliveries, std::nullopt})});
    job.files.push_back({number, std::move(*prepared), std::nullopt});
  }
  return {};
}

// What the files hold of it is not to be trusted, or could not be written: the log's part of its
// last section goes on, with the lsn that it was taken at, so that the journal is kept from there.
// Of damage that makes evidence; what could not be synced or written is refilled at the next start
// (decision 0010). Its deliveries are as good as the others', and of the same moment: a replay has
// one clock and one process to begin with.
Result<void> Shard::carry_last(CheckpointJob& job, PartitionNumber number,
                               const Partition& partition) {
  if (!job.last) {
    auto read = io::read_checkpoint(deps_.fs, options_.journal_path);
    if (!read) return fail(read);
    job.last = std::move(*read);
  }
  const auto& damage = partition.log->damage();
  const bool evidence = damage && damage->code != ErrorCode::kPoisoned;
  const io::CheckpointSection* last = nullptr;
  if (*job.last) {
    const auto& sections = (*job.last)->sections;
    const auto found = std::ranges::find(sections, number, &io::CheckpointSection::partition);
    if (found != sections.end()) last = &*found;
  }
  CheckpointJob::Section section{number, job.applied, {}};
  if (last != nullptr) section.applied = last->applied;
  const bool quarantined = last != nullptr && !last->body.empty() &&
                           static_cast<std::uint8_t>(last->body[0]) == kSectionQuarantined;
  if (quarantined) {
    section.body = last->body;
  } else if (evidence) {
    ByteWriter out(section.body);
    out.u8(kSectionQuarantined);
    out.blob(damage->detail);
    out.blob(last != nullptr ? last->body : std::string());
  } else {
    // No checkpoint has it yet: all of it is in the journal, behind what the last one cut.
    std::string log = log::encode_section({});
    if (last != nullptr) {
      ByteReader in(as_bytes(last->body));
      static_cast<void>(in.u8());
      log = in.blob();
    } else {
      section.applied = *job.last ? Lsn((*job.last)->info.journal_lowest.value() - 1) : Lsn{0};
    }
    std::string deliveries;
    if (!rows_only_) dispatcher_->snapshot(number, now(), deliveries);
    section.body = good_section({log, deliveries, job.applied});
  }
  job.sections.push_back(std::move(section));
  return {};
}

Result<void> Shard::CheckpointJob::write(io::FileSystem& fs, const std::string& directory) {
  for (Files& one : files) {
    for (auto& file : one.files.files) {
      io::failpoint(io::Failpoint::kCheckpointSegmentSyncBefore);
      if (auto done = file->sync(); !done && !one.failed) one.failed = done.error();
    }
    for (const std::string& made_in : one.files.directories) {
      if (auto done = fs.sync_directory(made_in); !done && !one.failed) one.failed = done.error();
      io::failpoint(io::Failpoint::kCheckpointDirectorySynced);
    }
    if (one.failed) return std::unexpected(*one.failed);
  }
  io::failpoint(io::Failpoint::kCheckpointSegmentsSynced);
  auto begun = io::CheckpointWriter::begin(fs, directory, info);
  if (!begun) return fail(begun);
  for (const Section& section : sections) {
    if (auto done = (*begun)->add(section.partition, section.applied, as_bytes(section.body));
        !done) {
      return done;
    }
  }
  auto finished = (*begun)->finish(applied);
  if (!finished) return fail(finished);
  info = *finished;
  writer = std::move(*begun);
  return {};
}

// Taken between two batches: the state in memory is that of the last written batch.
void Shard::capture_checkpoint() {
  if (checkpoint_ != nullptr || !journal_->open_is_empty() || poison() != nullptr) return;
  checkpoint_wanted_ = false;
  if (partitions_.empty()) {
    // The last one says whose process the journal's records are of; this one could not.
    checkpoint_not_before_ = now().plus(options_.checkpoint_interval_ms);
    due_.checkpoint = checkpoint_not_before_;
    if (stopping_) finish_stop();
    return;
  }
  auto job = std::make_unique<CheckpointJob>();
  if (auto done = gather_sections(*job, journal_->written(), true); !done) {
    log_warn("a checkpoint could not be prepared; it is tried again",
             {{"shard", options_.index}, {"error", done.error().detail}});
    checkpoint_not_before_ = now().plus(options_.checkpoint_interval_ms);
    due_.checkpoint = checkpoint_not_before_;
    if (stopping_) finish_stop();
    return;
  }
  io::failpoint(io::Failpoint::kCheckpointCaptured);
  job->rows = here().rows;
  checkpoint_ = std::move(job);
  auto outcome = std::make_shared<Result<void>>();
  deps_.storage.run(
      storage_lane::checkpoint(options_.index),
      [this, outcome, work = checkpoint_.get()] {
        *outcome = work->write(deps_.fs, options_.journal_path);
      },
      deps_.executor,
      [this, outcome] {
        if (!*outcome) {
          end_checkpoint(*outcome);
          return;
        }
        checkpoint_->written = true;
        publish_checkpoint();
      });
}

// The manifest is replaced only when the journal is synced through what the sections hold.
void Shard::publish_checkpoint() {
  if (!checkpoint_->written || checkpoint_->publishing) return;
  if (const Error* why = poison()) {
    end_checkpoint(std::unexpected(*why));
    return;
  }
  if (!reached({checkpoint_->applied, checkpoint_->rows})) {
    want_synced();
    return;  // on_synced comes back here, or the rows do
  }
  checkpoint_->publishing = true;
  auto outcome = std::make_shared<Result<void>>();
  deps_.storage.run(
      storage_lane::checkpoint(options_.index),
      [outcome, work = checkpoint_.get(), synced = journal_->synced()] {
        *outcome = work->writer->publish(synced);
      },
      deps_.executor, [this, outcome] { end_checkpoint(*outcome); });
}

void Shard::end_checkpoint(const Result<void>& outcome) {
  const std::unique_ptr<CheckpointJob> job = std::move(checkpoint_);
  for (const auto& log : job->removed) remove_files(*log);
  for (const CheckpointJob::Files& one : job->files) {
    const auto found = partitions_.find(one.partition);
    if (found == partitions_.end()) continue;
    if (one.failed) {
      found->second.log->checkpoint_failed(*one.failed);
      // Nobody may read it, and so meet it, for a long time.
      quarantine(one.partition, found->second.log->damage()->detail);
    } else if (outcome) {
      found->second.log->checkpoint_synced();
    }
  }
  if (outcome) {
    last_checkpoint_bytes_ = job->writer->bytes_written();
    io::failpoint(io::Failpoint::kCutBefore);
    journal_->recycle_below(job->info.journal_lowest);
    io::failpoint(io::Failpoint::kCutAfter);
    journaled_floor_ = journal_->journaled_bytes();
  } else {
    log_warn("a checkpoint failed; the journal is kept and it is tried again",
             {{"shard", options_.index}, {"error", outcome.error().detail}});
    checkpoint_not_before_ = now().plus(options_.checkpoint_interval_ms);
    due_.checkpoint = checkpoint_not_before_;
  }
  if (stopping_) {
    finish_stop();
  } else {
    arm();
  }
}

Result<void> Shard::checkpoint_now() {
  for (const auto& [number, partition] : partitions_) {
    if (!partition.log->damage()) continue;
    // Its evidence is in the old layout's journal, which would be removed.
    return fail(ErrorCode::kQuarantined,
                fmt::format("the number of shards cannot change while partition {} of {} is "
                            "quarantined",
                            partition.index.value(), partition.topic->name),
                "Set server.shards back, run ackline doctor, and change it afterwards.",
                "server.shards");
  }
  return checkpoint_through(kMovedLsn, kMovedLsn);
}

io::JournalRecovery moved_journal() {
  io::JournalRecovery nothing;
  nothing.last = nothing.synced = kMovedLsn;
  return nothing;
}

// Blocking. `applied`: the journal's records that the sections hold.
Result<void> Shard::checkpoint_through(Lsn applied, Lsn synced) {
  CheckpointJob job;
  if (auto done = gather_sections(job, applied, false); !done) return done;
  if (auto done = job.write(deps_.fs, options_.journal_path); !done) return done;
  if (auto done = job.writer->publish(synced); !done) return done;
  for (auto& [number, partition] : partitions_) {
    if (!partition.log->damage()) partition.log->checkpoint_synced();
  }
  last_checkpoint_bytes_ = job.writer->bytes_written();
  return {};
}

// Synced frontiers go to the OffsetStore once a second while something moves (J5: captured with
// this round, written after its sync).
void Shard::export_offsets() {
  // Where nothing moved nothing is told: asking would want a sync for alive marks.
  if (exporting_ || !unexported_ || poison() != nullptr) return;
  exporting_ = true;
  unexported_ = false;
  using Records = std::vector<state::OffsetRecord>;
  report<Records>(
      [this] {
        Records records;
        for (const delivery::ProgressKey& key : dispatcher_->keys()) {
          const GroupPtr group = catalog_.group(key.progress);
          const auto place = catalog_.place(key.partition);
          const auto progress = dispatcher_->progress(key);
          if (!group || !place || !progress) continue;
          const state::OffsetValue value{place->topic->incarnation, group->number,
                                         progress->generation, progress->frontier};
          auto& last = exported_[key];
          if (last.first == value) continue;
          last = {value, std::nullopt};
          records.push_back({{group->topic, group->name, place->index}, value});
        }
        return records;
      },
      [this](Result<Records> records) {
        if (!records || records->empty()) {
          if (!records) {
            exported_.clear();
            unexported_ = true;
          }
          exporting_ = false;
          return;
        }
        auto moved = std::make_shared<Result<std::size_t>>(0);
        auto batch = std::make_shared<Records>(std::move(*records));
        deps_.storage.run(
            storage_lane::offsets(),
            [this, moved, batch] { *moved = deps_.offsets.write_offsets(*batch); }, deps_.executor,
            [this, moved] {
              exporting_ = false;
              const auto change = exports_.note(moved->has_value());
              if (change == Repeated::Change::kWorksAgain) {
                log_info("frontiers are exported again", {{"shard", options_.index}});
              }
              if (*moved) {
                for (auto& [key, last] : exported_) {
                  if (!last.second) last.second = wall();
                }
                return;
              }
              deps_.metrics.counter(metric::kOffsetWriteFailures)->add();
              exported_.clear();  // all of it again next time
              unexported_ = true;
              if (change != Repeated::Change::kBroke) return;
              log_warn("frontiers could not be exported to the offset store; it is tried again",
                       {{"shard", options_.index}, {"error", moved->error().detail}});
            });
      });
}

std::optional<WallMs> Shard::exported_at(delivery::ProgressKey key,
                                         const state::OffsetValue& value) const {
  const auto last = exported_.find(key);
  if (last == exported_.end() || last->second.first != value) return std::nullopt;
  return last->second.second;
}

void Shard::flush_tails() {
  for (auto& [number, partition] : partitions_) {
    if (partition.log->damage()) continue;
    if (auto done = partition.log->flush_tail(); !done) {
      log_warn("a partition's tail could not be written; it stays in memory",
               {{"partition", number}, {"error", done.error().detail}});
    }
  }
}

// Commit, checkpoint, export; a start after it replays nothing.
void Shard::stop(std::move_only_function<void()> done) {
  stopping_ = true;
  stopped_ = std::move(done);
  dispatcher_->set_paused(true);
  if (poison() != nullptr || write_error_) {
    finish_stop();
    return;
  }
  export_offsets();
  checkpoint_wanted_ = true;
  schedule_turn();
}

void Shard::finish_stop() {
  if (stopped_ == nullptr) return;
  if (rows_ && rows_->poison() == nullptr && !rows_failed_ && rows_->synced() < rows_->applied()) {
    rows_->want_synced();
    return;  // comes back when they are
  }
  io::failpoint(io::Failpoint::kStopCheckpointed);
  started_ = false;
  if (timer_ != 0) deps_.executor.cancel(timer_);
  timer_ = 0;
  auto done = std::move(stopped_);
  stopped_ = nullptr;
  done();
}

}  // namespace ackline::runtime

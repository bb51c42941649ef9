#include "ackline/io/journal/journal_files.h"

#include <algorithm>

#include "ackline/base/check.h"
#include "ackline/base/storage_lanes.h"
#include "ackline/io/failpoint.h"
#include "ackline/io/journal/file_names.h"

namespace ackline::io::journal {
namespace {

// A sync of the journal waits for what the disk is busy with: a file is filled in steps that keep
// it waiting for a fraction of a millisecond, not for all of the file.
constexpr std::size_t kFillBytes = std::size_t{256} << 10;
constexpr std::uint64_t kMilestoneBytes = std::uint64_t{64} * 1024;

// The last step is synced by who named the file or wrote into it.
Result<void> fill_with_zeros(File& file, std::uint64_t size) {
  if (auto done = file.resize(size); !done) return done;
  const std::vector<std::byte> zeros(
      static_cast<std::size_t>(std::min<std::uint64_t>(size, kFillBytes)));
  for (std::uint64_t at = 0; at < size; at += zeros.size()) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), size - at));
    if (auto done = file.write(at, ByteView(zeros).first(count)); !done) return done;
    if (at + count == size) break;
    if (auto done = file.sync(); !done) return done;
  }
  return {};
}

// On a storage thread: a file of zeros that survives a power cut.
Result<std::shared_ptr<File>> make_filled(FileSystem& fs, const std::string& directory,
                                          const std::string& name, std::uint64_t size) {
  const std::string path = join(directory, name);
  auto file = fs.open(path, OpenMode::kCreateNew);
  if (!file) return fail(file);
  auto done = fill_with_zeros(**file, size);
  failpoint(Failpoint::kJournalSpareFilled);
  if (done) done = (*file)->sync();
  failpoint(Failpoint::kJournalSpareSynced);
  if (done) done = fs.sync_directory(directory);
  if (!done) {
    static_cast<void>(fs.remove(path));
    return fail(done);
  }
  failpoint(Failpoint::kJournalSpareNamed);
  return std::shared_ptr<File>(std::move(*file));
}

}  // namespace

JournalFiles::JournalFiles(const JournalOptions& options, JournalStats& stats)
    : options_(options), stats_(stats) {}

Result<void> JournalFiles::start(const JournalRecovery& recovered, std::uint64_t journal_id,
                                 Lsn first, Lsn last, ByteView batches) {
  journal_id_ = journal_id;
  next_sequence_ = recovered.next_sequence;
  next_number_ = recovered.next_number;
  FileSystem& fs = options_.fs;
  if (auto done = fs.make_directories(options_.directory); !done) return done;
  const std::string half_made = join(options_.directory, kHalfMadeName);
  const std::uint64_t used = kFirstBatch + batches.size();
  const std::uint64_t size =
      align_up(std::max(used, options_.first_file_bytes) + kBlockBytes, kBlockBytes);
  auto file = fs.open(half_made, OpenMode::kCreate);
  if (!file) return fail(file);
  if (auto done = (*file)->resize(0); !done) return done;
  if (auto done = fill_with_zeros(**file, size); !done) return done;
  if (auto done = write_header(**file, first, size); !done) return done;
  if (auto done = (*file)->write(kFirstBatch, batches); !done) return done;
  failpoint(Failpoint::kJournalStartWritten);
  // Synced before it has its name: a file that can be found is whole.
  if (auto done = (*file)->sync(); !done) return done;
  failpoint(Failpoint::kJournalStartSynced);
  const std::string name = file_name(next_number_++);
  if (auto done = fs.rename(half_made, join(options_.directory, name)); !done) return done;
  failpoint(Failpoint::kJournalStartRenamed);
  mark_damaged(recovered.files);
  if (auto done = fs.sync_directory(options_.directory); !done) return done;
  failpoint(Failpoint::kJournalStartNamed);
  ++stats_.files_made;
  for (const std::string& leftover : recovered.leftovers) {
    if (leftover != kHalfMadeName) static_cast<void>(fs.remove(join(options_.directory, leftover)));
  }
  for (const JournalFileInfo& info : recovered.files) {
    live_.push_back({.name = info.name,
                     .first = info.first,
                     .last = info.last,
                     .file = nullptr,
                     .damaged = info.damaged || is_marked(info.name)});
    count(info.last, info.used_bytes);
  }
  live_.push_back(
      {.name = name, .first = first, .last = last, .size = size, .file = std::move(*file)});
  count(last, used);
  position_ = align_up(used, kBlockBytes);
  writable_ = true;
  return {};
}

Result<void> JournalFiles::write(Lsn lsn, ByteView batch) {
  if (!writable_ || position_ + batch.size() > live_.back().size) {
    if (auto done = roll(lsn, batch.size()); !done) return done;
  }
  Live& current = live_.back();
  failpoint(Failpoint::kJournalBatchBefore);
  if (failpoint_due(Failpoint::kJournalBatchTorn)) {
    static_cast<void>(current.file->write(position_, batch.first(batch.size() / 2)));
    die_at(Failpoint::kJournalBatchTorn);
  }
  if (auto done = current.file->write(position_, batch); !done) {
    writable_ = false;
    ghost_ = true;
    current.suspect = true;
    return done;
  }
  failpoint(Failpoint::kJournalBatchAfter);
  position_ += batch.size();
  current.last = lsn;
  current.dirty = true;
  count(lsn, batch.size());
  prepare_if_due();
  return {};
}

Result<void> JournalFiles::roll(Lsn first, std::uint64_t batch_bytes) {
  writable_ = false;
  // A file without a batch may keep a ghost away: it goes when the next one does that on disk.
  const bool hollow = live_.back().last < live_.back().first;
  ghost_ = ghost_ || hollow;
  auto next =
      take_spare(std::max(options_.file_bytes, align_up(kFirstBatch + batch_bytes, kBlockBytes)));
  if (!next) return fail(next);
  auto done = write_header(*next->file, first, next->size);
  failpoint(Failpoint::kJournalRollHeader);
  if (done && ghost_) done = banish_ghost(*next->file);
  if (!done) {
    remove_later(next->name);
    return done;
  }
  if (hollow) {
    remove_later(live_.back().name);
    live_.pop_back();
  }
  live_.push_back({.name = next->name,
                   .first = first,
                   .last = first.previous(),
                   .size = next->size,
                   .file = std::move(next->file)});
  position_ = kFirstBatch;
  writable_ = true;
  prepare_failed_ = false;
  return {};
}

bool JournalFiles::banish(Lsn next) {
  return !ghost_ || roll(next, 0).has_value();
}

Result<void> JournalFiles::banish_ghost(File& next) {
  if (auto done = next.sync(); !done) return done;
  if (auto done = options_.fs.sync_directory(options_.directory); !done) return done;
  directory_dirty_ = false;
  ghost_ = false;
  return {};
}

Result<JournalFiles::Spare> JournalFiles::take_spare(std::uint64_t size) {
  for (auto spare = spares_.begin(); spare != spares_.end(); ++spare) {
    if (spare->size < size) continue;
    Spare taken = std::move(*spare);
    spares_.erase(spare);
    ++stats_.files_reused;
    return taken;
  }
  Spare made{file_name(next_number_++), size, nullptr};
  auto file = options_.fs.open(join(options_.directory, made.name), OpenMode::kCreateNew);
  if (!file) return fail(file);
  directory_dirty_ = true;
  if (auto done = (*file)->resize(size); !done) {
    remove_later(made.name);
    return fail(done);
  }
  ++stats_.files_made;
  made.file = std::move(*file);
  return made;
}

Result<void> JournalFiles::write_header(File& file, Lsn first, std::uint64_t size) {
  const auto header = encode_file_header({.shard = options_.shard,
                                          .journal_id = journal_id_,
                                          .sequence = next_sequence_++,
                                          .first = first,
                                          .size = size});
  if (auto done = file.write(0, header); !done) return done;
  return file.write(kSecondHeader, header);
}

JournalFiles::SyncSet JournalFiles::begin_sync() {
  SyncSet set;
  for (Live& file : live_) {
    if (!file.dirty) continue;
    file.dirty = false;
    set.files.push_back(file.file);
  }
  set.directory = std::exchange(directory_dirty_, false);
  position_ = align_up(position_, kBlockBytes);
  return set;
}

void JournalFiles::prepare_if_due() {
  if (preparing_ || prepare_failed_ || !spares_.empty() || position_ < live_.back().size / 2)
    return;
  preparing_ = true;
  struct Outcome {
    std::string name;
    Result<std::shared_ptr<File>> file = nullptr;
  };
  auto outcome = std::make_shared<Outcome>();
  outcome->name = file_name(next_number_++);
  const std::uint64_t size = options_.file_bytes;
  options_.storage.run(
      storage_lane::journal_files(options_.shard),
      [&fs = options_.fs, directory = options_.directory, size, outcome] {
        outcome->file = make_filled(fs, directory, outcome->name, size);
      },
      options_.executor,
      [self = shared_from_this(), size, outcome] {
        if (self->closed_) return;
        if (!outcome->file) return self->prepared(fail(outcome->file));
        self->prepared(Spare{outcome->name, size, std::move(*outcome->file)});
      });
}

void JournalFiles::prepared(Result<Spare> made) {
  preparing_ = false;
  if (!made) {
    prepare_failed_ = true;
    return;
  }
  ++stats_.files_made;
  spares_.push_back(std::move(*made));
}

void JournalFiles::recycle_below(Lsn lowest_needed, Lsn kept) {
  while (live_.size() > 1 && live_.front().last < std::min(lowest_needed, kept)) {
    Live file = std::move(live_.front());
    live_.pop_front();
    retire(std::move(file));
  }
  while (!milestones_.empty() && milestones_.front().lsn < lowest_needed) {
    cut_bytes_ = milestones_.front().total_bytes;
    milestones_.pop_front();
  }
}

void JournalFiles::retire(Live file) {
  if (file.damaged) return set_aside(std::move(file));
  const bool reusable = file.file && !file.suspect && file.size == options_.file_bytes &&
                        spares_.size() < options_.spare_files_max;
  if (reusable) {
    spares_.push_back({file.name, file.size, file.file});
  } else {
    ++stats_.files_removed;
    remove_later(file.name);
  }
}

// A start does not read what the manifest needs no more: of a file whose damage lies there it would
// see nothing, and remove it, if the one before was killed between its manifest and the new name.
void JournalFiles::mark_damaged(const std::vector<JournalFileInfo>& files) {
  FileSystem& fs = options_.fs;
  for (const std::string& name : fs.list(options_.directory).value_or(std::vector<std::string>())) {
    if (!name.ends_with(kMarkSuffix)) continue;
    const auto file = std::string_view(name).substr(0, name.size() - kMarkSuffix.size());
    if (std::ranges::find(files, file, &JournalFileInfo::name) == files.end()) {
      static_cast<void>(fs.remove(join(options_.directory, name)));
    }
  }
  for (const JournalFileInfo& file : files) {
    if (!file.damaged) continue;
    const std::string mark = join(options_.directory, file.name + std::string(kMarkSuffix));
    static_cast<void>(fs.open(mark, OpenMode::kCreate));
  }
}

bool JournalFiles::is_marked(const std::string& name) const {
  const std::string mark = join(options_.directory, name + std::string(kMarkSuffix));
  return options_.fs.exists(mark).value_or(false);
}

// Under its old name nobody would know of the damage any more, and the file would be removed: it is
// given up only when the new name is on disk.
void JournalFiles::set_aside(Live file) {
  auto outcome = std::make_shared<Result<void>>();
  // Before `file` moves on: which argument of a call is made first is not said.
  const std::string from = join(options_.directory, file.name);
  const std::string to = join(options_.directory, std::string(kDamagedPrefix) + file.name);
  const std::string mark = from + std::string(kMarkSuffix);
  options_.storage.run(
      storage_lane::journal_files(options_.shard),
      [&fs = options_.fs, directory = options_.directory, from, to, mark, outcome] {
        *outcome = fs.rename(from, to);
        // An earlier try may have renamed it, and not synced.
        if (!*outcome && fs.exists(to).value_or(false)) *outcome = {};
        if (*outcome) *outcome = fs.sync_directory(directory);
        if (*outcome) static_cast<void>(fs.remove(mark));
      },
      options_.executor,
      [self = shared_from_this(), file = std::move(file), outcome]() mutable {
        if (!self->closed_ && !*outcome) self->live_.push_front(std::move(file));
      });
}

void JournalFiles::remove_later(const std::string& name) {
  options_.storage.run(
      storage_lane::journal_files(options_.shard),
      [&fs = options_.fs, path = join(options_.directory, name)] {
        failpoint(Failpoint::kJournalRemoveBefore);
        static_cast<void>(fs.remove(path));
        failpoint(Failpoint::kJournalRemoveAfter);
      },
      options_.executor, [] {});
}

void JournalFiles::count(Lsn lsn, std::uint64_t bytes) {
  total_bytes_ += bytes;
  if (milestones_.empty() || total_bytes_ - milestones_.back().total_bytes >= kMilestoneBytes) {
    milestones_.push_back({lsn, total_bytes_});
  }
}

}  // namespace ackline::io::journal

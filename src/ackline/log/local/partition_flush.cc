// LocalPartition: from the tail to segment files, and checkpoints.
#include <algorithm>

#include "ackline/base/check.h"
#include "ackline/io/failpoint.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/partition.h"
#include "ackline/log/local/records.h"

namespace ackline::log {

namespace {

constexpr std::uint64_t kFirstStepBytes = 64 * 1024;
constexpr std::uint64_t kLargestStepBytes = 1024 * 1024;

Result<std::shared_ptr<io::File>> open_shared(io::FileSystem& fs, const std::string& path,
                                              io::OpenMode mode) {
  Result<std::unique_ptr<io::File>> file = fs.open(path, mode);
  if (!file) return fail(file);
  return std::shared_ptr<io::File>(*std::move(file));
}

}  // namespace

Result<void> LocalPartition::flush_tail() {
  while (!doomed_.empty()) {
    const std::string path = io::join(directory_, format::segment_name(doomed_.back()));
    const Result<void> removed = fs_.remove(path);
    if (!removed && removed.error().code != ErrorCode::kNotFound) return removed;
    doomed_.pop_back();
    directory_dirty_ = true;
  }
  if (unflushed_bytes_ > 0) {
    for (const std::shared_ptr<Chunk>& chunk : tail_) {
      if (chunk->unflushed() == 0) continue;
      if (Result<void> written = write_chunk(*chunk); !written) return written;
    }
  }
  for (Segment& segment : segments_) {
    const bool full = &segment != &segments_.back() && segment.facts.end <= synced_end_;
    if (!full || segment.sealed || segment.incomplete) continue;
    if (Result<void> sealed = seal(segment); !sealed) return sealed;
  }
  trim_tail(options_.tail_keep_bytes);
  return {};
}

Result<void> LocalPartition::write_chunk(Chunk& chunk) {
  Segment* segment = segment_of(chunk.first());
  ACKLINE_CHECK(segment != nullptr && segment->facts.base == chunk.segment());
  const std::uint64_t position = chunk.position() + chunk.flushed;
  if (Result<void> open = open_for_write(*segment, position); !open) return open;
  if (Result<void> room = grow(*segment, chunk.end_position()); !room) return room;
  segment->unsynced = true;
  const ByteView rest = chunk.bytes().subspan(chunk.flushed);
  io::failpoint(io::Failpoint::kSegmentWriteBefore);
  if (Result<void> written = segment->file->write(position, rest); !written) return written;
  io::failpoint(io::Failpoint::kSegmentWriteAfter);
  unflushed_bytes_ -= rest.size();
  chunk.flushed = static_cast<std::uint32_t>(chunk.bytes().size());
  return {};
}

// `first_position`: all below it is in the file already, what lies beyond is not ours.
Result<void> LocalPartition::open_for_write(Segment& segment, std::uint64_t first_position) {
  if (segment.file == nullptr) {
    if (!directory_made_) {
      if (Result<void> made = fs_.make_directories(directory_); !made) return made;
      directory_made_ = true;
    }
    const io::OpenMode mode = segment.on_disk ? io::OpenMode::kReadWrite : io::OpenMode::kCreate;
    Result<std::shared_ptr<io::File>> file = open_shared(fs_, path_of(segment), mode);
    if (!file) return fail(file);
    const Result<std::uint64_t> size = (*file)->size();
    if (!size) return fail(size);
    segment.file = *std::move(file);
    segment.allocated = *size;
  }
  if (!segment.on_disk) {
    // The name may be left from before a crash: nothing in it counts.
    segment.unsynced = true;
    directory_dirty_ = true;
    if (Result<void> cut = segment.file->resize(0); !cut) return cut;
    segment.allocated = 0;
    if (Result<void> room = grow(segment, format::kSegmentHeaderBytes); !room) return room;
    const std::string header = format::segment_header(number_, segment.facts.base);
    if (Result<void> written = segment.file->write(0, as_bytes(header)); !written) return written;
    segment.on_disk = true;
    io::failpoint(io::Failpoint::kSegmentMade);
  }
  if (segment.cut_pending) {
    segment.unsynced = true;
    if (segment.allocated > first_position) {
      if (Result<void> cut = segment.file->resize(first_position); !cut) return cut;
      segment.allocated = first_position;
    }
    segment.cut_pending = false;
  }
  return {};
}

// Preallocated, so that a sync at the checkpoint writes data only: 64 KiB, doubling to steps of 1
// MiB.
Result<void> LocalPartition::grow(Segment& segment, std::uint64_t needed_bytes) {
  if (needed_bytes <= segment.allocated) return {};
  std::uint64_t target = segment.allocated;
  while (target < needed_bytes) target += std::clamp(target, kFirstStepBytes, kLargestStepBytes);
  if (Result<void> resized = segment.file->resize(target); !resized) return resized;
  segment.allocated = target;
  return {};
}

Result<void> LocalPartition::seal(Segment& segment) {
  const std::uint64_t length = segment.facts.length;
  if (Result<void> open = open_for_write(segment, length); !open) return open;
  if (segment.allocated != length) {
    segment.unsynced = true;
    if (Result<void> cut = segment.file->resize(length); !cut) return cut;
    segment.allocated = length;
    io::failpoint(io::Failpoint::kSegmentSealCut);
  }
  if (segment.index_file == nullptr) {
    const std::string path = io::join(directory_, format::index_name(segment.facts.base));
    Result<std::shared_ptr<io::File>> file = open_shared(fs_, path, io::OpenMode::kCreate);
    if (!file) return fail(file);
    segment.index_file = *std::move(file);
  }
  const std::string bytes = encode_index_file(number_, segment.facts, *segment.index);
  directory_dirty_ = true;
  segment.unsynced = true;
  if (Result<void> written = segment.index_file->write(0, as_bytes(bytes)); !written) {
    return written;
  }
  if (Result<void> cut = segment.index_file->resize(bytes.size()); !cut) return cut;
  io::failpoint(io::Failpoint::kIndexWritten);
  segment.sealed = true;
  touch(segment);
  return {};
}

Result<PartitionCheckpoint> LocalPartition::prepare_checkpoint() {
  const bool poisoned = damage_ && damage_->code == ErrorCode::kPoisoned;
  if (frozen_ || poisoned) return std::unexpected<Error>(*damage_);
  if (const Result<void> flushed = flush_tail(); !flushed) return fail(flushed);
  PartitionCheckpoint checkpoint;
  Section section{log_start_, next_, {}};
  for (Segment& segment : segments_) {
    if (segment.unsynced || segment.syncing) {
      segment.syncing = true;
      segment.unsynced = false;
      if (segment.file != nullptr) checkpoint.files.push_back(segment.file);
      if (segment.index_file != nullptr) checkpoint.files.push_back(segment.index_file);
    }
    if (segment.empty()) continue;
    SectionSegment known{segment.facts, segment.sealed, {}};
    if (!segment.sealed) known.index = segment.index->thinned(format::kSectionStepBytes);
    section.segments.push_back(std::move(known));
  }
  if (directory_dirty_ || directory_syncing_) {
    directory_syncing_ = true;
    directory_dirty_ = false;
    checkpoint.directories.push_back(directory_);
  }
  checkpoint.section = encode_section(section);
  return checkpoint;
}

void LocalPartition::checkpoint_synced() {
  directory_syncing_ = false;
  for (Segment& segment : segments_) {
    segment.syncing = false;
    if (!segment.sealed || segment.unsynced) continue;
    segment.index_file = nullptr;
    // From here on it is only read: the handle is one of those that `touch` may close.
    if (segment.file != nullptr) segment.reader = std::move(segment.file);
    segment.file = nullptr;
  }
}

void LocalPartition::checkpoint_failed(const Error& why) {
  // Whatever it was, the files are not to be trusted; the journal has it all (J8, J10).
  damage_ = Error{ErrorCode::kPoisoned,
                  "A sync of the log's files failed: " + why.detail,
                  "Look after the disk, then restart Ackline: it refills from the journal.",
                  {}};
}

}  // namespace ackline::log

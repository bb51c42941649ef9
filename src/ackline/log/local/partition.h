// One partition of the embedded log: segments on disk, the newest events in memory.
//
// Appends go to a tail in memory and, as the body of a publish record, to the shard's journal; only
// the journal is synced on the hot path. The tail is written to the segment file behind that (page
// cache, no sync) and the files are synced at checkpoints. After a crash the segments are cut to
// the lengths of the checkpoint and refilled from the journal (J9), so nothing here needs a log of
// its own. The body carries the very bytes of the segment: a refill is a copy.
//
// Owned by one shard, used on its thread only; ReadJobs and the files of a checkpoint go to storage
// threads. No clock: the caller brings the time. An instance without events holds no file and no
// buffer.
//
// Readers see synced records only (invariant 10): `append` moves the next offset, `on_synced` the
// high watermark. Damage (a checksum, a missing or short file below the checkpoint's length) makes
// this partition answer kQuarantined from then on, naming file and position; others go on. Nothing
// is ever deleted because it could not be read.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/log/event_log.h"
#include "ackline/log/local/chunk.h"
#include "ackline/log/local/read_cache.h"
#include "ackline/log/local/segment.h"

namespace ackline::log {

struct PublishBody;

struct PartitionOptions {
  // A segment that would grow past this is closed and the next one begun. A batch is never split.
  std::uint64_t segment_bytes = std::uint64_t{64} << 20U;
  // `needs_flush` from so many bytes on that are not in the file yet.
  std::uint64_t flush_bytes = std::uint64_t{64} << 10U;
  // Written bytes of the tail that are kept in memory for readers close behind.
  std::uint64_t tail_keep_bytes = std::uint64_t{256} << 10U;
  // What a sequential read fetches from a file at once.
  std::uint32_t fetch_bytes = std::uint32_t{128} << 10U;
  // One event's frame, at most.
  std::uint32_t max_frame_bytes = std::uint32_t{64} << 20U;
};

// What a checkpoint stores of a partition, and what must be on disk before it counts.
struct PartitionCheckpoint {
  // `File::sync` each, on a storage thread; then `sync_directory` each. If one fails call
  // `LocalPartition::checkpoint_failed` and let the checkpoint go.
  std::vector<std::shared_ptr<io::File>> files;
  std::vector<std::string> directories;
  // To be stored and given to `open`; opaque (docs/formats/segment.md).
  std::string section;
};

class LocalPartition final : public PartitionLog {
 public:
  // `directory` is this partition's own (format.h: partition_directory). `section`: what the
  // newest valid checkpoint holds for it; nullopt when that checkpoint does not know the partition.
  // Changes no file. Afterwards: `replay_…` for every
  // record past the checkpoint, then `finish_replay`, then `on_synced`. Errors: kCorrupt (section),
  // kUnavailable. Files that are missing or too short are reported by `finish_replay`.
  [[nodiscard]] static Result<std::unique_ptr<LocalPartition>> open(
      io::FileSystem& fs, std::string directory, PartitionNumber number,
      std::optional<std::string_view> section, ReadCache& cache, PartitionOptions options = {});
  ~LocalPartition() override;

  // --- Writing -------------------------------------------------------------------------------
  // Gives `frames` the next offsets and appends the publish record's body to `body` (offset, time,
  // place in the segment, bytes). Not readable before `on_synced`. No I/O. Errors: kTooLarge (a
  // frame), kQuarantined, kPoisoned; then nothing happened. Returns the first offset.
  [[nodiscard]] Result<Offset> append(std::span<const ByteView> frames, WallMs now,
                                      std::string& body);
  // The journal refused the records of offsets >= `to`: forgets them, the offsets are given again
  // (nobody saw them). `to` >= the synced end.
  void rollback(Offset to);
  // Records of offsets < `end` are synced: they become readable. Never falls.
  void on_synced(Offset end);
  [[nodiscard]] Offset next_offset() const { return next_; }
  // Exclusive: high watermark + 1.
  [[nodiscard]] Offset synced_end() const { return synced_end_; }

  [[nodiscard]] bool needs_flush() const { return unflushed_bytes() >= options_.flush_bytes; }
  // In memory and the journal only; counts towards the disk reserve.
  [[nodiscard]] std::uint64_t unflushed_bytes() const { return unflushed_bytes_; }
  // Writes the tail to the segment file, closes full segments. On the shard's thread; page cache
  // only. Errors: kFull, kUnavailable: the tail stays in memory, nothing is lost, call again.
  [[nodiscard]] Result<void> flush_tail();
  // Memory pressure: drops what is written to files or can be read again.
  void release_memory();
  [[nodiscard]] std::uint64_t memory_bytes() const;

  // --- Checkpoint, boot ------------------------------------------------------------------------
  // Flushes, then says what to sync and store. Call when every appended record was handed to the
  // journal (no `rollback` across it). Errors: as flush_tail; kPoisoned; kQuarantined when it was
  // damaged at boot: then the old section goes on, with the lsn it was taken at, so that the
  // journal keeps the records that are not in the segments.
  [[nodiscard]] Result<PartitionCheckpoint> prepare_checkpoint();
  // The files and the directory of the last prepare_checkpoint are on disk.
  void checkpoint_synced();
  // A sync failed: what the kernel holds is not to be trusted. Answers kPoisoned until reopened.
  void checkpoint_failed(const Error& why);

  // A publish record's body from the journal. Already applied: nothing happens. Errors: kCorrupt
  // (does not decode, does not follow what is there), also remembered as damage; kUnavailable
  // (applied, but a segment file could not be written). A full disk is no error: the rest stays in
  // memory.
  [[nodiscard]] Result<void> replay_publish(ByteView body);
  // A logstart record.
  void replay_log_start(Offset start);
  // After the last record: checks that every kept segment is whole, removes files that the
  // checkpoint and the journal do not know (their events were never acknowledged). Errors:
  // kQuarantined naming partition and file (the object stays usable for `damage()` and answers
  // kQuarantined), kUnavailable.
  [[nodiscard]] Result<void> finish_replay();
  // First offset of a publish record's body and how many events it has: for journals' own tools.
  struct PublishInfo {
    Offset base;
    std::uint32_t events = 0;
    WallMs time;
  };
  [[nodiscard]] static Result<PublishInfo> describe_publish(ByteView body);

  // --- Retention -------------------------------------------------------------------------------
  // The log start that keeps at most `max_bytes` and nothing older than `max_age_ms` (each only if
  // given), by whole segments, never beyond the synced end. The current log start when nothing is
  // due.
  [[nodiscard]] Offset retention_candidate(std::optional<std::int64_t> max_age_ms,
                                           std::optional<std::uint64_t> max_bytes,
                                           WallMs now) const;
  // Step 1: moves the log start (never back, at most to the synced end). Readers see it at once.
  // The caller journals it.
  void truncate_before(Offset start);
  // Step 2, once that record is synced: removes whole files below `start`. The log start may have
  // moved on since; what lies below that waits for its own record.
  [[nodiscard]] Result<void> remove_truncated(Offset start);
  // The tombstone is durable: removes the directory. The object is of no use afterwards.
  [[nodiscard]] Result<void> destroy();

  // --- State -----------------------------------------------------------------------------------
  [[nodiscard]] PartitionNumber number() const { return number_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  // Marks it damaged from outside (a journal or a scrub found something: J12).
  void quarantine(Error why);

  // --- PartitionLog ------------------------------------------------------------------------------
  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] Offset log_start() const override { return log_start_; }
  [[nodiscard]] Offset high_watermark() const override { return synced_end_.previous(); }
  // Of kept segments, headers included; not of preallocated space.
  [[nodiscard]] std::uint64_t stored_bytes() const override;
  [[nodiscard]] const std::optional<Error>& damage() const override { return damage_; }
  [[nodiscard]] Result<ReadBatch> read(Offset from, ReadLimits limits) override;
  [[nodiscard]] Result<Offset> offset_at_time(WallMs time) override;
  [[nodiscard]] Result<WallMs> append_time(Offset offset) override;
  [[nodiscard]] ByteCount bytes_between(Offset from, Offset to) override;
  [[nodiscard]] std::unique_ptr<ReadJob> read_job(Offset from) override;
  [[nodiscard]] std::unique_ptr<ReadJob> time_job(WallMs time) override;
  [[nodiscard]] Result<void> absorb(std::unique_ptr<ReadJob> job) override;

 private:
  LocalPartition(io::FileSystem& fs, std::string directory, PartitionNumber number,
                 ReadCache& cache, PartitionOptions options);
  [[nodiscard]] std::string path_of(const Segment& segment) const;
  // kQuarantined or kPoisoned once it is.
  [[nodiscard]] Result<void> usable() const;
  // Remembers what was found as this partition's damage and returns it.
  [[nodiscard]] Error damaged(const Error& found);

  // Writing (partition.cc, partition_flush.cc).
  [[nodiscard]] Segment& segment_for_append(std::uint64_t batch_bytes);
  // Room for one record of `bytes` at the end of `segment`; the caller fills it.
  [[nodiscard]] std::byte* add_record(Segment& segment, std::uint32_t bytes, WallMs time);
  [[nodiscard]] Result<void> open_for_write(Segment& segment, std::uint64_t first_position);
  [[nodiscard]] Result<void> grow(Segment& segment, std::uint64_t needed_bytes);
  [[nodiscard]] Result<void> write_chunk(Chunk& chunk);
  [[nodiscard]] Result<void> seal(Segment& segment);
  void trim_tail(std::uint64_t keep_bytes);
  void drop_tail_before(Offset end);

  // Boot (partition_boot.cc).
  [[nodiscard]] Result<void> restore(std::string_view section);
  [[nodiscard]] Result<void> check_files();
  void take_records(Segment& segment, const PublishBody& publish);
  [[nodiscard]] Result<void> cut_last();
  [[nodiscard]] Result<void> sweep_files();

  // Reading (partition_read.cc).
  [[nodiscard]] Segment* segment_of(Offset offset);
  [[nodiscard]] const std::shared_ptr<Chunk>* in_tail(Offset offset) const;
  [[nodiscard]] Result<std::shared_ptr<const Chunk>> chunk_of(Offset offset, bool single);
  [[nodiscard]] ChunkRequest request_for(const Segment& segment, Offset offset) const;
  [[nodiscard]] std::optional<ChunkStart> start_in(const Segment& segment, Offset offset);
  // On kTimeout `blocked` is the offset whose chunk is missing.
  [[nodiscard]] Result<Offset> search_time(WallMs time, Offset& blocked);
  // Frame bytes of all kept segments below `offset`, plus whether that is exact.
  [[nodiscard]] ByteCount bytes_below(Offset offset);
  [[nodiscard]] Error cold(Offset offset);
  void touch(Segment& segment);

  io::FileSystem& fs_;
  std::string directory_;
  PartitionNumber number_;
  ReadCache& cache_;
  PartitionOptions options_;

  std::deque<Segment> segments_;  // ascending; the last one is appended to
  Offset log_start_{0};
  Offset next_{0};
  Offset synced_end_{0};
  // The newest chunks, contiguous, ending at next_. Unwritten and unsynced ones always stay.
  std::deque<std::shared_ptr<Chunk>> tail_;
  std::uint64_t unflushed_bytes_ = 0;
  std::uint64_t tail_bytes_ = 0;
  std::uint64_t use_counter_ = 0;  // for closing the segment files that were not read for longest
  std::vector<Offset> doomed_;     // segments that a rollback took back; files to be removed
  bool directory_made_ = false;
  bool directory_dirty_ = false;    // a file was made or removed since the last checkpoint began
  bool directory_syncing_ = false;  // that sync belongs to the checkpoint that runs
  bool frozen_ = false;  // damaged at boot: the journal's records are not in the segments
  std::optional<Offset> checkpoint_next_;  // of the section we were opened with
  std::optional<Error> damage_;
  std::optional<std::pair<Offset, Error>> read_error_;  // of the last job, for who asks again
};

}  // namespace ackline::log

// The files of an open journal: where the next batch goes, which files a sync must cover, and which
// are free to be used again.
//
// A file is taken into use by writing its header (sequence, first lsn); nothing is renamed and no
// directory is synced on that path, because names say nothing. The next file is filled with zeros
// on a storage thread while the current one is in its second half: writing over allocated blocks
// makes a sync two to five times cheaper than growing the file. Without one, and on the first write
// after a failure, a file is made on the spot.
//
// A file whose write failed is never written again: what the failed write left behind, perhaps a
// whole batch, lies past the first lsn of the next file, so no reader takes it for a batch. The
// next file's header is synced before anything else is written, else a power cut could take the
// header and leave that ghost.
//
// Used on the shard's thread; shared with the background tasks it starts.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ackline/io/journal/format.h"
#include "ackline/io/journal/journal.h"

namespace ackline::io::journal {

class JournalFiles : public std::enable_shared_from_this<JournalFiles> {
 public:
  JournalFiles(const JournalOptions& options, JournalStats& stats);

  // Makes the file that a start begins with, holding `batches` (whole bytes, from lsn `first`
  // through `last`), durable before it returns; then drops what it replaces.
  [[nodiscard]] Result<void> start(const JournalRecovery& recovered, std::uint64_t journal_id,
                                   Lsn first, Lsn last, ByteView batches);
  // No background task comes back after this.
  void close() { closed_ = true; }

  // Writes a whole batch behind the last one.
  [[nodiscard]] Result<void> write(Lsn lsn, ByteView batch);
  // The batch `next` was refused after a failed write, so what may be left of it must not be found:
  // a new file, synced, says that it begins there. False: that cannot be written either.
  [[nodiscard]] bool banish(Lsn next);
  // A sync begins: what follows goes into the next block, and these are to be synced.
  struct SyncSet {
    std::vector<std::shared_ptr<File>> files;
    bool directory = false;
  };
  [[nodiscard]] SyncSet begin_sync();
  // Gives up files wholly below `lowest_needed`, not the one with the batch `kept`.
  void recycle_below(Lsn lowest_needed, Lsn kept);
  [[nodiscard]] std::uint64_t live_bytes() const { return total_bytes_ - cut_bytes_; }

 private:
  struct Live {
    std::string name;
    Lsn first;
    Lsn last;
    std::uint64_t size = 0;
    std::shared_ptr<File> file;  // shared with the sync that runs; null when of an earlier start
    bool dirty = false;
    bool suspect = false;  // a write failed
    bool damaged = false;
  };
  struct Spare {
    std::string name;
    std::uint64_t size = 0;
    std::shared_ptr<File> file;
  };
  // How much had been written when `lsn` was: to tell what a cut frees.
  struct Milestone {
    Lsn lsn;
    std::uint64_t total_bytes = 0;
  };

  [[nodiscard]] Result<void> roll(Lsn first, std::uint64_t batch_bytes);
  [[nodiscard]] Result<Spare> take_spare(std::uint64_t size);
  [[nodiscard]] Result<void> write_header(File& file, Lsn first, std::uint64_t size);
  [[nodiscard]] Result<void> banish_ghost(File& next);
  void prepare_if_due();
  void prepared(Result<Spare> made);
  void remove_later(const std::string& name);
  void retire(Live file);
  void set_aside(Live file);
  // Of all files of earlier starts. Best effort: without its mark a file is told by its damage.
  void mark_damaged(const std::vector<JournalFileInfo>& files);
  [[nodiscard]] bool is_marked(const std::string& name) const;
  void count(Lsn lsn, std::uint64_t bytes);

  const JournalOptions& options_;
  JournalStats& stats_;
  std::uint64_t journal_id_ = 0;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t next_number_ = 1;
  std::deque<Live> live_;  // oldest first; the last one is written to while `writable_`
  std::vector<Spare> spares_;
  std::uint64_t position_ = 0;  // of the next batch in live_.back()
  bool writable_ = false;
  bool ghost_ = false;  // a failed write may have left a batch behind
  bool directory_dirty_ = false;
  bool preparing_ = false;
  bool prepare_failed_ = false;  // no second attempt before the next roll: the disk may be full
  bool closed_ = false;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t cut_bytes_ = 0;
  std::deque<Milestone> milestones_;
};

}  // namespace ackline::io::journal

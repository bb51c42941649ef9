// Files in memory that can lose power: the FileSystem of tests and of the simulation.
//
// Each file and each directory has two images: what processes see (the page cache) and what is on
// disk (synced). `kill` is the death of the process: the page cache survives, handles and locks
// die. `power_cut` also throws the page cache away: of what was not synced, each 512-byte sector
// and each directory entry survives or not by a seeded coin, so writes are lost, torn and
// reordered. A sync that the fault hook fails behaves as Linux does: the dirty pages are dropped
// from the list of what is to be written, so that a second sync succeeds and lies.
//
// Directories themselves are durable at once (the posix twin syncs the parents in
// `make_directories`). Deterministic: no clock, no randomness but the one passed in. Any thread.
#pragma once

#include <functional>
#include <optional>

#include "ackline/base/random.h"
#include "ackline/io/fs/file_system.h"

namespace ackline::io {

enum class FsOperation : std::uint8_t {
  kOpen,
  kRead,
  kReadNowait,
  kWrite,
  kSync,
  kResize,
  kRename,
  kRemove,
  kList,
  kMakeDirectories,
  kSyncDirectory,
  kLock,
};

// What the hook makes of one operation.
struct FsFault {
  Error error;
  // Of a write: so many of its bytes reach the page cache before the error is returned.
  std::uint64_t applied_bytes = 0;
};

// Asked before every operation; nullopt lets it pass. `path` of a rename is its target. Called with
// the file system unlocked, on the caller's thread.
using FsFaultHook = std::function<std::optional<FsFault>(FsOperation, const std::string& path)>;

struct FsStats {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t syncs = 0;
  std::uint64_t directory_syncs = 0;
  std::uint64_t nowait_misses = 0;  // read_nowait answered kTimeout: the reader had to stall
  std::uint64_t faults = 0;
};

struct MemoryDisk;

class MemoryFileSystem final : public FileSystem {
 public:
  explicit MemoryFileSystem(std::uint64_t capacity_bytes = UINT64_MAX);
  ~MemoryFileSystem() override;

  [[nodiscard]] Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  [[nodiscard]] Result<bool> exists(const std::string& path) override;
  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;
  [[nodiscard]] Result<void> make_directories(const std::string& path) override;
  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& directory) override;
  [[nodiscard]] Result<void> remove_all(const std::string& path) override;
  [[nodiscard]] Result<void> sync_directory(const std::string& directory) override;
  [[nodiscard]] Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  [[nodiscard]] Result<std::uint64_t> free_bytes(const std::string& path) override;

  // The process dies: every open handle fails from now on, locks are free, the page cache stays.
  void kill();
  // The machine loses power: `kill`, and what was not synced survives in part, by `random`.
  void power_cut(Random& random);
  // The kernel writes some dirty pages back on its own, as it may at any time.
  void write_back(Random& random);
  // Everything is on disk, as after a clean shutdown.
  void sync_all();

  void set_fault_hook(FsFaultHook hook);
  void set_capacity(std::uint64_t bytes);

  // Damage on disk, seen by every later read. The position must be inside the file.
  void flip_bit(const std::string& path, std::uint64_t position, unsigned bit);
  // What a process would read now; nullopt when there is no such file.
  [[nodiscard]] std::optional<std::string> contents(const std::string& path) const;
  // Paths of all files, sorted.
  [[nodiscard]] std::vector<std::string> files() const;
  [[nodiscard]] FsStats stats() const;
  // A copy of the whole disk and page cache, without handles, locks and hook. Cheap: pages are
  // shared until written. For exploring every outcome of one history.
  [[nodiscard]] std::unique_ptr<MemoryFileSystem> clone() const;

 private:
  class Handle;
  class Lock;
  std::shared_ptr<MemoryDisk> disk_;  // shared with the handles, which may outlive the file system
};

}  // namespace ackline::io

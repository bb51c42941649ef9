// The file system as Ackline needs it: the seam where faults are injected.
//
// Posix in the product; in memory with power cuts, torn writes, full disks and failing syncs in
// tests. Everything blocks unless it says otherwise. Paths are absolute or relative to the process.
// A FileSystem may be called by any thread. A File is used by one thread at a time, except that
// any number of threads may read it at once, and that `sync` may run on a storage thread while the
// owner goes on writing (what is written after the call began may or may not be covered).
//
// Errors: kFull (no space), kNotFound, kCorrupt is never raised here, kUnavailable (anything else,
// EIO included), with the path and the system's words in `detail`. EINTR and short reads and writes
// are handled inside.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/base/result.h"

namespace ackline::io {

class File {
 public:
  virtual ~File() = default;
  // Writes all of `bytes` at `position` (the page cache; durable after `sync`).
  [[nodiscard]] virtual Result<void> write(std::uint64_t position, ByteView bytes) = 0;
  // Reads up to `out.size()` bytes at `position`; fewer only at the end of the file. Returns the
  // count.
  [[nodiscard]] virtual Result<std::size_t> read(std::uint64_t position,
                                                 std::span<std::byte> out) const = 0;
  // The same without waiting for the disk: kTimeout when not all of it is in memory.
  [[nodiscard]] virtual Result<std::size_t> read_nowait(std::uint64_t position,
                                                        std::span<std::byte> out) const = 0;
  // fdatasync. After an error nothing is known of what is on disk: never call it again, give the
  // file up.
  [[nodiscard]] virtual Result<void> sync() = 0;
  // Makes the file `size` bytes long: cut, or grown with zeros that are allocated on disk (kFull
  // when they cannot be).
  [[nodiscard]] virtual Result<void> resize(std::uint64_t size) = 0;
  [[nodiscard]] virtual Result<std::uint64_t> size() const = 0;
};

// Held while the object lives; released by the system when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class OpenMode : std::uint8_t {
  kRead,       // must exist
  kReadWrite,  // must exist
  kCreate,     // made when it is not there, kept when it is
  kCreateNew,  // kStale when it is there
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<File>> open(const std::string& path,
                                                           OpenMode mode) = 0;
  [[nodiscard]] virtual Result<bool> exists(const std::string& path) = 0;
  // Replaces `to` at once. Durable after `sync_directory` of the directory that holds it.
  [[nodiscard]] virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual Result<void> remove(const std::string& path) = 0;
  // Makes the directory and its parents, mode 0700; fine when it is there.
  [[nodiscard]] virtual Result<void> make_directories(const std::string& path) = 0;
  // Names (not paths) of the entries, sorted.
  [[nodiscard]] virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
  // Removes a directory and all below it; fine when it is not there.
  [[nodiscard]] virtual Result<void> remove_all(const std::string& path) = 0;
  // Makes creations, renames and removals in `directory` durable.
  [[nodiscard]] virtual Result<void> sync_directory(const std::string& directory) = 0;
  // Exclusive lock on the file `path`, made when missing, holding our pid as text. kInUse names the
  // holder's pid.
  [[nodiscard]] virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
  // Bytes that an unprivileged writer may still use on the file system of `path`.
  [[nodiscard]] virtual Result<std::uint64_t> free_bytes(const std::string& path) = 0;
};

// `directory + "/" + name`.
[[nodiscard]] std::string join(std::string_view directory, std::string_view name);
// The directory that holds `path`: "/" for "/name", "." for a name alone.
[[nodiscard]] std::string parent_of(std::string_view path);

// The whole file. kNotFound when it is not there.
[[nodiscard]] Result<std::string> read_file(FileSystem& fs, const std::string& path);
// Replaces `path` so that a crash leaves the old or the new content: write beside it, sync, rename,
// sync the directory.
[[nodiscard]] Result<void> write_file_atomic(FileSystem& fs, const std::string& path,
                                             std::string_view content);

}  // namespace ackline::io

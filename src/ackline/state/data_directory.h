// The data directory: what lies where, and the few things made once and kept.
//
// One process at a time: opening takes the lock, whose error names the holder's pid. The directory
// carries a format version; a newer one is refused by name, nothing is ever guessed or migrated
// silently. All small files are replaced atomically and synced; each holds what it says twice, and
// one of the two may rot.
//
// Blocking; used at start and by one thread. Errors: kInUse (locked), kUnsupported (newer format),
// kCorrupt (a file that cannot be read, with its path and what to do), the file system's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/io/fs/file_system.h"

namespace ackline::state {

// Version of the directory's layout that this build reads and writes.
inline constexpr std::uint32_t kDataFormat = 1;

struct DataDirectoryOptions {
  // 64 bits that nobody can guess, a fresh lot at each call.
  std::function<std::uint64_t()> entropy;
};

// Names below the directory.
inline constexpr std::string_view kLockName = "lock";
inline constexpr std::string_view kFormatName = "format";
inline constexpr std::string_view kSaltName = "salt";
inline constexpr std::string_view kIdKeyName = "id.key";
inline constexpr std::string_view kEpochName = "epoch";
inline constexpr std::string_view kAdminTokenName = "admin.token";
inline constexpr std::string_view kMetaName = "meta";              // RocksDB
inline constexpr std::string_view kOffsetsName = "offsets";        // RocksDB
inline constexpr std::string_view kDeliveriesName = "deliveries";  // RocksDB, when it is used
inline constexpr std::string_view kLogName = "log";                // partition segments
inline constexpr std::string_view kJournalName = "journal";        // one directory a shard

// Of meta that is damaged or gone.
inline constexpr std::string_view kMetaRemedy =
    "Restore meta from the backup that the rest is of, or the whole data directory: topics, groups "
    "and policies are nowhere else.";

class DataDirectory {
 public:
  // Makes what is missing, then holds the lock while the object lives. `fs` outlives it.
  [[nodiscard]] static Result<DataDirectory> open(io::FileSystem& fs, std::string path,
                                                  DataDirectoryOptions options);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string meta_path() const { return below(kMetaName); }
  [[nodiscard]] std::string offsets_path() const { return below(kOffsetsName); }
  [[nodiscard]] std::string deliveries_path() const { return below(kDeliveriesName); }
  [[nodiscard]] std::string log_path() const { return below(kLogName); }
  [[nodiscard]] std::string journal_path() const { return below(kJournalName); }
  [[nodiscard]] std::string admin_token_path() const { return below(kAdminTokenName); }

  // 20 bits that tell this directory from others in a deliveryId (invariant 12).
  [[nodiscard]] std::uint32_t salt() const { return salt_; }
  // Key of the deliveryId's check.
  [[nodiscard]] const std::array<std::byte, 16>& id_key() const { return id_key_; }
  // Small files of which only one copy is whole: name -> what it should hold.
  [[nodiscard]] const std::map<std::string_view, std::string>& worn() const { return worn_; }
  // The boot counter, raised and synced; once per start, before the first offer. Makes worn files
  // whole first.
  [[nodiscard]] Result<Epoch> next_epoch();
  // The token of the admin API, made at the first call (32 random bytes as base64url).
  [[nodiscard]] Result<std::string> admin_token();
  // The same, but nothing is made: kNotFound.
  [[nodiscard]] Result<std::string> read_admin_token() const;

 private:
  DataDirectory(io::FileSystem& fs, std::string path, DataDirectoryOptions options);
  [[nodiscard]] std::string below(std::string_view name) const;
  // True: the directory is complete and of our format. False: it is new.
  [[nodiscard]] Result<bool> check_format();
  // The `count` bytes of the file `name`; made by `make` when it is not there and may be missing.
  [[nodiscard]] Result<std::string> load_or_make(std::string_view name, bool must_exist,
                                                 std::size_t count,
                                                 const std::function<std::string()>& make);
  [[nodiscard]] std::string random_bytes(std::size_t count) const;
  void note_worn(std::string_view name, std::string_view found, std::string_view bytes);

  io::FileSystem* fs_;
  std::string path_;
  DataDirectoryOptions options_;
  std::unique_ptr<io::FileLock> lock_;
  Epoch epoch_;
  std::uint32_t salt_ = 0;
  std::array<std::byte, 16> id_key_{};
  std::map<std::string_view, std::string> worn_;
};

}  // namespace ackline::state

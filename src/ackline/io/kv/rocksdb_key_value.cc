#include "ackline/io/kv/rocksdb_key_value.h"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "ackline/base/logging.h"

namespace ackline::io {
namespace {

constexpr std::string_view kReserveName = "ACKLINE_RESERVE";
constexpr std::string_view kCurrentName = "CURRENT";
constexpr std::uint64_t kCacheBytes = 1ULL << 20U;

// RocksDB's own log is a file of its own that grows and is written outside our guard: not wanted.
class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

rocksdb::Slice slice(std::string_view text) {
  return {text.data(), text.size()};
}
std::string_view view(const rocksdb::Slice& text) {
  return {text.data(), text.size()};
}

// Where a store is, and what to say when it is damaged.
struct Place {
  std::string directory;
  std::string remedy;
};

std::unexpected<Error> corrupt(const Place& place, std::string_view what) {
  return fail(
      ErrorCode::kCorrupt, fmt::format("the store in {} is damaged: {}", place.directory, what),
      place.remedy.empty() ? "Restore the directory from a backup, or move it away to start "
                             "without it."
                           : place.remedy);
}

std::unexpected<Error> corrupt(const Place& place, const rocksdb::Status& status) {
  return corrupt(place, status.ToString());
}

std::unexpected<Error> failure_of(const Place& place, const rocksdb::Status& status,
                                  std::string_view doing) {
  if (status.IsCorruption()) {
    return corrupt(place, status);
  }
  return fail(ErrorCode::kUnavailable, fmt::format("the store in {} could not be {}: {}",
                                                   place.directory, doing, status.ToString()));
}

std::unexpected<Error> open_failure(const Place& place, const rocksdb::Status& status) {
  const std::string& directory = place.directory;
  const std::string text = status.ToString();
  // A file that the store names and that is not there is as bad as one that cannot be read.
  if (status.IsCorruption() || status.IsPathNotFound() ||
      text.find("No such file or directory") != std::string::npos ||
      (status.IsInvalidArgument() && text.find("does not exist") != std::string::npos)) {
    return corrupt(place, status);
  }
  // RocksDB reports its lock, held by another process or by another object here, as an IO error.
  if (text.find("lock hold by current process") != std::string::npos ||
      text.find("While lock file") != std::string::npos) {
    return fail(ErrorCode::kInUse, fmt::format("the store in {} is in use: {}", directory, text),
                "Stop the other process, or give this one another data.path.");
  }
  return fail(ErrorCode::kUnavailable,
              fmt::format("the store in {} cannot be opened: {}", directory, text),
              "Check that the directory exists and that this user may write to it.");
}

rocksdb::Options rocksdb_options(const RocksDbOptions& options, bool make) {
  rocksdb::Options out;
  out.create_if_missing = make;
  out.info_log = std::make_shared<SilentLogger>();
  out.write_buffer_size = options.write_buffer_bytes;
  out.max_write_buffer_number = 2;
  out.max_open_files = options.max_open_files;
  out.max_background_jobs = 2;
  out.max_total_wal_size = 2 * options.write_buffer_bytes;
  out.target_file_size_base = options.write_buffer_bytes;
  out.keep_log_file_num = 1;
  out.stats_dump_period_sec = 0;
  out.stats_persist_period_sec = 0;
  out.paranoid_checks = true;
  // A torn last record is an interrupted write; anything else that does not add up is damage.
  out.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kCacheBytes);
  out.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return out;
}

// Keeps RocksDB away from a full disk. Its lock also orders writes, so that two writers cannot both
// take the last free bytes.
class SpaceGuard {
 public:
  SpaceGuard(FileSystem& fs, std::string directory, const RocksDbOptions& options)
      : fs_(fs),
        directory_(std::move(directory)),
        guard_bytes_(options.guard_bytes),
        reserve_bytes_(options.reserve_bytes) {}

  // Before the store is opened, which writes `opening_bytes` itself: makes the reserve file when
  // there is room for it, and gives it back when there is none for opening.
  Result<void> prepare(std::uint64_t opening_bytes) {
    if (const Result<void> found = find_reserve(); !found) {
      return found;
    }
    Result<std::uint64_t> free = fs_.free_bytes(directory_);
    if (free && *free < guard_bytes_) {
      full_ = true;
      give_reserve_back();
      free = fs_.free_bytes(directory_);
    }
    if (!free) {
      return fail(free);
    }
    if (*free < opening_bytes) {
      return full_error(*free, opening_bytes);
    }
    if (*free >= guard_bytes_ + reserve_bytes_) {
      make_reserve();
    }
    return {};
  }

  // kFull when `bytes` more must not be written now.
  Result<void> admit(std::uint64_t bytes) {
    const Result<std::uint64_t> free = fs_.free_bytes(directory_);
    if (!free) {
      return fail(free);
    }
    // While full, the reserve must fit again too: else the store would flap at the border.
    const std::uint64_t needed = guard_bytes_ + bytes + (full_ ? reserve_bytes_ : 0);
    if (*free < needed) {
      full_ = true;
      give_reserve_back();
      return full_error(*free, needed);
    }
    if (full_) {
      full_ = false;
      make_reserve();
    }
    return {};
  }

 private:
  [[nodiscard]] std::unexpected<Error> full_error(std::uint64_t free, std::uint64_t needed) const {
    return fail(
        ErrorCode::kFull,
        fmt::format("{} bytes are free on the disk of {}; {} are needed", free, directory_, needed),
        "Free space on that disk; writes are taken again by themselves.");
  }

  [[nodiscard]] std::string reserve_path() const { return join(directory_, kReserveName); }

  // One that is too small is what a kill left in the middle of making it: it goes.
  Result<void> find_reserve() {
    const Result<bool> there = fs_.exists(reserve_path());
    if (!there) {
      return fail(there);
    }
    if (!*there) {
      return {};
    }
    const auto file = fs_.open(reserve_path(), OpenMode::kRead);
    if (!file) {
      return fail(file);
    }
    const Result<std::uint64_t> size = (*file)->size();
    if (!size) {
      return fail(size);
    }
    has_reserve_ = *size >= reserve_bytes_;
    if (!has_reserve_) {
      return fs_.remove(reserve_path());
    }
    return {};
  }

  void give_reserve_back() {
    // When the removal fails the guard alone protects; the next refusal tries again.
    if (has_reserve_ && fs_.remove(reserve_path())) {
      has_reserve_ = false;
    }
  }

  void make_reserve() {
    if (has_reserve_ || reserve_bytes_ == 0) {
      return;
    }
    auto file = fs_.open(reserve_path(), OpenMode::kCreate);
    if (!file) {
      return;
    }
    has_reserve_ = (*file)->resize(reserve_bytes_).has_value();
    if (!has_reserve_) {
      // What there is of it would be taken for a reserve, and holds space that nobody gives back.
      static_cast<void>(fs_.remove(reserve_path()));
    }
  }

  FileSystem& fs_;
  const std::string directory_;
  const std::uint64_t guard_bytes_;
  const std::uint64_t reserve_bytes_;
  bool has_reserve_ = false;
  bool full_ = false;
};

class RocksDbKeyValue final : public KeyValue {
 public:
  // Without a guard nothing is written.
  RocksDbKeyValue(std::unique_ptr<rocksdb::DB> db, std::optional<SpaceGuard> guard, Place place)
      : db_(std::move(db)), guard_(std::move(guard)), place_(std::move(place)) {
    if (guard_) return;
    poison_ = Error{ErrorCode::kUnsupported,
                    fmt::format("the store in {} is open to be read", place_.directory),
                    {},
                    {}};
  }
  // An unsynced write survives this process because the log file has it; nothing to do here.
  ~RocksDbKeyValue() override = default;

  Result<std::optional<std::string>> get(std::string_view key) const override {
    std::string value;
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), slice(key), &value);
    if (status.IsNotFound()) {
      return std::optional<std::string>();
    }
    if (!status.ok()) {
      return failure_of(place_, status, "read");
    }
    return std::optional<std::string>(std::move(value));
  }

  Result<void> scan(
      std::string_view prefix, std::string_view from,
      const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(rocksdb::ReadOptions()));
    for (at->Seek(slice(std::max(prefix, from))); at->Valid(); at->Next()) {
      const std::string_view key = view(at->key());
      if (!key.starts_with(prefix) || !visit(key, view(at->value()))) {
        break;
      }
    }
    if (!at->status().ok()) {
      return failure_of(place_, at->status(), "read");
    }
    return {};
  }

  Result<void> write(const std::vector<KeyValueWrite>& batch, bool sync) override {
    rocksdb::WriteBatch writes;
    for (const KeyValueWrite& one : batch) {
      const rocksdb::Status status =
          one.value ? writes.Put(slice(one.key), slice(*one.value)) : writes.Delete(slice(one.key));
      if (!status.ok()) {
        return failure_of(place_, status, "written");
      }
    }
    const std::scoped_lock lock(write_mutex_);
    if (poison_) {
      return std::unexpected(*poison_);
    }
    if (const Result<void> admitted = guard_->admit(writes.GetDataSize()); !admitted) {
      return admitted;
    }
    rocksdb::WriteOptions options;
    options.sync = sync;
    return outcome(db_->Write(options, &writes), "written");
  }

  Result<void> flush() override {
    const std::scoped_lock lock(write_mutex_);
    if (poison_) {
      return std::unexpected(*poison_);
    }
    return outcome(db_->SyncWAL(), "synced");
  }

 private:
  // After a failed write or sync nothing is known of what is on disk: nothing more is written until
  // the store is opened again and reads what is really there.
  Result<void> outcome(const rocksdb::Status& status, std::string_view doing) {
    if (status.ok()) {
      return {};
    }
    poison_ = Error{ErrorCode::kPoisoned,
                    fmt::format("the store in {} takes no writes since one failed: {}",
                                place_.directory, status.ToString()),
                    "Look at the disk, then restart.",
                    {}};
    log_error("a store on RocksDB could not be written and takes no more until a restart",
              {{"directory", place_.directory}, {"error", status.ToString()}});
    if (status.IsCorruption()) {
      return corrupt(place_, status);
    }
    return fail(ErrorCode::kAmbiguous,
                fmt::format("the store in {} could not be {}: {}", place_.directory, doing,
                            status.ToString()),
                "The write may be there or not. Look at the disk, then restart.");
  }

  const std::unique_ptr<rocksdb::DB> db_;
  std::mutex write_mutex_;
  std::optional<SpaceGuard> guard_;
  std::optional<Error> poison_;
  const Place place_;
};

}  // namespace

Result<bool> rocksdb_is_made(FileSystem& fs, const std::string& directory,
                             const std::string& damaged_remedy) {
  const auto names = fs.list(directory);
  if (!names) {
    if (names.error().code == ErrorCode::kNotFound) return false;
    return fail(names);
  }
  if (std::ranges::find(*names, kCurrentName) != names->end()) return true;
  // A crash in the middle of making a store leaves neither: both come after CURRENT.
  const auto data = std::ranges::find_if(*names, [](const std::string& name) {
    return name.ends_with(".sst") || name.ends_with(".log");
  });
  if (data == names->end()) return false;
  return corrupt({directory, damaged_remedy},
                 fmt::format("it has no file {}, but {}", kCurrentName, *data));
}

Result<std::unique_ptr<KeyValue>> open_rocksdb(FileSystem& fs, const std::string& directory,
                                               const RocksDbOptions& options) {
  if (const Result<void> made = fs.make_directories(directory); !made) {
    const ErrorCode code =
        made.error().code == ErrorCode::kFull ? ErrorCode::kFull : ErrorCode::kUnavailable;
    return fail(code,
                fmt::format("the directory {} cannot be made: {}", directory, made.error().detail),
                "Check that the path is a directory and that this user may write to it.");
  }
  const auto made = rocksdb_is_made(fs, directory, options.damaged_remedy);
  if (!made) {
    return fail(made);
  }
  SpaceGuard guard(fs, directory, options);
  // Opening replays the log into a table file: one buffer's worth, and as much again to be safe.
  const Result<void> prepared = guard.prepare(2 * options.write_buffer_bytes);
  if (!prepared) {
    return fail(prepared);
  }
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(rocksdb_options(options, !*made), directory, &raw);
  if (!status.ok()) {
    return open_failure({directory, options.damaged_remedy}, status);
  }
  return std::make_unique<RocksDbKeyValue>(std::unique_ptr<rocksdb::DB>(raw), std::move(guard),
                                           Place{directory, options.damaged_remedy});
}

Result<std::unique_ptr<KeyValue>> open_rocksdb_to_read(const std::string& directory) {
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::OpenForReadOnly(rocksdb_options({}, false), directory, &raw);
  if (!status.ok()) {
    // Nothing was made here: what is missing was there.
    return corrupt({directory, {}}, status);
  }
  std::unique_ptr<rocksdb::DB> db(raw);
  if (const rocksdb::Status sound = db->VerifyChecksum(); !sound.ok()) {
    return corrupt({directory, {}}, sound);
  }
  return std::make_unique<RocksDbKeyValue>(std::move(db), std::nullopt, Place{directory, {}});
}

}  // namespace ackline::io

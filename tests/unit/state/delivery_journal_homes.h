// Journals for the DeliveryStateStore's tests: a list, io's journal in memory, io's journal on
// disk.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackline/base/check.h"
#include "ackline/io/fs/memory_file_system.h"
#include "ackline/io/fs/posix_file_system.h"
#include "ackline/io/journal/journal.h"
#include "tests/conformance/delivery_state_home.h"
#include "tests/support/kv/temp_directory.h"
#include "tests/support/manual_executor.h"
#include "tests/support/state/io_delivery_journal.h"
#include "tests/support/state/journal_delivery_state_store.h"

namespace ackline::testing {

// A journal as a list of batches; what was written outlives the process.
class ListJournal final : public state::DeliveryJournal {
 public:
  struct Written {
    PartitionNumber partition;
    state::JournalBody record;
  };
  bool failing = false;
  std::vector<Written> records;
  int batches = 0;
  int syncs = 0;
  Result<void> write(PartitionNumber partition,
                     std::span<const state::JournalBody> bodies) override {
    if (failing) {
      return fail(ErrorCode::kUnavailable, "the journal is away");
    }
    ++batches;
    for (const state::JournalBody& body : bodies) {
      records.push_back({partition, body});
    }
    return {};
  }
  Result<void> sync() override {
    ++syncs;
    return failing ? fail(ErrorCode::kUnavailable, "the journal is away") : Result<void>();
  }
};

class ListHome final : public DeliveryStateHome {
 public:
  ListHome() { restart(); }
  state::DeliveryStateStore& store() override { return *store_; }
  void restart() override {
    store_.reset();
    state::BootRecord boot{Epoch(++epoch_), 1};
    state::JournalBody body{state::RecordType::kBoot, {}};
    boot.encode(body.body);
    journal.records.push_back({PartitionNumber(), body});
    state::DeliveryImage image;
    for (const ListJournal::Written& written : journal.records) {
      const auto applied =
          image.apply(written.record.type, written.partition, as_bytes(written.record.body));
      ACKLINE_CHECK(applied.has_value());
    }
    clock_.advance(1'000'000);  // the machine was off for a while
    store_ = std::make_unique<state::JournalDeliveryStateStore>(journal, clock_, std::move(image));
  }
  void power_cut() override { restart(); }
  Epoch epoch() const override { return Epoch(epoch_); }
  void advance(std::int64_t ms) override {
    clock_.advance(ms);
    ACKLINE_CHECK(store_->mark_alive().has_value());
  }
  void fail_writes(bool failing) override { journal.failing = failing; }

  ListJournal journal;

 private:
  ManualClock clock_;
  std::uint32_t epoch_ = 0;
  std::unique_ptr<state::JournalDeliveryStateStore> store_;
};

// Storage work is done at once; its end still comes back as a task.
class InlineStorage final : public StorageExecutor {
 public:
  void run(std::uint32_t /*lane*/, Task work, Executor& home, Task done) override {
    work();
    home.post(std::move(done));
  }
};

// The shard journal of the product, found again by its own recovery.
class JournalHome : public DeliveryStateHome {
 public:
  state::DeliveryStateStore& store() override { return *store_; }
  void restart() override {
    end_process();
    start();
  }
  Epoch epoch() const override { return Epoch(epoch_); }
  void advance(std::int64_t ms) override {
    executor_->advance(ms);
    ACKLINE_CHECK(store_->mark_alive().has_value());
  }

 protected:
  JournalHome(io::FileSystem& fs, std::string directory)
      : fs_(fs), directory_(std::move(directory)) {}

  void end_process() {
    store_.reset();
    adapter_.reset();
    journal_.reset();
    executor_.reset();
  }
  void start() {
    executor_ = std::make_unique<ManualExecutor>();
    executor_->advance(1'000'000);  // the machine was off for a while
    state::DeliveryImage image;
    const auto take = [&image](Lsn /*lsn*/, const io::JournalRecord& record) {
      return image.apply(static_cast<state::RecordType>(record.type), record.partition,
                         record.body);
    };
    auto recovered = io::recover_journal(fs_, directory_, {}, nullptr, take);
    ACKLINE_CHECK(recovered.has_value());
    ACKLINE_CHECK(recovered->damage.empty());
    std::string boot;
    state::BootRecord{Epoch(++epoch_), 1}.encode(boot);
    const io::JournalRecord record{static_cast<std::uint8_t>(state::RecordType::kBoot),
                                   PartitionNumber(), as_bytes(boot)};
    ACKLINE_CHECK(image.apply(state::RecordType::kBoot, PartitionNumber(), record.body));
    io::JournalOptions options{.fs = fs_,
                               .directory = directory_,
                               .shard = ShardIndex{0},
                               .executor = *executor_,
                               .storage = storage_,
                               .file_bytes = 64 << 10,
                               .first_file_bytes = 16 << 10};
    auto opened = io::Journal::open(std::move(options), *recovered, record);
    ACKLINE_CHECK(opened.has_value());
    journal_ = std::move(*opened);
    adapter_ =
        std::make_unique<state::IoDeliveryJournal>(*journal_, [this] { executor_->drain(); });
    store_ = std::make_unique<state::JournalDeliveryStateStore>(*adapter_, executor_->clock(),
                                                                std::move(image));
  }

  io::FileSystem& fs_;
  std::unique_ptr<io::Journal> journal_;

 private:
  const std::string directory_;
  InlineStorage storage_;
  std::unique_ptr<ManualExecutor> executor_;
  std::uint32_t epoch_ = 0;
  std::unique_ptr<state::IoDeliveryJournal> adapter_;
  std::unique_ptr<state::JournalDeliveryStateStore> store_;
};

// On files in memory, which know what a kill and a power cut leave.
struct MemoryPlace {
  io::MemoryFileSystem memory;
};

class MemoryJournalHome final : public MemoryPlace, public JournalHome {
 public:
  MemoryJournalHome() : JournalHome(memory, "/data/journal") { start(); }
  ~MemoryJournalHome() override { end_process(); }
  void restart() override {
    memory.kill();
    JournalHome::restart();
  }
  void power_cut() override {
    memory.power_cut(random_);
    JournalHome::restart();
  }
  void fail_writes(bool failing) override {
    if (!failing) {
      memory.set_fault_hook(nullptr);
      return;
    }
    // Some of the bytes arrive all the same.
    memory.set_fault_hook([](io::FsOperation operation, const std::string&) {
      return operation == io::FsOperation::kWrite
                 ? std::optional(io::FsFault{{ErrorCode::kUnavailable, "no", {}, {}}, 20})
                 : std::nullopt;
    });
  }

 private:
  Random random_{11};
};

// The machine's own files, behind a door that can be shut for writes.
class Door final : public io::FileSystem {
 public:
  bool shut = false;
  Result<std::unique_ptr<io::File>> open(const std::string& path, io::OpenMode mode) override {
    auto opened = below_.open(path, mode);
    if (!opened) return opened;
    return std::unique_ptr<io::File>(std::make_unique<Guarded>(std::move(*opened), *this));
  }
  Result<bool> exists(const std::string& path) override { return below_.exists(path); }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return below_.rename(from, to);
  }
  Result<void> remove(const std::string& path) override { return below_.remove(path); }
  Result<void> make_directories(const std::string& path) override {
    return below_.make_directories(path);
  }
  Result<std::vector<std::string>> list(const std::string& directory) override {
    return below_.list(directory);
  }
  Result<void> remove_all(const std::string& path) override { return below_.remove_all(path); }
  Result<void> sync_directory(const std::string& directory) override {
    return below_.sync_directory(directory);
  }
  Result<std::unique_ptr<io::FileLock>> lock(const std::string& path) override {
    return below_.lock(path);
  }
  Result<std::uint64_t> free_bytes(const std::string& path) override {
    return below_.free_bytes(path);
  }

 private:
  class Guarded final : public io::File {
   public:
    Guarded(std::unique_ptr<io::File> below, const Door& door)
        : below_(std::move(below)), door_(door) {}
    Result<void> write(std::uint64_t position, ByteView bytes) override {
      return door_.shut ? fail(ErrorCode::kUnavailable, "the door is shut")
                        : below_->write(position, bytes);
    }
    Result<std::size_t> read(std::uint64_t position, std::span<std::byte> out) const override {
      return below_->read(position, out);
    }
    Result<std::size_t> read_nowait(std::uint64_t position,
                                    std::span<std::byte> out) const override {
      return below_->read_nowait(position, out);
    }
    Result<void> sync() override { return below_->sync(); }
    Result<void> resize(std::uint64_t size) override { return below_->resize(size); }
    Result<std::uint64_t> size() const override { return below_->size(); }

   private:
    std::unique_ptr<io::File> below_;
    const Door& door_;
  };
  io::PosixFileSystem below_;
};

// A base, so that it is there before the journal.
struct PosixPlace {
  TempDirectory directory;
  Door door;
};

class PosixJournalHome final : private PosixPlace, public JournalHome {
 public:
  PosixJournalHome() : JournalHome(door, directory.path() + "/journal") { start(); }
  ~PosixJournalHome() override { end_process(); }
  void power_cut() override { restart(); }
  void fail_writes(bool failing) override { door.shut = failing; }
};

}  // namespace ackline::testing

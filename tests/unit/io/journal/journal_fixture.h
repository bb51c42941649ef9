// A journal on a file system in memory, with records that are easy to compare.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "ackline/io/fs/memory_file_system.h"
#include "ackline/io/journal/format.h"
#include "ackline/io/journal/journal.h"
#include "tests/support/manual_executor.h"

namespace ackline::io::test {

using ackline::testing::ManualExecutor;
using ackline::testing::ManualStorage;

inline constexpr std::uint8_t kBootType = 250;
inline constexpr std::uint8_t kAliveType = 251;

struct ReadRecord {
  Lsn lsn;
  std::uint8_t type = 0;
  PartitionNumber partition;
  std::string body;
  bool operator==(const ReadRecord&) const = default;
};

struct ReadBack {
  JournalRecovery recovery;
  std::vector<ReadRecord> records;  // boot and alive records left out

  [[nodiscard]] std::vector<std::string> bodies() const {
    std::vector<std::string> all;
    for (const auto& record : records) all.push_back(record.body);
    return all;
  }
};

inline Result<ReadBack> read_back(FileSystem& fs, const std::string& directory,
                                  const RecoverOptions& options = {}) {
  ReadBack back;
  auto recovery = recover_journal(
      fs, directory, options, nullptr, [&](Lsn lsn, const JournalRecord& record) -> Result<void> {
        if (record.type < kBootType) {
          back.records.push_back(
              {lsn, record.type, record.partition, std::string(as_text(record.body))});
        }
        return {};
      });
  if (!recovery) return fail(recovery);
  back.recovery = std::move(*recovery);
  return back;
}

class JournalTest : public ::testing::Test {
 protected:
  JournalOptions options(FileSystem& disk) {
    return {.fs = disk,
            .directory = "/data/journal",
            .shard = ShardIndex{0},
            .executor = executor,
            .storage = storage,
            .new_journal_id = 0x1234'5678'9abc'def0,
            .file_bytes = file_bytes,
            .first_file_bytes = first_file_bytes};
  }

  // Recovers and opens; the records that were there are in `back`.
  void boot(MemoryFileSystem& disk, const RecoverOptions& recover = {}) {
    auto read = read_back(disk, "/data/journal", recover);
    ASSERT_TRUE(read) << read.error().detail;
    back = std::move(*read);
    auto opened = Journal::open(options(disk), back.recovery,
                                {kBootType, PartitionNumber{0}, as_bytes("boot")});
    ASSERT_TRUE(opened) << opened.error().detail;
    journal = std::move(*opened);
  }

  Result<Lsn> write(std::uint32_t partition, std::string_view body) {
    journal->append(1, PartitionNumber{partition}, as_bytes(body));
    return journal->commit();
  }
  void sync() {
    journal->want_sync();
    settle(executor, storage);
  }
  // The process is gone; what it had planned never happens.
  void die() {
    executor.forget();
    storage.forget();
    journal.reset();
  }

  std::uint64_t file_bytes = 64 * 1024;
  std::uint64_t first_file_bytes = 16 * 1024;
  ManualExecutor executor;
  ManualStorage storage;
  MemoryFileSystem fs;
  ReadBack back;
  std::unique_ptr<Journal> journal;
};

}  // namespace ackline::io::test

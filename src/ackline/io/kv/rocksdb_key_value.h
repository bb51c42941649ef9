// KeyValue on RocksDB, in one directory.
//
// RocksDB ends the process when it meets a full disk (Debian's build has asserts on), so it never
// meets one: before each write the free space is compared with `guard_bytes`, and a reserve file in
// the directory is given back to the system on entering "full", so that RocksDB's own background
// writes still fit. Writes are taken again once guard and reserve both fit.
//
// Blocking: call it on storage threads. Any thread. The directory is locked by RocksDB against a
// second open. A second process or object gets kInUse, a directory that may not be written
// kUnavailable, a damaged store kCorrupt with the path and what to do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ackline/base/result.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/io/kv/key_value.h"

namespace ackline::io {

struct RocksDbOptions {
  // Writes are refused while fewer bytes than this are free.
  std::uint64_t guard_bytes = 32ULL << 20U;
  // Size of the reserve file; 0: none.
  std::uint64_t reserve_bytes = 16ULL << 20U;
  std::uint64_t write_buffer_bytes = 4ULL << 20U;
  int max_open_files = 64;
  // Of errors about damage; "" = a backup.
  std::string damaged_remedy;
};

// Opens the store in `directory`, made when none was made there (`rocksdb_is_made`). `fs` is asked
// for free space and holds the reserve file; it outlives the store.
[[nodiscard]] Result<std::unique_ptr<KeyValue>> open_rocksdb(FileSystem& fs,
                                                             const std::string& directory,
                                                             const RocksDbOptions& options = {});

// Whether a store was made in `directory`. kCorrupt when there are files that only a store has and
// not the one that says which of them count: what would be made anew beside them, or over them, is
// a store that has lost everything.
[[nodiscard]] Result<bool> rocksdb_is_made(FileSystem& fs, const std::string& directory,
                                           const std::string& damaged_remedy = {});

// Opens the store to look at it: no file of it is changed, writes are refused (kUnsupported). Every
// block of every table is read and compared with its checksum first: kCorrupt where one does not
// hold, or where a file is missing. kInUse while somebody has it open to write is not told.
[[nodiscard]] Result<std::unique_ptr<KeyValue>> open_rocksdb_to_read(const std::string& directory);

}  // namespace ackline::io

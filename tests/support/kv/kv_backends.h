// KeyValue backends as test parameters: a disk that can be opened again and again.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "ackline/base/random.h"
#include "ackline/io/fs/posix_file_system.h"
#include "ackline/io/kv/rocksdb_key_value.h"
#include "tests/support/kv/memory_key_value.h"
#include "tests/support/kv/temp_directory.h"

namespace ackline::testing {

class KvDisk {
 public:
  virtual ~KvDisk() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<io::KeyValue>> open() = 0;
  // The machine loses power, with no handle open. Where that cannot be done: nothing.
  virtual void power_cut(Random& /*random*/) {}
};
using KvDiskFactory = std::unique_ptr<KvDisk> (*)();

class MemoryKvDisk final : public KvDisk {
 public:
  Result<std::unique_ptr<io::KeyValue>> open() override { return disk_.open(); }
  void power_cut(Random& random) override { disk_.power_cut(random); }

 private:
  MemoryKeyValueDisk disk_;
};

class RocksDbKvDisk final : public KvDisk {
 public:
  Result<std::unique_ptr<io::KeyValue>> open() override {
    // Small numbers: the tests do not need the room, and the disk of a test machine may be small.
    io::RocksDbOptions options;
    options.guard_bytes = 1 << 20;
    options.reserve_bytes = 64 << 10;
    return io::open_rocksdb(fs_, directory_.path() + "/kv", options);
  }

 private:
  TempDirectory directory_;
  io::PosixFileSystem fs_;
};

inline std::unique_ptr<KvDisk> memory_kv_disk() {
  return std::make_unique<MemoryKvDisk>();
}
inline std::unique_ptr<KvDisk> rocksdb_kv_disk() {
  return std::make_unique<RocksDbKvDisk>();
}

}  // namespace ackline::testing

// The operating system's files: the product's FileSystem.
//
// Stateless; any thread. Files are opened close-on-exec, mode 0600, directories 0700. Locks are
// flock: the system releases them when the process dies, however it dies.
#pragma once

#include "ackline/io/fs/file_system.h"

namespace ackline::io {

class PosixFileSystem final : public FileSystem {
 public:
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
};

}  // namespace ackline::io

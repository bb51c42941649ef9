#include "ackline/io/fs/posix_file_system.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace ackline::io {
namespace {

std::unexpected<Error> system_failure(std::string_view doing, const std::string& path, int number) {
  ErrorCode code = ErrorCode::kUnavailable;
  std::string remedy;
  if (number == ENOENT || number == ENOTDIR) code = ErrorCode::kNotFound;
  if (number == EEXIST) code = ErrorCode::kStale;
  if (number == ENOSPC || number == EDQUOT) {
    code = ErrorCode::kFull;
    remedy = "Free space on the file system that holds the data directory.";
  }
  return fail(code,
              std::string(doing) + " " + path + ": " + std::generic_category().message(number),
              std::move(remedy));
}

// A descriptor that closes itself. Closing reports nothing: what mattered was synced before.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

int open_retrying(const std::string& path, int flags) {
  for (;;) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

class PosixFile final : public File {
 public:
  PosixFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  Result<void> write(std::uint64_t position, ByteView bytes) override {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(position));
      if (count < 0) {
        if (errno == EINTR) continue;
        return system_failure("write", path_, errno);
      }
      if (count == 0) return system_failure("write", path_, ENOSPC);
      position += static_cast<std::uint64_t>(count);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
  }

  Result<std::size_t> read(std::uint64_t position, std::span<std::byte> out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t count = ::pread(fd_.get(), out.data() + done, out.size() - done,
                                    static_cast<off_t>(position + done));
      if (count < 0) {
        if (errno == EINTR) continue;
        return system_failure("read", path_, errno);
      }
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  Result<std::size_t> read_nowait(std::uint64_t position, std::span<std::byte> out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const iovec part{out.data() + done, out.size() - done};
      const ssize_t count =
          ::preadv2(fd_.get(), &part, 1, static_cast<off_t>(position + done), RWF_NOWAIT);
      if (count < 0) {
        if (errno == EINTR) continue;
        // File systems without the flag (tmpfs on old kernels) keep their data in memory anyway.
        if (errno == EOPNOTSUPP) return read(position, out);
        if (errno == EAGAIN) return fail(ErrorCode::kTimeout, path_ + ": not in memory");
        return system_failure("read", path_, errno);
      }
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  Result<void> sync() override {
    while (::fdatasync(fd_.get()) != 0) {
      if (errno != EINTR) return system_failure("sync", path_, errno);
    }
    return {};
  }

  Result<void> resize(std::uint64_t size) override {
    auto now = this->size();
    if (!now) return fail(now);
    if (size > *now) return grow(*now, size);
    while (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
      if (errno != EINTR) return system_failure("resize", path_, errno);
    }
    return {};
  }

  Result<std::uint64_t> size() const override {
    struct stat status{};
    if (::fstat(fd_.get(), &status) != 0) return system_failure("stat", path_, errno);
    return static_cast<std::uint64_t>(status.st_size);
  }

 private:
  Result<void> grow(std::uint64_t from, std::uint64_t to) {
    for (;;) {
      if (::fallocate(fd_.get(), 0, static_cast<off_t>(from), static_cast<off_t>(to - from)) == 0) {
        return {};
      }
      if (errno == EINTR) continue;
      if (errno == EOPNOTSUPP) return fill(from, to);
      return system_failure("allocate", path_, errno);
    }
  }

  Result<void> fill(std::uint64_t from, std::uint64_t to) {
    static constexpr std::array<std::byte, 65536> kZeros{};
    while (from < to) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(to - from, 65536));
      if (auto done = write(from, ByteView(kZeros.data(), count)); !done) return done;
      from += count;
    }
    return {};
  }

  const std::string path_;
  const Descriptor fd_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(int fd) : fd_(fd) {}

 private:
  const Descriptor fd_;
};

Result<void> write_own_pid(int fd, const std::string& path) {
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return system_failure("write", path, errno);
  }
  return {};
}

std::string holder_of(int fd) {
  std::array<char, 32> text{};
  const ssize_t count = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!pid.empty() && (pid.back() == '\n' || pid.back() == ' ')) pid.pop_back();
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

Result<std::unique_ptr<File>> PosixFileSystem::open(const std::string& path, OpenMode mode) {
  int flags = O_RDWR;
  if (mode == OpenMode::kRead) flags = O_RDONLY;
  if (mode == OpenMode::kCreate) flags = O_RDWR | O_CREAT;
  if (mode == OpenMode::kCreateNew) flags = O_RDWR | O_CREAT | O_EXCL;
  const int fd = open_retrying(path, flags);
  if (fd < 0) return system_failure("open", path, errno);
  return std::make_unique<PosixFile>(path, fd);
}

Result<bool> PosixFileSystem::exists(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return system_failure("stat", path, errno);
}

Result<void> PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return system_failure("rename", from + " to " + to, errno);
}

Result<void> PosixFileSystem::remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return {};
  return system_failure("remove", path, errno);
}

Result<void> PosixFileSystem::make_directories(const std::string& path) {
  for (std::size_t end = 0; end < path.size();) {
    end = path.find('/', end + 1);
    if (end == std::string::npos) end = path.size();
    const std::string prefix = path.substr(0, end);
    if (prefix.empty() || prefix == ".") continue;
    if (::mkdir(prefix.c_str(), 0700) == 0) {
      // A directory that a power cut takes away takes all its files along.
      if (auto done = sync_directory(parent_of(prefix)); !done) return done;
    } else if (errno != EEXIST && errno != EISDIR) {
      return system_failure("make directory", prefix, errno);
    }
  }
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return system_failure("stat", path, errno);
  if (!S_ISDIR(status.st_mode)) return system_failure("make directory", path, ENOTDIR);
  return {};
}

Result<std::vector<std::string>> PosixFileSystem::list(const std::string& directory) {
  std::error_code failure;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(directory, failure);
  while (!failure && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(failure);
  }
  if (failure) return system_failure("list", directory, failure.value());
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> PosixFileSystem::remove_all(const std::string& path) {
  std::error_code failure;
  std::filesystem::remove_all(path, failure);
  if (failure) return system_failure("remove", path, failure.value());
  return {};
}

Result<void> PosixFileSystem::sync_directory(const std::string& directory) {
  const Descriptor fd(open_retrying(directory, O_RDONLY | O_DIRECTORY));
  if (fd.get() < 0) return system_failure("open directory", directory, errno);
  while (::fsync(fd.get()) != 0) {
    if (errno != EINTR) return system_failure("sync directory", directory, errno);
  }
  return {};
}

Result<std::unique_ptr<FileLock>> PosixFileSystem::lock(const std::string& path) {
  const int fd = open_retrying(path, O_RDWR | O_CREAT);
  if (fd < 0) return system_failure("open", path, errno);
  auto lock = std::make_unique<PosixFileLock>(fd);
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return system_failure("lock", path, errno);
    return fail(ErrorCode::kInUse, path + " is locked by process " + holder_of(fd),
                "Stop that process, or use another data directory.");
  }
  if (auto done = write_own_pid(fd, path); !done) return fail(done);
  return lock;
}

Result<std::uint64_t> PosixFileSystem::free_bytes(const std::string& path) {
  struct statvfs status{};
  if (::statvfs(path.c_str(), &status) != 0) return system_failure("statvfs", path, errno);
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace ackline::io

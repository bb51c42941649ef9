// Faults for a real process, from outside: a library for LD_PRELOAD that lets chosen file
// operations fail and shifts the wall clock. tests/integration/lib/shim.py builds it and tells it
// what to do through a file that both sides have mapped.
//
// A rule names an operation, a part of the path and an error number; it lets `skip` matches pass
// and then fails `left` of them. Everything else goes on to libc. Any thread.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// As shim.py packs it: little-endian, 8-byte aligned.
struct Rule {
  char operation[16];
  char path[104];
  std::atomic<std::int32_t> error;
  std::atomic<std::int32_t> skip;
  std::atomic<std::int32_t> left;
  std::atomic<std::int32_t> hits;
};
struct Control {
  std::atomic<std::int64_t> clock_ms;
  std::atomic<std::int64_t> rules;  // how many are in use
  Rule rule[8];
};

Control* control() {
  static Control* const mapped = []() -> Control* {
    const char* path = std::getenv("FAULT_SHIM_FILE");
    if (path == nullptr) return nullptr;
    using Open = int (*)(const char*, int, ...);
    const auto real = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, "open"));
    const int fd = real(path, O_RDWR);
    if (fd < 0) return nullptr;
    void* at = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    return at == MAP_FAILED ? nullptr : static_cast<Control*>(at);
  }();
  return mapped;
}

// 0: goes through.
int fault_of(const char* operation, const char* path) {
  Control* told = control();
  if (told == nullptr) return 0;
  const std::int64_t count = told->rules.load();
  for (std::int64_t i = 0; i < count && i < 8; ++i) {
    Rule& rule = told->rule[i];
    if (std::strcmp(rule.operation, operation) != 0) continue;
    if (std::strstr(path, rule.path) == nullptr) continue;
    if (rule.skip.load() > 0 && rule.skip.fetch_sub(1) > 0) continue;
    if (rule.left.load() <= 0 || rule.left.fetch_sub(1) <= 0) continue;
    rule.hits.fetch_add(1);
    return rule.error.load();
  }
  return 0;
}

int fault_of(const char* operation, int fd) {
  Control* told = control();
  if (told == nullptr || told->rules.load() == 0) return 0;
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  char path[PATH_MAX];
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return fault_of(operation, path);
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

bool failed(int error) {
  if (error == 0) return false;
  errno = error;
  return true;
}

}  // namespace

extern "C" {

ssize_t pwrite(int fd, const void* bytes, size_t count, off_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return failed(fault_of("write", fd)) ? -1 : real(fd, bytes, count, at);
}
ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t at) {
  return pwrite(fd, bytes, count, at);
}
ssize_t write(int fd, const void* bytes, size_t count) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return failed(fault_of("write", fd)) ? -1 : real(fd, bytes, count);
}
int fdatasync(int fd) {
  static const auto real = next<int (*)(int)>("fdatasync");
  return failed(fault_of("sync", fd)) ? -1 : real(fd);
}
int fsync(int fd) {
  static const auto real = next<int (*)(int)>("fsync");
  return failed(fault_of("sync", fd)) ? -1 : real(fd);
}
int fallocate(int fd, int mode, off_t at, off_t count) {
  static const auto real = next<int (*)(int, int, off_t, off_t)>("fallocate");
  return failed(fault_of("allocate", fd)) ? -1 : real(fd, mode, at, count);
}
int fallocate64(int fd, int mode, off64_t at, off64_t count) {
  return fallocate(fd, mode, at, count);
}
int ftruncate(int fd, off_t size) {
  static const auto real = next<int (*)(int, off_t)>("ftruncate");
  return failed(fault_of("truncate", fd)) ? -1 : real(fd, size);
}
int ftruncate64(int fd, off64_t size) {
  return ftruncate(fd, size);
}
int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return failed(fault_of("rename", to)) ? -1 : real(from, to);
}
int unlink(const char* path) {
  static const auto real = next<int (*)(const char*)>("unlink");
  return failed(fault_of("unlink", path)) ? -1 : real(path);
}
int mkdir(const char* path, mode_t mode) {
  static const auto real = next<int (*)(const char*, mode_t)>("mkdir");
  return failed(fault_of("mkdir", path)) ? -1 : real(path, mode);
}
ssize_t pread(int fd, void* bytes, size_t count, off_t at) {
  static const auto real = next<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  return failed(fault_of("read", fd)) ? -1 : real(fd, bytes, count, at);
}
ssize_t pread64(int fd, void* bytes, size_t count, off64_t at) {
  return pread(fd, bytes, count, at);
}

int open(const char* path, int flags, ...) {
  static const auto real = next<int (*)(const char*, int, ...)>("open");
  va_list more;
  va_start(more, flags);
  const bool makes = (flags & O_CREAT) != 0;
  const mode_t mode = makes ? va_arg(more, mode_t) : 0;
  va_end(more);
  return makes && failed(fault_of("create", path)) ? -1 : real(path, flags, mode);
}

int clock_gettime(clockid_t which, timespec* out) noexcept {
  static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int done = real(which, out);
  if (done == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) {
    if (const Control* told = control(); told != nullptr) {
      out->tv_sec += told->clock_ms.load() / 1000;
    }
  }
  return done;
}
}

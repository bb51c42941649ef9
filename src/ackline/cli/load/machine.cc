#include "ackline/cli/load/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

#include "ackline/cli/load/loop.h"

namespace ackline::cli::load {
namespace {

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.cpu = cpu_model();
  machine.cores = std::thread::hardware_concurrency();
  utsname name{};
  machine.kernel = uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.release) : "unknown";
  if (getloadavg(&machine.load, 1) != 1) machine.load = 0;
  return machine;
}

Result<double> sync_rate(const std::string& directory) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kFile = 16 * 1024 * 1024;
  constexpr double kSeconds = 0.7;
  const int fd = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{}: {}", directory, std::generic_category().message(errno)));
  }
  const std::string zeros(kFile, '\0');
  const std::string page(kPage, 'x');
  bool good =
      pwrite(fd, zeros.data(), zeros.size(), 0) == static_cast<ssize_t>(kFile) && fsync(fd) == 0;
  std::size_t count = 0;
  const double begin = seconds_now();
  for (; good && seconds_now() - begin < kSeconds; ++count) {
    const auto at = static_cast<off_t>(count * kPage % kFile);
    good = pwrite(fd, page.data(), kPage, at) == static_cast<ssize_t>(kPage) && fdatasync(fd) == 0;
  }
  const double seconds = seconds_now() - begin;
  const int why = errno;
  close(fd);
  if (!good) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{}: {}", directory, std::generic_category().message(why)));
  }
  return static_cast<double>(count) / seconds;
}

}  // namespace ackline::cli::load

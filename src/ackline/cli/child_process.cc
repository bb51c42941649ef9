#include "ackline/cli/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

extern char** environ;

namespace ackline::cli {
namespace {

constexpr int kStepMs = 10;

std::unexpected<Error> system_error(std::string_view what, int number) {
  return fail(ErrorCode::kUnavailable,
              fmt::format("{}: {}", what, std::generic_category().message(number)));
}

int exit_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn(std::vector<std::string> arguments, std::vector<std::string> extra_environment,
                    posix_spawn_file_actions_t& files) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGPIPE, SIGTERM, SIGINT}) sigaddset(&defaults, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  for (char** at = environ; *at != nullptr; ++at) extra_environment.emplace_back(*at);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> env = pointers(extra_environment);
  pid_t pid = -1;
  const int failed =
      posix_spawn(&pid, arguments.front().c_str(), &files, &attributes, argv.data(), env.data());
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) return system_error(fmt::format("cannot start {}", arguments.front()), failed);
  return pid;
}

// A child that reads no further is no error: its exit code says how it liked the event.
void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(to, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace

Result<int> run_shell(const std::string& command, std::string_view input,
                      const std::vector<std::string>& extra_environment) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
  const auto pid = spawn({"/bin/sh", "-c", command}, extra_environment, files);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[0]);
  if (pid) write_all(ends[1], input);
  ::close(ends[1]);
  if (!pid) return fail(pid);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0) {
    if (errno != EINTR) return system_error("cannot wait for the command", errno);
  }
  return exit_of(status);
}

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments,
                                         const std::string& log_path) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log_path.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  const auto pid = spawn(arguments, {}, files);
  posix_spawn_file_actions_destroy(&files);
  if (!pid) return fail(pid);
  return ChildProcess(*pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), exit_(other.exit_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  end();
  pid_ = std::exchange(other.pid_, -1);
  exit_ = other.exit_;
  return *this;
}

ChildProcess::~ChildProcess() {
  end();
}

void ChildProcess::end() {
  if (pid_ < 0 || poll() >= 0) return;
  kill(SIGKILL);
  while (wait(60'000) < 0) {
  }
}

int ChildProcess::poll() {
  if (exit_ >= 0 || pid_ < 0) return exit_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) exit_ = exit_of(status);
  return exit_;
}

void ChildProcess::kill(int signal) const {
  if (pid_ > 0 && exit_ < 0) ::kill(pid_, signal);
}

int ChildProcess::wait(std::int64_t timeout_ms) {
  while (poll() < 0 && timeout_ms > 0) {
    static_cast<void>(::poll(nullptr, 0, kStepMs));
    timeout_ms -= kStepMs;
  }
  return exit_;
}

std::string own_program() {
  std::string path(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return path;
}

}  // namespace ackline::cli

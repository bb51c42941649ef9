#include "ackline/cli/load/loop.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ackline/cli/load/connection.h"

namespace ackline::cli::load {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

}  // namespace

double seconds_now() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) / 1e9;
}

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), scratch_(kReadBytes, '\0') {
  if (epoll_ < 0) fail("the system gives no epoll descriptor");
  prctl(PR_SET_TIMERSLACK, 1);  // an open loop sleeps for tens of microseconds
}

Loop::~Loop() {
  if (epoll_ >= 0) close(epoll_);
}

void Loop::fail(std::string why) {
  if (why_.empty()) why_ = std::move(why);
}

Error Loop::error() const {
  return Error{ErrorCode::kUnavailable, why_, {}, {}};
}

void Loop::add(Connection& connection) {
  if (connection.fd() < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &connection;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd(), &event) != 0) fail("epoll_ctl failed");
}

void Loop::remove(Connection& connection) {
  if (connection.fd() >= 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, connection.fd(), nullptr);
}

void Loop::arm(Connection& connection, bool for_room) {
  epoll_event event{};
  event.events = for_room ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &connection;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd(), &event);
}

void Loop::flush(Connection& connection) {
  if (connection.flush()) arm(connection, true);
}

void Loop::wait(double until) {
  const double left = std::max(0.0, until - seconds_now());
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(left);
  timeout.tv_nsec = static_cast<long>((left - std::floor(left)) * 1e9);
  std::array<epoll_event, 64> events{};
  const int ready =
      epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &timeout, nullptr);
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    Connection& connection = *static_cast<Connection*>(event.data.ptr);
    if ((event.events & EPOLLOUT) != 0 && !connection.flush()) arm(connection, false);
    if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) connection.receive();
  }
}

}  // namespace ackline::cli::load

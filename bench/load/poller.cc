#include "bench/load/poller.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "bench/support/rounds.h"

namespace ackline::bench {

Poller::Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) give_up("epoll");
  prctl(PR_SET_TIMERSLACK, 1);  // an open loop sleeps for tens of microseconds
}

Poller::~Poller() {
  close(epoll_);
}

void Poller::add(Connection& connection) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &connection;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd(), &event) != 0) give_up("epoll_ctl");
}

void Poller::arm(Connection& connection, bool for_room) {
  epoll_event event{};
  event.events = for_room ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &connection;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd(), &event);
}

void Poller::flush(Connection& connection) {
  if (connection.flush()) arm(connection, true);
}

void Poller::wait(double until) {
  const double left = std::max(0.0, until - monotonic_seconds());
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

}  // namespace ackline::bench

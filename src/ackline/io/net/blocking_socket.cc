#include "ackline/io/net/blocking_socket.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "ackline/base/clock.h"
#include "ackline/io/net/address.h"

namespace ackline::io::net {
namespace {

class Deadline {
 public:
  explicit Deadline(std::int64_t timeout_ms) : at_(clock_.mono().plus(timeout_ms)) {}
  [[nodiscard]] int left_ms() const {
    return static_cast<int>(std::clamp<std::int64_t>(at_.value() - clock_.mono().value(), 0,
                                                     std::numeric_limits<int>::max()));
  }

 private:
  SystemClock clock_;
  MonoMs at_;
};

// True when `fd` is ready or broken, false when the time is over.
bool wait_for(int fd, short events, const Deadline& deadline) {
  pollfd entry{fd, events, 0};
  for (;;) {
    const int ready = ::poll(&entry, 1, deadline.left_ms());
    if (ready > 0) {
      return true;
    }
    if (ready == 0 || errno != EINTR) {
      return false;
    }
  }
}

std::unexpected<Error> timed_out(std::string_view what) {
  return fail(ErrorCode::kTimeout, fmt::format("timed out: {}", what));
}

Result<Socket> connect_to(const Address& address, const Deadline& deadline) {
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                address.text());
  int code = socket.valid() ? 0 : errno;
  if (code == 0 && ::connect(socket.fd(), address.get(), address.size) != 0) {
    code = errno;
  }
  if (code == EINPROGRESS) {
    if (!wait_for(socket.fd(), POLLOUT, deadline)) {
      return timed_out("connecting to " + address.text());
    }
    socklen_t size = sizeof(code);
    (void)::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &code, &size);
  }
  if (code != 0) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("cannot connect to {}: {}", address.text(),
                            std::generic_category().message(code)),
                "Is the server running, and is this its address?");
  }
  const int on = 1;
  (void)::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return socket;
}

}  // namespace

Result<BlockingSocket> BlockingSocket::connect(const std::string& host, std::uint16_t port,
                                               std::int64_t timeout_ms) {
  const Deadline deadline(timeout_ms);
  const auto addresses = resolve(host, port);
  if (!addresses) {
    return fail(addresses);
  }
  Result<Socket> socket = fail(ErrorCode::kUnavailable, "no address");
  for (const Address& address : *addresses) {
    socket = connect_to(address, deadline);
    if (socket) {
      return BlockingSocket(std::move(*socket));
    }
  }
  return fail(socket);
}

Result<void> BlockingSocket::write_all(std::string_view bytes, std::int64_t timeout_ms) {
  const Deadline deadline(timeout_ms);
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket_.fd(), POLLOUT, deadline)) {
        return timed_out("sending to " + socket_.remote());
      }
    } else if (errno != EINTR) {
      return fail(ErrorCode::kUnavailable, fmt::format("{} hung up: {}", socket_.remote(),
                                                       std::generic_category().message(errno)));
    }
  }
  return {};
}

Result<std::size_t> BlockingSocket::read_some(std::span<char> into, std::int64_t timeout_ms) {
  const Deadline deadline(timeout_ms);
  for (;;) {
    const ssize_t got = ::recv(socket_.fd(), into.data(), into.size(), MSG_DONTWAIT);
    if (got >= 0) {
      return static_cast<std::size_t>(got);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket_.fd(), POLLIN, deadline)) {
        return timed_out("waiting for " + socket_.remote());
      }
    } else if (errno != EINTR) {
      return fail(ErrorCode::kUnavailable, fmt::format("{} hung up: {}", socket_.remote(),
                                                       std::generic_category().message(errno)));
    }
  }
}

bool BlockingSocket::stale() const {
  char byte = 0;
  const ssize_t got = ::recv(socket_.fd(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

void BlockingSocket::shutdown_send() {
  (void)::shutdown(socket_.fd(), SHUT_WR);
}

}  // namespace ackline::io::net

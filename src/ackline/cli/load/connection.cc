#include "ackline/cli/load/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ackline::cli::load {
namespace {

// A connected socket that does not block, or -1 with the reason in errno.
int connected(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    errno = EADDRNOTAVAIL;
    return -1;
  }
  int fd = -1;
  int why = 0;
  for (const addrinfo* one = found; one != nullptr && fd < 0; one = one->ai_next) {
    fd = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, one->ai_addr, one->ai_addrlen) != 0) {
      why = errno;
      close(fd);
      fd = -1;
    }
  }
  freeaddrinfo(found);
  if (fd < 0) {
    errno = why;
    return -1;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

}  // namespace

Connection::Connection(Loop& loop, const std::string& address, Take take)
    : loop_(loop), take_(std::move(take)) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    loop_.fail(fmt::format("'{}' is not host:port", address));
    return;
  }
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  fd_ = connected(host, address.substr(colon + 1));
  if (fd_ < 0) loop_.fail(fmt::format("{}: {}", address, std::generic_category().message(errno)));
  loop_.add(*this);
}

Connection::~Connection() {
  loop_.remove(*this);
  if (fd_ >= 0) close(fd_);
}

bool Connection::flush() {
  while (sent_ < out_.size() && !loop_.failed()) {
    const ssize_t wrote = send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (wrote < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      loop_.fail(fmt::format("write: {}", std::generic_category().message(errno)));
      return false;
    }
    sent_ += static_cast<std::size_t>(wrote);
  }
  out_.clear();
  sent_ = 0;
  return false;
}

void Connection::receive() {
  std::string& scratch = loop_.scratch();
  while (!loop_.failed()) {
    const ssize_t got_bytes = recv(fd_, scratch.data(), scratch.size(), 0);
    if (got_bytes == 0) return loop_.fail("the server closed the connection");
    if (got_bytes < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      return loop_.fail(fmt::format("read: {}", std::generic_category().message(errno)));
    }
    got(std::string_view(scratch).substr(0, static_cast<std::size_t>(got_bytes)));
    if (static_cast<std::size_t>(got_bytes) < scratch.size()) return;
  }
}

void Connection::got(std::string_view bytes) {
  if (in_.empty()) {
    in_.assign(bytes.substr(take_(bytes)));
    return;
  }
  in_.append(bytes);
  in_.erase(0, take_(in_));
}

}  // namespace ackline::cli::load

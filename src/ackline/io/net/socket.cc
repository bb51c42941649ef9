#include "ackline/io/net/socket.h"

#include <unistd.h>

namespace ackline::io::net {

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    remote_ = std::move(other.remote_);
    permit_ = std::move(other.permit_);
  }
  return *this;
}

Socket::~Socket() {
  close();
}

void Socket::close() {
  if (fd_ >= 0) {
    ::close(std::exchange(fd_, -1));
  }
}

}  // namespace ackline::io::net

// An open TCP socket as an owned descriptor, before it is attached to a loop.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace ackline::io::net {

class Socket {
 public:
  Socket() = default;
  // `permit` is held as long as the socket lives; the listener counts its connections by it.
  explicit Socket(int fd, std::string remote = {}, std::shared_ptr<void> permit = {})
      : fd_(fd), remote_(std::move(remote)), permit_(std::move(permit)) {}
  Socket(Socket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        remote_(std::move(other.remote_)),
        permit_(std::move(other.permit_)) {}
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] const std::string& remote() const { return remote_; }
  // Gives the descriptor up; the permit stays here until destruction.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_ = -1;
  std::string remote_;  // "address:port"
  std::shared_ptr<void> permit_;
};

}  // namespace ackline::io::net

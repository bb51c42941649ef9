#include "ackline/io/net/connection.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <utility>

#include "ackline/base/check.h"

namespace ackline::io::net {
namespace {

// Full reads in a row before other sockets get their turn.
constexpr int kReadsPerTurnMax = 4;

class LoopConnection final : public Connection,
                             public std::enable_shared_from_this<LoopConnection> {
 public:
  LoopConnection(EventLoop& loop, Socket socket, std::weak_ptr<ConnectionEvents> events)
      : loop_(loop),
        socket_(std::move(socket)),
        events_(std::move(events)),
        descriptor_(loop.context()) {}

  bool assign() {
    boost::system::error_code ec;
    descriptor_.assign(socket_.fd(), ec);
    if (ec) {
      return false;  // socket_ still owns it
    }
    fd_ = socket_.release();  // the permit stays with socket_
    return true;
  }

  void set_reading(bool on) override {
    reading_ = on;
    if (on) {
      wait_read();
    }
  }

  std::size_t write(std::string& bytes) override {
    ACKLINE_CHECK(!writing());
    if (fd_ < 0 || broken_) {
      bytes.clear();
      return 0;
    }
    const std::size_t sent = send_some(bytes);
    if (sent == bytes.size() || broken_) {
      bytes.clear();
      return sent;
    }
    rest_ = std::exchange(bytes, {});
    rest_at_ = sent;
    wait_write();
    return sent;
  }

  [[nodiscard]] bool writing() const override { return rest_at_ < rest_.size(); }

  // Readiness to write says too little: the system calls a socket writable when a third of a buffer
  // of megabytes is free.
  [[nodiscard]] std::size_t unconfirmed_bytes() const override {
    int waiting = 0;
    const bool told = fd_ >= 0 && ::ioctl(fd_, SIOCOUTQ, &waiting) == 0 && waiting > 0;
    return told ? static_cast<std::size_t>(waiting) : 0;
  }

  void shutdown() override {
    if (fd_ >= 0 && !std::exchange(shut_, true)) {
      (void)::shutdown(fd_, SHUT_WR);
    }
  }

  void close() override {
    if (std::exchange(fd_, -1) < 0) {
      return;
    }
    socket_ = {};  // gives the permit back, before the peer can see that it may come again
    boost::system::error_code ec;
    descriptor_.close(ec);
    events_.reset();
    rest_ = {};
    rest_at_ = 0;
  }

  [[nodiscard]] bool is_open() const override { return fd_ >= 0; }

 private:
  void wait_read() {
    if (fd_ < 0 || eof_ || broken_ || std::exchange(waiting_read_, true)) {
      return;
    }
    descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](const boost::system::error_code& ec) {
                             self->waiting_read_ = false;
                             if (!ec && self->reading_) {
                               self->on_readable();
                             }
                           });
  }

  void wait_write() {
    descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                           [self = shared_from_this()](const boost::system::error_code& ec) {
                             if (!ec) {
                               self->on_writable();
                             }
                           });
  }

  void on_readable() {
    for (int i = 0; i < kReadsPerTurnMax && reading_ && fd_ >= 0; ++i) {
      const std::span<char> buffer = loop_.read_buffer();
      // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): weak_ptr::lock locks nothing
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        break;
      }
      if (got < 0) {
        lose();
        return;
      }
      const auto events = events_.lock();
      if (!events) {
        close();
        return;
      }
      if (got == 0) {
        eof_ = true;
        events->on_eof();
        return;
      }
      events->on_bytes({buffer.data(), static_cast<std::size_t>(got)});
      if (static_cast<std::size_t>(got) < buffer.size()) {
        break;
      }
    }
    if (reading_) {
      wait_read();
    }
  }

  // How many of `bytes` the kernel took; sets broken_ when there is no way out any more.
  std::size_t send_some(std::string_view bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t count =
          ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count >= 0) {
        sent += static_cast<std::size_t>(count);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (errno != EINTR) {
        // Told later: the caller is in the middle of something.
        broken_ = true;
        loop_.post([self = shared_from_this()] { self->lose(); });
        break;
      }
    }
    return sent;
  }

  void on_writable() {
    if (fd_ < 0 || !writing()) {
      return;
    }
    const std::size_t sent = send_some(std::string_view(rest_).substr(rest_at_));
    rest_at_ += sent;
    if (!writing()) {
      rest_ = {};
      rest_at_ = 0;
    } else if (!broken_) {
      wait_write();
    }
    if (const auto events = events_.lock(); events && sent > 0) {
      events->on_written(sent);
    }
  }

  void lose() {
    if (fd_ < 0) {
      return;
    }
    const auto events = events_.lock();
    close();
    if (events) {
      events->on_lost();
    }
  }

  EventLoop& loop_;
  Socket socket_;
  std::weak_ptr<ConnectionEvents> events_;
  boost::asio::posix::stream_descriptor descriptor_;
  std::string rest_;  // what the kernel did not take, from rest_at_ on
  std::size_t rest_at_ = 0;
  int fd_ = -1;
  bool reading_ = false;
  bool waiting_read_ = false;
  bool eof_ = false;
  bool shut_ = false;
  bool broken_ = false;
};

}  // namespace

std::shared_ptr<Connection> Connection::attach(EventLoop& loop, Socket socket,
                                               std::weak_ptr<ConnectionEvents> events) {
  auto connection = std::make_shared<LoopConnection>(loop, std::move(socket), std::move(events));
  return connection->assign() ? connection : nullptr;
}

}  // namespace ackline::io::net

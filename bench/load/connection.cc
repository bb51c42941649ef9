#include "bench/load/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ackline::bench {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

bool same_letters(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), text.begin(), [](char want, char got) {
           return want == (got >= 'A' && got <= 'Z' ? static_cast<char>(got + 32) : got);
         });
}

std::size_t content_length(std::string_view head) {
  constexpr std::string_view kName = "\r\ncontent-length:";
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;
       at = head.find("\r\n", at + 2)) {
    if (same_letters(head.substr(at), kName)) {
      return std::strtoull(head.data() + at + kName.size(), nullptr, 10);
    }
  }
  give_up("an answer without content-length");
}

}  // namespace

void give_up(std::string_view why) {
  fmt::print(stderr, "load: {}\n", why);
  std::exit(1);
}

Connection::Connection(const std::string& address, OnAnswer on_answer)
    : on_answer_(std::move(on_answer)) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  if (colon == std::string::npos ||
      inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1) {
    give_up("--address is host:port, the host as numbers");
  }
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) {
    give_up(fmt::format("{}: {}", address, std::strerror(errno)));
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

bool Connection::flush() {
  while (sent_ < out_.size()) {
    const ssize_t wrote = send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (wrote < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      give_up(fmt::format("write: {}", std::strerror(errno)));
    }
    sent_ += static_cast<std::size_t>(wrote);
  }
  out_.clear();
  sent_ = 0;
  return false;
}

void Connection::receive() {
  for (;;) {
    if (in_.size() < filled_ + kReadBytes) in_.resize(filled_ + kReadBytes);
    const ssize_t got = recv(fd_, in_.data() + filled_, in_.size() - filled_, 0);
    if (got == 0) give_up("the server closed the connection");
    if (got < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      give_up(fmt::format("read: {}", std::strerror(errno)));
    }
    const std::size_t room = in_.size() - filled_;
    filled_ += static_cast<std::size_t>(got);
    const std::size_t used = take_answers(std::string_view(in_.data(), filled_));
    std::memmove(in_.data(), in_.data() + used, filled_ - used);
    filled_ -= used;
    if (static_cast<std::size_t>(got) < room) return;
  }
}

std::size_t Connection::take_answers(std::string_view text) {
  std::size_t at = 0;
  for (;;) {
    const std::string_view rest = text.substr(at);
    const std::size_t end = rest.find("\r\n\r\n");
    if (end == std::string_view::npos) return at;
    const std::size_t length = content_length(rest.substr(0, end + 2));
    if (rest.size() < end + 4 + length) return at;
    const int status = std::atoi(rest.data() + 9);
    at += end + 4 + length;
    on_answer_(status, rest.substr(end + 4, length));
  }
}

}  // namespace ackline::bench

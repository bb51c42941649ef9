#include "ackline/io/net/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

#include "ackline/base/logging.h"
#include "ackline/io/net/address.h"

namespace ackline::io::net {
namespace {

constexpr int kAcceptsPerTurnMax = 64;
constexpr std::int64_t kBackOffMs = 100;

std::unexpected<Error> listen_error(int code, const Address& address,
                                    const ListenOptions& options) {
  if (code == EADDRINUSE) {
    return fail(
        ErrorCode::kInUse, fmt::format("port taken: another process listens on {}", address.text()),
        fmt::format("Stop it, or set {} to a free port, or to 0 for any.", options.port_key));
  }
  if (code == EACCES || code == EPERM) {
    return fail(ErrorCode::kForbidden, fmt::format("may not listen on {}", address.text()),
                fmt::format("Set {} to a port from 1024 on.", options.port_key));
  }
  if (code == EADDRNOTAVAIL) {
    return fail(ErrorCode::kBadValue,
                fmt::format("{} is not an address of this machine", address.text()),
                "Listen on one of its addresses, or on 0.0.0.0 for all.");
  }
  return fail(ErrorCode::kUnavailable, fmt::format("cannot listen on {}: {}", address.text(),
                                                   std::generic_category().message(code)));
}

Result<Socket> listening_socket(Address& address, const ListenOptions& options) {
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket.valid() ||
      ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(socket.fd(), address.get(), address.size) != 0 ||
      ::listen(socket.fd(), options.backlog) != 0) {
    return listen_error(errno, address, options);
  }
  address.size = sizeof(address.storage);
  (void)::getsockname(socket.fd(), address.get(), &address.size);
  return socket;
}

// The first descriptor that is a file's: the system gives out the lowest that is free, so a number
// says how many are in use.
int connections_end(const ListenOptions& options) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT_MAX;
  const auto all = static_cast<std::size_t>(limit.rlim_cur);
  const std::size_t spare = std::min(options.spare_descriptors, all / 4) / options.spare_divisor;
  return static_cast<int>(std::min<std::size_t>(all - spare, INT_MAX));
}

Socket reserve_descriptor() {
  return Socket(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

struct Listener::Impl : std::enable_shared_from_this<Listener::Impl> {
  Impl(std::vector<EventLoop*> l, ListenOptions o, OnAccept a, Address where)
      : loops(std::move(l)),
        options(std::move(o)),
        on_accept(std::move(a)),
        address(where),
        fd_end(connections_end(options)),
        reserve(reserve_descriptor()),
        descriptor(loops.front()->context()) {}

  enum class Refusal : std::uint8_t { kRefused, kNobodyWaits, kStuck };

  void wait() {
    if (closed || !descriptor.is_open()) {
      return;
    }
    descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this()](const boost::system::error_code& ec) {
                            if (!ec && !self->closed) {
                              self->accept_some();
                            }
                          });
  }

  void accept_some() {
    for (int i = 0; i < kAcceptsPerTurnMax && !closed; ++i) {
      Address peer;
      peer.size = sizeof(peer.storage);
      Socket socket(::accept4(descriptor.native_handle(), peer.get(), &peer.size,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.valid()) {
        take(std::move(socket), peer);
        continue;
      }
      const int code = errno;
      if (code == EAGAIN || code == EWOULDBLOCK) {
        break;
      }
      if (code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM) {
        const Refusal refusal = refuse_one();
        if (refusal == Refusal::kStuck) {
          back_off();
          return;
        }
        if (refusal == Refusal::kNobodyWaits) {
          break;
        }
      }
      // Anything else is the fate of one connection that ended in the queue.
    }
    wait();
  }

  void take(Socket socket, const Address& peer) {
    if (live->load() >= options.max_connections) {
      refuse("limits.connections");
      return;
    }
    if (socket.fd() >= fd_end) {
      refuse("open files");
      return;
    }
    // Not at each one that finds the place of another: a flood would fill the log.
    if (refusing && live->load() <= crowd - crowd / 8) {
      refusing = false;
      log_info("connections are taken again", {{"listener", address.text()}});
    }
    const int on = 1;
    (void)::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ++*live;
    std::shared_ptr<void> permit(nullptr, [count = live](void*) { --*count; });
    Socket permitted(socket.release(), peer.text(), std::move(permit));
    const std::size_t index = next++ % loops.size();
    if (index == 0) {
      on_accept(0, std::move(permitted));
      return;
    }
    loops[index]->post(
        [self = shared_from_this(), index, accepted = std::move(permitted)]() mutable {
          self->on_accept(index, std::move(accepted));
        });
  }

  void refuse(std::string_view limit) {
    ++refused;
    if (!std::exchange(refusing, true)) {
      crowd = live->load();
      log_warn("connections are refused until others end",
               {{"listener", address.text()}, {"limit", limit}, {"open", live->load()}});
    }
  }

  // No descriptor is left: the one in reserve lets us take a connection and hang up, which its peer
  // sees at once; left in the queue it would wait and wake us for ever.
  Refusal refuse_one() {
    reserve.close();
    Socket refusal(::accept4(descriptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
    const bool nobody = !refusal.valid() && (errno == EAGAIN || errno == EWOULDBLOCK);
    const bool accepted = refusal.valid();
    if (accepted) refuse("open files");
    refusal.close();
    reserve = reserve_descriptor();
    if (!reserve.valid() || (!accepted && !nobody)) {
      return Refusal::kStuck;
    }
    return accepted ? Refusal::kRefused : Refusal::kNobodyWaits;
  }

  void back_off() {
    EventLoop& loop = *loops.front();
    (void)loop.schedule(loop.clock().mono().plus(kBackOffMs), [self = shared_from_this()] {
      if (!self->reserve.valid()) {
        self->reserve = reserve_descriptor();
      }
      self->wait();
    });
  }

  void close_here() {
    boost::system::error_code ec;
    descriptor.close(ec);
  }

  const std::vector<EventLoop*> loops;
  const ListenOptions options;
  const OnAccept on_accept;
  const Address address;
  const int fd_end;
  Socket reserve;
  boost::asio::posix::stream_descriptor descriptor;  // first loop only
  std::shared_ptr<std::atomic<std::size_t>> live = std::make_shared<std::atomic<std::size_t>>(0);
  std::size_t next = 0;
  bool refusing = false;  // this and the next on the first loop only
  std::size_t crowd = 0;  // connections open when that began
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<bool> closed = false;
};

Result<std::unique_ptr<Listener>> Listener::open(std::vector<EventLoop*> loops,
                                                 ListenOptions options, OnAccept on_accept) {
  auto addresses = resolve(options.host, options.port);
  if (!addresses) {
    return fail(addresses);
  }
  Address address = addresses->front();
  auto socket = listening_socket(address, options);
  if (!socket) {
    return fail(socket);
  }
  auto impl =
      std::make_shared<Impl>(std::move(loops), std::move(options), std::move(on_accept), address);
  boost::system::error_code ec;
  impl->descriptor.assign(socket->fd(), ec);
  if (ec) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("cannot wait on {}: {}", address.text(), ec.message()));
  }
  (void)socket->release();
  impl->loops.front()->post([impl] { impl->wait(); });
  return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

Listener::Listener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

// Posting fails only without memory, and then the process ends anyway.
// NOLINTNEXTLINE(bugprone-exception-escape)
Listener::~Listener() {
  close();
}

void Listener::close() {
  if (impl_->closed.exchange(true)) {
    return;
  }
  if (impl_->loops.front()->here()) {
    impl_->close_here();
  } else {
    impl_->loops.front()->post([impl = impl_] { impl->close_here(); });
  }
}

std::uint16_t Listener::port() const {
  return impl_->address.port();
}

std::string Listener::address() const {
  return impl_->address.text();
}

std::uint64_t Listener::refused() const {
  return impl_->refused;
}

}  // namespace ackline::io::net

#include "ackline/http/server.h"

#include <atomic>
#include <unordered_map>
#include <utility>

#include "ackline/base/check.h"
#include "ackline/http/server_connection.h"
#include "ackline/io/net/connection.h"
#include "ackline/io/net/listener.h"

namespace ackline::http {
namespace {

using io::net::EventLoop;
using io::net::Socket;

class Session;

// What one loop has of the server. Its thread only, but for `live`.
struct Home {
  EventLoop* loop;
  RequestHandler* handler;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions;
};

// One connection: moves bytes between the socket and the ServerConnection and keeps its timer.
// Owned by its Home; the socket's callbacks hold it weakly.
class Session final : public io::net::ConnectionEvents,
                      public std::enable_shared_from_this<Session> {
 public:
  Session(EventLoop& loop, std::function<void(Session*)> ended)
      : loop_(loop), ended_(std::move(ended)) {}
  ~Session() override { close(); }

  bool open(RequestHandler& handler, const ServerOptions& options, Socket socket) {
    http_ = ServerConnection::make(
        now(), handler,
        {.limits = options.limits,
         .remote = socket.remote(),
         .listener = options.listener,
         .unconfirmed = [this] { return socket_ ? socket_->unconfirmed_bytes() : 0; }},
        [this] { wake(); });
    socket_ = io::net::Connection::attach(loop_, std::move(socket), weak_from_this());
    if (!socket_) {
      return false;
    }
    obey();
    return true;
  }

  void on_bytes(std::string_view bytes) override {
    busy_ = true;
    http_->on_bytes(now(), bytes);
    round();
  }

  void on_eof() override {
    busy_ = true;
    http_->on_eof(now());
    round();
  }

  void on_written(std::size_t bytes) override {
    busy_ = true;
    http_->on_written(now(), bytes);
    round();
  }

  void on_lost() override { finish(); }

  void drain() {
    http_->drain();
    round();
  }

  // Cuts the connection, without a word to the Home.
  void close() {
    if (timer_ != 0) {
      loop_.cancel(std::exchange(timer_, 0));
    }
    if (socket_) {
      socket_->close();
    }
    if (http_ && !std::exchange(lost_, true)) {
      http_->on_lost();
    }
  }

 private:
  [[nodiscard]] MonoMs now() const { return loop_.clock().mono(); }

  // All answers of this turn of the loop go out in the one round that the first asks for.
  void wake() {
    if (busy_ || std::exchange(round_queued_, true)) {
      return;
    }
    loop_.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->round_queued_ = false;
        self->round();
      }
    });
  }

  void round() {
    if (lost_) {
      return;
    }
    busy_ = true;
    while (!socket_->writing() && !http_->wants_close()) {
      std::size_t sent = 0;
      if (http_->has_output()) {
        std::string out;
        http_->take_output(out);
        sent = socket_->write(out);
      }
      http_->on_written(now(), sent);
      if (!http_->has_output()) {
        break;
      }
    }
    busy_ = false;
    obey();
  }

  void obey() {
    if (http_->wants_close()) {
      finish();
      return;
    }
    if (http_->wants_shutdown()) {
      socket_->shutdown();
    }
    socket_->set_reading(http_->wants_read());
    arm();
  }

  // The timer is moved only to an earlier time. One that fires too early looks and is set again, so
  // that a busy connection pays for a timer once in a while, not with each request.
  void arm() {
    const auto deadline = http_->next_deadline();
    if (!deadline || (timer_ != 0 && timer_at_ <= *deadline)) {
      return;
    }
    if (timer_ != 0) {
      loop_.cancel(timer_);
    }
    timer_at_ = *deadline;
    timer_ = loop_.schedule(timer_at_, [this] {
      timer_ = 0;
      const auto self = shared_from_this();
      http_->on_tick(now());
      round();
    });
  }

  void finish() {
    const auto self = shared_from_this();
    close();
    if (ended_) {
      std::exchange(ended_, nullptr)(this);
    }
  }

  EventLoop& loop_;
  std::function<void(Session*)> ended_;
  std::shared_ptr<ServerConnection> http_;
  std::shared_ptr<io::net::Connection> socket_;
  Executor::TimerId timer_ = 0;
  MonoMs timer_at_;
  bool busy_ = false;  // a round follows anyway
  bool round_queued_ = false;
  bool lost_ = false;
};

class LoopServer final : public Server {
 public:
  LoopServer(std::vector<EventLoop*> loops, std::vector<RequestHandler*> handlers,
             ServerOptions options)
      : options_(std::move(options)) {
    for (std::size_t i = 0; i < loops.size(); ++i) {
      homes_.push_back({loops[i], handlers[i], {}});
    }
  }
  ~LoopServer() override { close_all(); }

  Result<void> listen(std::vector<EventLoop*> loops) {
    auto listener = io::net::Listener::open(
        std::move(loops),
        {.host = options_.host,
         .port = options_.port,
         .port_key = options_.port_key,
         .max_connections = options_.max_connections,
         .spare_divisor = options_.spare_divisor},
        [this](std::size_t index, Socket socket) { accept(homes_[index], std::move(socket)); });
    if (!listener) {
      return fail(listener);
    }
    listener_ = std::move(*listener);
    return {};
  }

  [[nodiscard]] std::uint16_t port() const override { return listener_->port(); }
  [[nodiscard]] std::string address() const override { return listener_->address(); }
  [[nodiscard]] std::size_t connections() const override { return live_; }

  void drain(std::function<void()> drained) override {
    listener_->close();
    homes_.front().loop->post([this, done = std::move(drained)]() mutable {
      drained_ = std::move(done);
      draining_ = true;
      for (Home& home : homes_) {
        home.loop->post([this, &home] {
          for (Session* session : sessions_of(home)) {
            session->drain();
          }
          tell_if_drained();
        });
      }
    });
  }

  void close_all() override {
    if (!listener_) {
      return;
    }
    listener_->close();
    closing_ = true;
    for (Home& home : homes_) {
      home.loop->call([this, &home] {
        for (const auto& [session, owner] : std::exchange(home.sessions, {})) {
          session->close();
          --live_;
        }
        tell_if_drained();
      });
    }
    // A socket that was on its way to its loop meets `closing_`; its task is behind ours there.
    for (Home& home : homes_) {
      home.loop->call([] {});
    }
  }

 private:
  // The sessions end while we walk them.
  static std::vector<Session*> sessions_of(const Home& home) {
    std::vector<Session*> list;
    list.reserve(home.sessions.size());
    for (const auto& [session, owner] : home.sessions) {
      list.push_back(session);
    }
    return list;
  }

  void accept(Home& home, Socket socket) {
    if (closing_ || draining_) {
      return;
    }
    auto session = std::make_shared<Session>(*home.loop, [this, &home](Session* ended) {
      if (home.sessions.erase(ended) > 0) {
        --live_;
        tell_if_drained();
      }
    });
    if (session->open(*home.handler, options_, std::move(socket))) {
      ++live_;
      home.sessions.emplace(session.get(), session);
    }
  }

  void tell_if_drained() {
    if (!draining_ || live_ > 0) {
      return;
    }
    homes_.front().loop->post([this] {
      if (drained_) {
        std::exchange(drained_, nullptr)();
      }
    });
  }

  const ServerOptions options_;
  std::vector<Home> homes_;
  std::unique_ptr<io::net::Listener> listener_;
  std::function<void()> drained_;  // first loop
  std::atomic<std::size_t> live_ = 0;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> closing_ = false;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(std::vector<EventLoop*> loops,
                                              std::vector<RequestHandler*> handlers,
                                              ServerOptions options) {
  ACKLINE_CHECK(!loops.empty() && loops.size() == handlers.size());
  auto server = std::make_unique<LoopServer>(loops, std::move(handlers), std::move(options));
  if (auto listening = server->listen(std::move(loops)); !listening) {
    return fail(listening);
  }
  return server;
}

}  // namespace ackline::http

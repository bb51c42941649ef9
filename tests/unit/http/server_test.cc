// The server and the client over real sockets on the loopback.
#include "ackline/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ackline/http/client.h"
#include "ackline/http/sse.h"
#include "ackline/io/net/blocking_socket.h"
#include "ackline/io/net/connection.h"
#include "ackline/io/net/listener.h"

namespace ackline::http {
namespace {

using io::net::BlockingSocket;
using io::net::EventLoop;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kWaitMs = 60'000;

// /echo answers at once, /later in a later turn, /hold never by itself, /sse streams.
class Routes : public RequestHandler {
 public:
  explicit Routes(EventLoop& loop) : loop_(loop) {}
  void handle(Request request, Responder responder) override {
    if (request.path == "/hold") {
      held.push_back(std::move(responder));
      if (on_held) {
        on_held();
      }
      return;
    }
    if (request.path == "/sse") {
      std::string text;
      append_sse_retry(text, 2000);
      responder.start_stream(sse_head());
      responder.write(text);
      send_event(std::make_shared<Responder>(std::move(responder)), 1);
      return;
    }
    Response response;
    response.headers.add("content-type", "text/plain");
    response.body = request.method + " " + request.path + " " + request.body;
    if (request.path == "/later") {
      loop_.post([r = std::make_shared<Responder>(std::move(responder)),
                  body = std::move(response)]() mutable { r->respond(std::move(body)); });
      return;
    }
    responder.respond(std::move(response));
  }
  void send_event(std::shared_ptr<Responder> to, int n) {
    loop_.post([this, to, n] {
      std::string text;
      append_sse_event(text, std::to_string(n), "event " + std::to_string(n));
      to->write(text);
      if (n < 5) {
        send_event(to, n + 1);
        return;
      }
      text.clear();
      append_sse_end(text, "draining");
      to->write(text);
      to->end();
    });
  }
  std::vector<Responder> held;
  std::function<void()> on_held;

 private:
  EventLoop& loop_;
};

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { start({}); }
  void start(ServerOptions options) {
    auto started = Server::start({&loops[0], &loops[1]}, {&routes[0], &routes[1]}, options);
    ASSERT_TRUE(started) << started.error().detail;
    server = std::move(*started);
    if (!running) {
      running = true;
      loops[0].start();
      loops[1].start();
    }
  }
  void TearDown() override {
    server.reset();
    for (Routes& each : routes) {
      EXPECT_TRUE(each.held.empty() || !each.held.front().open());
    }
  }
  Client client() { return Client({.port = server->port(), .timeout_ms = kWaitMs}); }
  BlockingSocket raw() {
    auto socket = BlockingSocket::connect("127.0.0.1", server->port(), kWaitMs);
    EXPECT_TRUE(socket);
    return std::move(*socket);
  }
  static std::string read_until(BlockingSocket& socket, std::string_view end) {
    std::string all;
    char buffer[4096];
    while (!all.ends_with(end) || end.empty()) {
      const auto got = socket.read_some(buffer, kWaitMs);
      if (!got || *got == 0) {
        break;
      }
      all.append(buffer, *got);
    }
    return all;
  }

  SystemClock clock;
  EventLoop loops[2] = {EventLoop(clock, "one"), EventLoop(clock, "two")};
  Routes routes[2] = {Routes(loops[0]), Routes(loops[1])};
  std::unique_ptr<Server> server;
  bool running = false;
};

TEST_F(ServerTest, AnswersManyRequestsOfManyClients) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      Client c = client();
      for (int i = 0; i < 50; ++i) {
        const std::string body = std::to_string(t) + "/" + std::to_string(i);
        const auto response = c.post_json(i % 2 == 0 ? "/echo" : "/later", body);
        ASSERT_TRUE(response) << response.error().detail;
        EXPECT_EQ(response->status, 200);
        EXPECT_THAT(response->body, EndsWith(body));
      }
    });
  }
  threads.clear();
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  BlockingSocket socket = raw();
  std::string all;
  for (int i = 0; i < 200; ++i) {
    all += "GET " + std::string(i % 3 == 0 ? "/later" : "/echo") + "?i=" + std::to_string(i) +
           " HTTP/1.1\r\nHost: h\r\n\r\n";
  }
  all += "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  ASSERT_TRUE(socket.write_all(all, kWaitMs));
  const std::string answers = read_until(socket, "");
  std::size_t count = 0;
  for (std::size_t at = answers.find("HTTP/1.1 200"); at != std::string::npos;
       at = answers.find("HTTP/1.1 200", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 201U);
  EXPECT_THAT(answers, EndsWith("GET /last "));
}

TEST_F(ServerTest, CarriesLargeBodiesBothWays) {
  Client c = client();
  const std::string big(12 * 1024 * 1024, 'b');
  const auto response = c.post_json("/echo", big);
  ASSERT_TRUE(response) << response.error().detail;
  EXPECT_EQ(response->body.size(), big.size() + 11);
  EXPECT_TRUE(c.get("/echo"));
}

TEST_F(ServerTest, LetsTheClientSeeWhyItsHugeBodyIsRefused) {
  Client c = client();
  const auto response = c.post_json("/echo", std::string(17 * 1024 * 1024, 'b'));
  ASSERT_TRUE(response) << response.error().detail;
  EXPECT_EQ(response->status, 413);
  EXPECT_THAT(response->body, HasSubstr("16777216"));
}

TEST_F(ServerTest, StreamsEventsToTheClientAndEndsThem) {
  Client c = client();
  SseReader reader;
  std::vector<SseEvent> events;
  std::optional<std::string> type;
  ClientRequest request;
  request.target = "/sse";
  const auto response = c.stream(
      request,
      [&](const Response& head) { type = std::string(*head.headers.find("content-type")); },
      [&](std::string_view bytes) {
        return reader.feed(bytes, [&](SseEvent event) { events.push_back(std::move(event)); })
            .has_value();
      });
  ASSERT_TRUE(response) << response.error().detail;
  EXPECT_EQ(type, "text/event-stream");
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[4].data, "event 5");
  EXPECT_EQ(events[5].name, "end");
  EXPECT_EQ(reader.retry_ms(), 2000);
  EXPECT_TRUE(c.get("/echo"));  // on the same connection
  EXPECT_EQ(server->connections(), 1U);
}

TEST_F(ServerTest, AStreamEndsWhenItsReaderHasEnough) {
  Client c = client();
  ClientRequest request;
  request.target = "/sse";
  int pieces = 0;
  ASSERT_TRUE(c.stream(
      request, [](const Response&) {},
      [&](std::string_view) {
        ++pieces;
        return false;
      }));
  EXPECT_EQ(pieces, 1);
  EXPECT_TRUE(c.get("/echo"));
}

TEST_F(ServerTest, TellsTheHandlerThatAPeerHungUp) {
  std::promise<void> held;
  std::promise<void> gone;
  routes[0].on_held = [&] {
    routes[0].held.back().on_gone([&] { gone.set_value(); });
    held.set_value();
  };
  BlockingSocket socket = raw();
  ASSERT_TRUE(socket.write_all("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n", kWaitMs));
  held.get_future().wait();
  socket.close();
  gone.get_future().wait();
  loops[0].post([this] { routes[0].held.clear(); });
}

TEST_F(ServerTest, DrainFinishesWhatWasAskedAndThenTellsOnce) {
  std::promise<void> held;
  routes[0].on_held = [&] { held.set_value(); };
  BlockingSocket busy = raw();
  ASSERT_TRUE(busy.write_all("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n", kWaitMs));
  held.get_future().wait();
  BlockingSocket idle = raw();
  ASSERT_TRUE(idle.write_all("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n", kWaitMs));
  EXPECT_THAT(read_until(idle, "GET /echo "), HasSubstr("200 OK"));
  std::promise<void> drained;
  server->drain([&] { drained.set_value(); });
  EXPECT_EQ(read_until(idle, ""), "");
  EXPECT_FALSE(BlockingSocket::connect("127.0.0.1", server->port(), kWaitMs));
  loops[0].post([this] {
    Response response;
    response.body = "late";
    routes[0].held.back().respond(std::move(response));
    routes[0].held.clear();
  });
  const std::string answer = read_until(busy, "");
  EXPECT_THAT(answer, HasSubstr("connection: close"));
  EXPECT_THAT(answer, EndsWith("late"));
  drained.get_future().wait();
  EXPECT_EQ(server->connections(), 0U);
}

TEST_F(ServerTest, CloseAllCutsEveryConnectionAndTellsTheirHandlers) {
  std::promise<void> held;
  bool gone = false;
  routes[0].on_held = [&] {
    routes[0].held.back().on_gone([&] { gone = true; });
    held.set_value();
  };
  BlockingSocket socket = raw();
  ASSERT_TRUE(socket.write_all("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n", kWaitMs));
  held.get_future().wait();
  server->close_all();
  EXPECT_TRUE(gone);
  EXPECT_EQ(read_until(socket, ""), "");
  EXPECT_EQ(server->connections(), 0U);
}

TEST_F(ServerTest, CanBeTakenDownAfterItsLoopsEnded) {
  Client c = client();
  ASSERT_TRUE(c.get("/echo"));
  for (EventLoop& loop : loops) {
    loop.stop();
    loop.join();
  }
  server->close_all();
  EXPECT_EQ(server->connections(), 0U);
}

TEST_F(ServerTest, CutsIdleConnectionsOffByTheirTimer) {
  server.reset();
  ServerOptions options;
  options.limits.idle_ms = 1;
  start(options);
  BlockingSocket socket = raw();
  EXPECT_EQ(read_until(socket, ""), "");
}

// Answers one request as if the connection went on, and ends it.
class Curt : public io::net::ConnectionEvents {
 public:
  void on_bytes(std::string_view bytes) override {
    request.append(bytes);
    if (!request.ends_with("\r\n\r\n")) {
      return;
    }
    std::string answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    (void)connection->write(answer);
    connection->close();
    closed.set_value();
  }
  void on_eof() override {}
  void on_written(std::size_t) override {}
  void on_lost() override {}
  std::shared_ptr<io::net::Connection> connection;
  std::string request;
  std::promise<void> closed;
};

TEST_F(ServerTest, TheClientNoticesAKeptConnectionThatEnded) {
  constexpr int kRequests = 3;
  std::shared_ptr<Curt> ends[kRequests];
  for (auto& end : ends) {
    end = std::make_shared<Curt>();
  }
  int next = 0;
  const auto curt =
      io::net::Listener::open({&loops[0]}, {}, [&](std::size_t, io::net::Socket socket) {
        ASSERT_LT(next, kRequests);
        const auto end = ends[next++];
        end->connection = io::net::Connection::attach(loops[0], std::move(socket), end);
        end->connection->set_reading(true);
      });
  ASSERT_TRUE(curt);
  Client c({.port = (*curt)->port(), .timeout_ms = kWaitMs});
  for (const auto& end : ends) {
    const auto response = c.get("/");
    ASSERT_TRUE(response) << response.error().detail;
    EXPECT_EQ(response->body, "ok");
    end->closed.get_future().wait();
  }
  loops[0].call([&] {  // where they live
    for (const auto& end : ends) {
      end->connection.reset();
    }
  });
}

TEST_F(ServerTest, SaysThatItsPortIsTaken) {
  ServerOptions options;
  options.port = server->port();
  const auto second = Server::start({&loops[0]}, {&routes[0]}, options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
}

// Nobody accepts or reads: the request does not fit into what the kernel holds for the peer.
TEST(Client, TheTimeOfAnExchangeIsOneForTheRequestAndItsAnswer) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  constexpr std::int64_t kTimeoutMs = 1'000;
  Client client({.port = ntohs(address.sin_port), .timeout_ms = kTimeoutMs});
  ClientRequest request;
  request.method = "POST";
  request.body.assign(std::size_t{64} << 20U, 'x');
  const SystemClock clock;
  const MonoMs begun = clock.mono();
  const auto answer = client.send(request);
  const std::int64_t took_ms = clock.mono().value() - begun.value();
  ::close(listener);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
  EXPECT_GE(took_ms, kTimeoutMs);
  EXPECT_LT(took_ms, 2 * kTimeoutMs - 100);
}

}  // namespace
}  // namespace ackline::http

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "ackline/io/net/blocking_socket.h"
#include "ackline/io/net/connection.h"
#include "ackline/io/net/listener.h"

namespace ackline::io::net {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kWaitMs = 60'000;

std::string read_until_end(BlockingSocket& socket) {
  std::string all;
  char buffer[4096];
  for (;;) {
    const auto got = socket.read_some(buffer, kWaitMs);
    if (!got || *got == 0) {
      return all;
    }
    all.append(buffer, *got);
  }
}

std::string read_exactly(BlockingSocket& socket, std::size_t count) {
  std::string all;
  char buffer[4096];
  while (all.size() < count) {
    const auto got =
        socket.read_some({buffer, std::min(sizeof(buffer), count - all.size())}, kWaitMs);
    if (!got || *got == 0) {
      break;
    }
    all.append(buffer, *got);
  }
  return all;
}

// Sends back what it gets and closes at the end.
class Echo : public ConnectionEvents {
 public:
  static std::shared_ptr<Echo> open(EventLoop& loop, Socket socket) {
    auto echo = std::make_shared<Echo>();
    echo->connection = Connection::attach(loop, std::move(socket), echo);
    echo->connection->set_reading(true);
    return echo;
  }
  void on_bytes(std::string_view bytes) override {
    waiting.append(bytes);
    flush();
  }
  void on_eof() override {
    eof = true;
    flush();
  }
  void on_written(std::size_t) override { flush(); }
  void on_lost() override {}
  void flush() {
    if (!connection->writing() && !waiting.empty()) {
      (void)connection->write(waiting);
    }
    connection->set_reading(!connection->writing());
    if (eof && !connection->writing() && waiting.empty()) {
      connection->close();
    }
  }
  std::shared_ptr<Connection> connection;
  std::string waiting;
  bool eof = false;
};

class Sockets : public ::testing::Test {
 protected:
  void SetUp() override {
    first.start();
    second.start();
  }
  void TearDown() override {
    for (EventLoop* loop : {&first, &second}) {
      loop->stop();
      loop->join();
    }
    for (auto& list : echoes) {
      list.clear();
    }
  }
  std::unique_ptr<Listener> listen(ListenOptions options = {}) {
    auto listener =
        Listener::open({&first, &second}, std::move(options), [this](std::size_t i, Socket socket) {
          EventLoop& loop = i == 0 ? first : second;
          EXPECT_TRUE(loop.here());
          ++accepted[i];
          echoes[i].push_back(Echo::open(loop, std::move(socket)));
        });
    EXPECT_TRUE(listener) << listener.error().detail;
    return std::move(*listener);
  }
  static BlockingSocket connect(const Listener& listener) {
    auto socket = BlockingSocket::connect("127.0.0.1", listener.port(), kWaitMs);
    EXPECT_TRUE(socket) << socket.error().detail;
    return std::move(*socket);
  }
  static void ping(BlockingSocket& socket) {
    ASSERT_TRUE(socket.write_all("ping", kWaitMs));
    EXPECT_EQ(read_exactly(socket, 4), "ping");
  }

  SystemClock clock;
  EventLoop first{clock, "first"};
  EventLoop second{clock, "second"};
  std::atomic<int> accepted[2] = {0, 0};
  std::vector<std::shared_ptr<Echo>> echoes[2];  // each on its loop's thread
};

TEST_F(Sockets, ListenerFindsAFreePortAndSpreadsConnections) {
  const auto listener = listen();
  EXPECT_GT(listener->port(), 0);
  EXPECT_EQ(listener->address(), "127.0.0.1:" + std::to_string(listener->port()));
  std::vector<BlockingSocket> sockets;
  for (int i = 0; i < 4; ++i) {
    sockets.push_back(connect(*listener));
    ping(sockets.back());
  }
  EXPECT_EQ(accepted[0], 2);
  EXPECT_EQ(accepted[1], 2);
}

TEST_F(Sockets, ListenerNamesTheAddressThatIsTaken) {
  const auto listener = listen();
  const auto again = Listener::open({&first}, {.port = listener->port(), .port_key = "http.port"},
                                    [](std::size_t, Socket) {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kInUse);
  EXPECT_THAT(again.error().detail, HasSubstr("port taken"));
  EXPECT_THAT(again.error().detail, HasSubstr(listener->address()));
  EXPECT_THAT(again.error().remedy, HasSubstr("http.port"));
}

TEST_F(Sockets, ListenerSaysWhichHostItCannotFind) {
  // A label of more than 63 letters is no name, so that no name server is asked for it.
  const std::string no_name = std::string(64, 'x') + ".invalid";
  const auto listener = Listener::open({&first}, {.host = no_name}, [](std::size_t, Socket) {});
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, ErrorCode::kBadValue);
  const auto foreign = Listener::open({&first}, {.host = "192.0.2.1"}, [](std::size_t, Socket) {});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::kBadValue);
}

TEST_F(Sockets, ListenerRefusesOverItsLimitAndTakesAgainAfterOneLeft) {
  const auto listener = listen({.max_connections = 2});
  auto one = connect(*listener);
  ping(one);
  auto two = connect(*listener);
  ping(two);
  auto three = connect(*listener);
  EXPECT_EQ(read_until_end(three), "");
  EXPECT_EQ(listener->refused(), 1U);
  ping(one);
  two.shutdown_send();
  EXPECT_EQ(read_until_end(two), "");  // the echo closed its side, and with it its permit
  auto four = connect(*listener);
  ping(four);
}

TEST_F(Sockets, AClosedListenerTakesNoMore) {
  auto listener = listen();
  const std::uint16_t port = listener->port();
  auto old = connect(*listener);
  ping(old);
  listener->close();
  std::promise<void> turn;
  first.post([&] { turn.set_value(); });
  turn.get_future().wait();
  const auto fresh = BlockingSocket::connect("127.0.0.1", port, kWaitMs);
  ASSERT_FALSE(fresh);
  EXPECT_EQ(fresh.error().code, ErrorCode::kUnavailable);
  ping(old);
}

TEST_F(Sockets, OutOfDescriptorsNewOnesAreRefusedAndOldOnesLive) {
  const auto listener = listen();
  auto old = connect(*listener);
  ping(old);
  std::vector<int> hoard;
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 256;
  setrlimit(RLIMIT_NOFILE, &low);
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::open("/dev/null", O_RDONLY)) {
    hoard.push_back(fd);
  }
  ASSERT_FALSE(hoard.empty());
  ::close(hoard.back());  // one for the client's end
  hoard.pop_back();
  auto refused = connect(*listener);
  EXPECT_EQ(read_until_end(refused), "");
  EXPECT_EQ(listener->refused(), 1U);
  ping(old);
  for (const int fd : hoard) {
    ::close(fd);
  }
  setrlimit(RLIMIT_NOFILE, &before);
  auto fresh = connect(*listener);
  ping(fresh);
}

TEST_F(Sockets, ConnectionCarriesMoreThanTheKernelHolds) {
  const auto listener = listen();
  auto socket = connect(*listener);
  std::string big(8 * 1024 * 1024, 'x');
  for (std::size_t i = 0; i < big.size(); i += 997) {
    big[i] = static_cast<char>('a' + i % 23);
  }
  std::future<std::string> back =
      std::async(std::launch::async, [&] { return read_exactly(socket, big.size()); });
  ASSERT_TRUE(socket.write_all(big, kWaitMs));
  EXPECT_EQ(back.get(), big);
  socket.shutdown_send();
  EXPECT_EQ(read_until_end(socket), "");
}

TEST_F(Sockets, BlockingSocketSaysWhenNobodyListensOrAnswers) {
  const auto listener = listen();
  auto silent = connect(*listener);
  char byte = 0;
  const auto nothing = silent.read_some({&byte, 1}, 1);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kTimeout);
  EXPECT_FALSE(silent.stale());
  // Held, so that nobody else listens there, and not listened on.
  const Socket held(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(held.fd(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(held.fd(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto refused = BlockingSocket::connect("127.0.0.1", ntohs(address.sin_port), kWaitMs);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace ackline::io::net

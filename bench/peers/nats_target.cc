// JetStream over NATS's text protocol: INFO, CONNECT, SUB, PUB, MSG, HMSG, PING, PONG.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ackline/cli/load/connection.h"
#include "bench/peers/targets.h"

namespace ackline::bench {
namespace {

using cli::load::Account;
using cli::load::Connection;
using cli::load::Loop;

constexpr std::size_t kPull = 100;   // messages asked for at once
constexpr std::size_t kNumber = 12;  // digits at the front of a message

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The words of a line: MSG <subject> <sid> [reply] <bytes>
struct Words {
  explicit Words(std::string_view line) {
    while (!line.empty() && count < 6) {
      const std::size_t end = line.find(' ');
      at[count++] = line.substr(0, end);
      if (end == std::string_view::npos) break;
      line.remove_prefix(end + 1);
    }
  }
  std::string_view at[6];
  std::size_t count = 0;
};

class NatsTarget final : public cli::load::Target {
 public:
  NatsTarget(Loop& loop, PeerOptions options)
      : loop_(loop),
        options_(std::move(options)),
        ack_inbox_(fmt::format("_INBOX.{}.ack.", options_.name)),
        pull_inbox_(fmt::format("_INBOX.{}.pull", options_.name)),
        publisher_(loop, options_.address, [this](std::string_view b) { return take(b, true); }),
        consumer_(loop, options_.address, [this](std::string_view b) { return take(b, false); }) {
    const auto greet = [this](Connection& connection, std::string_view subscription) {
      fmt::format_to(
          std::back_inserter(connection.out()),
          "CONNECT {{\"verbose\":false,\"pedantic\":false,\"headers\":true,"
          "\"no_responders\":true,\"lang\":\"cpp\",\"version\":\"1\",\"protocol\":1}}\r\n"
          "SUB {} 1\r\nPING\r\n",
          subscription);
      loop_.flush(connection);
    };
    greet(publisher_, ack_inbox_ + "*");
    greet(consumer_, pull_inbox_);
    wait_for(loop_, [this] { return pongs_ >= 2; });
  }

  void begin(Account& account) override { account_ = &account; }

  void publish(std::uint64_t first, std::size_t count) override {
    for (std::uint64_t n = first; n < first + count; ++n) {
      const std::size_t size = std::max(options_.size, kNumber);
      fmt::format_to(std::back_inserter(publisher_.out()), "PUB {} {}{} {}\r\n{:012}",
                     options_.name, ack_inbox_, n, size, n);
      publisher_.out().append(size - kNumber, 'x').append("\r\n");
    }
  }

  void flush() override {
    // As its own clients do: what is asked for stays above half of the window.
    while (asked_ + kPull <= options_.window) {
      const std::string body = fmt::format(R"({{"batch":{},"expires":30000000000}})", kPull);
      fmt::format_to(std::back_inserter(consumer_.out()),
                     "PUB $JS.API.CONSUMER.MSG.NEXT.{}.bench {} {}\r\n{}\r\n", options_.name,
                     pull_inbox_, body.size(), body);
      asked_ += kPull;
    }
    for (Connection* connection : {&publisher_, &consumer_}) {
      if (!connection->out().empty()) loop_.flush(*connection);
    }
  }

  [[nodiscard]] double next_due() const override { return cli::load::seconds_now() + 3600; }

  void all_delivered() override {
    consumer_.out().append("PING\r\n");
    sealing_ = true;
  }

 private:
  std::size_t take(std::string_view bytes, bool publisher) {
    std::size_t at = 0;
    while (!loop_.failed()) {
      const std::string_view rest = bytes.substr(at);
      const std::size_t end = rest.find("\r\n");
      if (end == std::string_view::npos) break;
      const std::string_view line = rest.substr(0, end);
      if (line.starts_with("MSG ") || line.starts_with("HMSG ")) {
        const Words words(line);
        const std::size_t size = number(words.at[words.count - 1]);
        if (rest.size() < end + 2 + size + 2) break;
        message(line.front() == 'H', words, rest.substr(end + 2, size), publisher);
        at += end + 2 + size + 2;
        continue;
      }
      control(line, publisher);
      at += end + 2;
    }
    return at;
  }

  void message(bool has_headers, const Words& words, std::string_view payload, bool publisher) {
    if (publisher) {
      const std::string_view subject = words.at[1];
      if (has_headers || payload.find(R"("seq":)") == std::string_view::npos) {
        return loop_.fail(fmt::format("a publish was answered {}", payload.substr(0, 300)));
      }
      return account_->confirmed(number(subject.substr(ack_inbox_.size())), 1);
    }
    if (has_headers) {  // a pull ended: its time is up, or nothing is there
      const std::size_t pending = payload.find("Nats-Pending-Messages: ");
      const std::size_t left =
          pending == std::string_view::npos ? kPull : number(payload.substr(pending + 23));
      asked_ -= std::min(asked_, left);
      return;
    }
    asked_ -= std::min<std::size_t>(asked_, 1);
    fmt::format_to(std::back_inserter(consumer_.out()), "PUB {} 4\r\n+ACK\r\n", words.at[3]);
    ++unsealed_;
    account_->delivered(number(payload.substr(0, kNumber)));
  }

  void control(std::string_view line, bool publisher) {
    if (line.starts_with("-ERR")) return loop_.fail(std::string(line));
    if (line == "PING") {
      Connection& connection = publisher ? publisher_ : consumer_;
      connection.out().append("PONG\r\n");
      return loop_.flush(connection);
    }
    if (line != "PONG") return;
    ++pongs_;
    if (!publisher && std::exchange(sealing_, false)) {
      account_->acked(std::exchange(unsealed_, 0));
    }
  }

  Loop& loop_;
  PeerOptions options_;
  std::string ack_inbox_;  // + the number of the event; no other client's
  std::string pull_inbox_;
  Account* account_ = nullptr;
  std::size_t asked_ = 0;  // messages that the server still may send
  std::size_t pongs_ = 0;
  std::uint64_t unsealed_ = 0;  // acks sent, not known to have arrived
  bool sealing_ = false;
  Connection publisher_;
  Connection consumer_;
};

}  // namespace

std::unique_ptr<cli::load::Target> nats_target(Loop& loop, PeerOptions options) {
  return std::make_unique<NatsTarget>(loop, std::move(options));
}

}  // namespace ackline::bench

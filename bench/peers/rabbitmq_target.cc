// A quorum queue of RabbitMQ over AMQP 0-9-1, as far as publishing, confirms, consuming and acks
// need it: one channel on each of two connections, one for each way.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>

#include "ackline/cli/load/connection.h"
#include "bench/peers/targets.h"

namespace ackline::bench {
namespace {

using cli::load::Account;
using cli::load::Connection;
using cli::load::Loop;

constexpr std::size_t kNumber = 12;      // digits at the front of a body
constexpr std::size_t kFrameAround = 8;  // type, channel, length; the mark at the end
constexpr char kEnd = '\xce';
enum Frame : std::uint8_t { kMethod = 1, kHeader = 2, kBody = 3 };

constexpr std::uint32_t method(std::uint16_t group, std::uint16_t name) {
  return static_cast<std::uint32_t>(group) << 16U | name;
}
constexpr std::uint32_t kStart = method(10, 10);
constexpr std::uint32_t kTune = method(10, 30);
constexpr std::uint32_t kConnectionOpenOk = method(10, 41);
constexpr std::uint32_t kConnectionClose = method(10, 50);
constexpr std::uint32_t kChannelOpenOk = method(20, 11);
constexpr std::uint32_t kChannelClose = method(20, 40);
constexpr std::uint32_t kDeclareOk = method(50, 11);
constexpr std::uint32_t kQosOk = method(60, 11);
constexpr std::uint32_t kConsumeOk = method(60, 21);
constexpr std::uint32_t kDeliver = method(60, 60);
constexpr std::uint32_t kAck = method(60, 80);
constexpr std::uint32_t kNack = method(60, 120);
constexpr std::uint32_t kConfirmOk = method(85, 11);

// Builds one frame at the end of a string.
class Writer {
 public:
  Writer(std::string& out, Frame type, std::uint16_t channel) : out_(out) {
    number<std::uint8_t>(type).number(channel).number<std::uint32_t>(0);
    begin_ = out_.size();
  }
  template <class Number>
  Writer& number(Number value) {
    for (std::size_t i = sizeof(Number); i-- > 0;) {
      out_.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xffU));
    }
    return *this;
  }
  Writer& call(std::uint32_t what) { return number(what); }
  Writer& short_text(std::string_view text) {
    number(static_cast<std::uint8_t>(text.size()));
    out_.append(text);
    return *this;
  }
  Writer& long_text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    out_.append(text);
    return *this;
  }
  void end() {
    const std::size_t size = out_.size() - begin_;
    for (std::size_t i = 0; i < 4; ++i) {
      out_[begin_ - 1 - i] = static_cast<char>(size >> (8 * i) & 0xffU);
    }
    out_.push_back(kEnd);
  }

 private:
  std::string& out_;
  std::size_t begin_ = 0;
};

std::uint64_t read_number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + size && i < bytes.size(); ++i) {
    value = value << 8U | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

class RabbitTarget final : public cli::load::Target {
 public:
  RabbitTarget(Loop& loop, PeerOptions options)
      : loop_(loop),
        options_(std::move(options)),
        publisher_(loop, options_.address, [this](std::string_view b) { return take(b, true); }),
        consumer_(loop, options_.address, [this](std::string_view b) { return take(b, false); }) {
    for (Connection* connection : {&publisher_, &consumer_}) {
      connection->out().append(std::string_view("AMQP\0\0\x09\x01", 8));
      loop_.flush(*connection);
      wait_for(loop_, [this] { return std::exchange(ready_, false); });
    }
  }

  void begin(Account& account) override {
    account_ = &account;
    base_ = next_tag_;
  }

  void publish(std::uint64_t first, std::size_t count) override {
    const std::size_t size = std::max(options_.size, kNumber);
    std::string& out = publisher_.out();
    for (std::uint64_t n = first; n < first + count; ++n) {
      Writer(out, kMethod, 1)
          .call(method(60, 40))
          .number<std::uint16_t>(0)
          .short_text("")
          .short_text(options_.name)
          .number<std::uint8_t>(0)
          .end();
      Writer(out, kHeader, 1)
          .number<std::uint16_t>(60)
          .number<std::uint16_t>(0)
          .number<std::uint64_t>(size)
          .number<std::uint16_t>(0x1000)  // of the properties only the delivery mode
          .number<std::uint8_t>(2)        // persistent
          .end();
      Writer body(out, kBody, 1);
      fmt::format_to(std::back_inserter(out), "{:012}", n);
      out.append(size - kNumber, 'x');
      body.end();
      unconfirmed_.push_back(next_tag_++);
    }
  }

  void flush() override {
    send_acks();
    for (Connection* connection : {&publisher_, &consumer_}) {
      if (!connection->out().empty()) loop_.flush(*connection);
    }
  }

  [[nodiscard]] double next_due() const override { return cli::load::seconds_now() + 3600; }

  // The answer to a second qos comes after the acks before it.
  void all_delivered() override { sealing_ = true; }

 private:
  std::size_t take(std::string_view bytes, bool publisher) {
    std::size_t at = 0;
    while (!loop_.failed()) {
      const std::string_view rest = bytes.substr(at);
      if (rest.size() < kFrameAround) break;
      const std::size_t size = read_number(rest, 3, 4);
      if (rest.size() < size + kFrameAround) break;
      frame(static_cast<std::uint8_t>(rest[0]), rest.substr(7, size),
            publisher ? publisher_ : consumer_);
      at += size + kFrameAround;
    }
    return at;
  }

  void frame(std::uint8_t type, std::string_view body, Connection& connection) {
    if (type == kBody) {
      std::uint64_t n = UINT64_MAX;
      std::from_chars(body.data(), body.data() + std::min(kNumber, body.size()), n);
      ++unacked_;
      if (account_ != nullptr) {  // else left by a client whose last acks were lost with it
        ++unsealed_;
        account_->delivered(n);
      }
      if (unacked_ >= options_.ack_max) send_acks();
      return;
    }
    if (type != kMethod) return;
    switch (const auto what = static_cast<std::uint32_t>(read_number(body, 0, 4)); what) {
      case kDeliver: {
        const std::size_t tag = 5 + read_number(body, 4, 1);  // behind the consumer's name
        last_delivered_ = read_number(body, tag, 8);
        return;
      }
      case kAck:
        return confirmed(read_number(body, 4, 8), body[12] != 0);
      case kNack:
        return loop_.fail("a publish was refused");
      case kConnectionClose:
      case kChannelClose:
        return loop_.fail("the server closed: " +
                          std::string(body.substr(7, read_number(body, 6, 1))));
      default:
        return greet(what, connection);
    }
  }

  // The handshake, step by step, as the answers come.
  void greet(std::uint32_t what, Connection& connection) {
    const bool publisher = &connection == &publisher_;
    std::string& out = connection.out();
    if (what == kStart) {
      Writer(out, kMethod, 0)
          .call(method(10, 11))
          .number<std::uint32_t>(0)
          .short_text("PLAIN")
          .long_text(std::string_view("\0guest\0guest", 12))
          .short_text("en_US")
          .end();
    } else if (what == kTune) {
      Writer(out, kMethod, 0)
          .call(method(10, 31))
          .number<std::uint16_t>(1)
          .number<std::uint32_t>(131072)
          .number<std::uint16_t>(0)
          .end();
      Writer(out, kMethod, 0)
          .call(method(10, 40))
          .short_text("/")
          .short_text("")
          .number<std::uint8_t>(0)
          .end();
    } else if (what == kConnectionOpenOk) {
      Writer(out, kMethod, 1).call(method(20, 10)).short_text("").end();
    } else if (what == kChannelOpenOk && publisher) {
      std::string type;
      type.append("\x0cx-queue-typeS").append(std::string_view("\0\0\0\x06quorum", 10));
      Writer(out, kMethod, 1)
          .call(method(50, 10))
          .number<std::uint16_t>(0)
          .short_text(options_.name)
          .number<std::uint8_t>(2)  // durable
          .long_text(type)
          .end();
    } else if (what == kDeclareOk) {
      Writer(out, kMethod, 1).call(method(85, 10)).number<std::uint8_t>(0).end();
    } else if (what == kChannelOpenOk) {
      qos(out);
    } else if (what == kQosOk && sealed_) {
      sealed_ = false;
      account_->acked(std::exchange(unsealed_, 0));
    } else if (what == kQosOk) {
      Writer(out, kMethod, 1)
          .call(method(60, 20))
          .number<std::uint16_t>(0)
          .short_text(options_.name)
          .short_text("c")
          .number<std::uint8_t>(0)
          .number<std::uint32_t>(0)
          .end();
    } else if (what == kConfirmOk || what == kConsumeOk) {
      ready_ = true;
    }
    loop_.flush(connection);
  }

  void qos(std::string& out) const {
    Writer(out, kMethod, 1)
        .call(method(60, 10))
        .number<std::uint32_t>(0)
        .number(static_cast<std::uint16_t>(options_.window))
        .number<std::uint8_t>(0)
        .end();
  }

  void send_acks() {
    if (unacked_ > 0) {
      Writer(consumer_.out(), kMethod, 1)
          .call(kAck)
          .number<std::uint64_t>(last_delivered_)
          .number<std::uint8_t>(unacked_ > 1 ? 1 : 0)
          .end();
      unacked_ = 0;
    }
    if (std::exchange(sealing_, false)) {
      sealed_ = true;
      qos(consumer_.out());
    }
  }

  void confirmed(std::uint64_t tag, bool multiple) {
    const auto end = std::ranges::upper_bound(unconfirmed_, tag);
    const auto begin =
        multiple ? unconfirmed_.begin() : std::ranges::lower_bound(unconfirmed_, tag);
    for (auto one = begin; one != end; ++one) account_->confirmed(*one - base_, 1);
    unconfirmed_.erase(begin, end);
  }

  Loop& loop_;
  PeerOptions options_;
  Account* account_ = nullptr;
  std::uint64_t next_tag_ = 1;
  std::uint64_t base_ = 1;                 // tag of event 0 of the round
  std::deque<std::uint64_t> unconfirmed_;  // tags, ascending
  std::uint64_t last_delivered_ = 0;
  std::size_t unacked_ = 0;
  std::uint64_t unsealed_ = 0;  // acks not known to have arrived
  bool sealing_ = false;
  bool sealed_ = false;
  bool ready_ = false;
  Connection publisher_;
  Connection consumer_;
};

}  // namespace

std::unique_ptr<cli::load::Target> rabbitmq_target(Loop& loop, PeerOptions options) {
  return std::make_unique<RabbitTarget>(loop, std::move(options));
}

}  // namespace ackline::bench

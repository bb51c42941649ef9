// A Redis stream with a consumer group, over RESP 2.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <vector>

#include "ackline/cli/load/connection.h"
#include "bench/peers/targets.h"

namespace ackline::bench {
namespace {

using cli::load::Account;
using cli::load::Connection;
using cli::load::Loop;

constexpr std::size_t kMore = std::string_view::npos;  // the reply is not there whole
constexpr std::size_t kFetch = 100;

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  fmt::format_to(std::back_inserter(out), "*{}\r\n", words.size());
  for (const std::string_view word : words) {
    fmt::format_to(std::back_inserter(out), "${}\r\n", word.size());
    out.append(word).append("\r\n");
  }
}

// Reads one reply: its strings in order, whatever the nesting. Where it ends, or kMore.
std::size_t read_reply(std::string_view bytes, std::vector<std::string_view>& strings) {
  std::size_t at = 0;
  for (std::int64_t left = 1; left > 0; --left) {
    const std::size_t end = bytes.find("\r\n", at);
    if (end == std::string_view::npos) return kMore;
    const char kind = bytes[at];
    const std::string_view text = bytes.substr(at + 1, end - at - 1);
    at = end + 2;
    std::int64_t size = 0;
    if (kind == '$' || kind == '*') {
      std::from_chars(text.data(), text.data() + text.size(), size);
      if (kind == '*') left += std::max<std::int64_t>(0, size);
    }
    if (kind == '$' && size >= 0) {
      if (bytes.size() < at + static_cast<std::size_t>(size) + 2) return kMore;
      strings.push_back(bytes.substr(at, static_cast<std::size_t>(size)));
      at += static_cast<std::size_t>(size) + 2;
    } else if (kind == '+' || kind == '-' || kind == ':') {
      strings.push_back(
          bytes.substr(static_cast<std::size_t>(text.data() - bytes.data()) - 1, text.size() + 1));
    }
  }
  return at;
}

class RedisTarget final : public cli::load::Target {
 public:
  RedisTarget(Loop& loop, PeerOptions options)
      : loop_(loop),
        options_(std::move(options)),
        data_(options_.size, 'x'),
        publisher_(loop, options_.address, [this](std::string_view b) { return take(b, true); }),
        consumer_(loop, options_.address, [this](std::string_view b) { return take(b, false); }) {}

  // What earlier rounds left in the stream would only take memory.
  void begin(Account& account) override {
    account_ = &account;
    append_command(publisher_.out(), {"XTRIM", options_.name, "MAXLEN", "0"});
    sent_.push_back(kTrim);
    loop_.flush(publisher_);
    wait_for(loop_, [this] { return sent_.empty(); });
    if (!std::exchange(fetching_, true)) fetch();
  }

  void publish(std::uint64_t first, std::size_t count) override {
    for (std::uint64_t n = first; n < first + count; ++n) {
      append_command(publisher_.out(),
                     {"XADD", options_.name, "*", "n", fmt::format("{}", n), "d", data_});
      sent_.push_back(n);
    }
  }

  void flush() override {
    for (Connection* connection : {&publisher_, &consumer_}) {
      if (!connection->out().empty()) loop_.flush(*connection);
    }
  }

  [[nodiscard]] double next_due() const override { return cli::load::seconds_now() + 3600; }
  void all_delivered() override {}

 private:
  static constexpr std::uint64_t kTrim = UINT64_MAX;

  void fetch() {
    append_command(consumer_.out(),
                   {"XREADGROUP", "GROUP", "bench", "c", "COUNT", fmt::format("{}", kFetch),
                    "BLOCK", "10000", "STREAMS", options_.name, ">"});
    asked_.push_back(0);
  }

  std::size_t take(std::string_view bytes, bool publisher) {
    std::size_t at = 0;
    while (!loop_.failed()) {
      strings_.clear();
      const std::string_view rest = bytes.substr(at);
      const std::size_t end = rest.empty() ? kMore : read_reply(rest, strings_);
      if (end == kMore) break;
      at += end;
      if (rest.front() == '-') {
        loop_.fail(std::string(strings_.front()));
      } else if (publisher) {
        const std::uint64_t n = sent_.front();
        sent_.pop_front();
        if (n != kTrim) account_->confirmed(n, 1);
      } else {
        consumed();
      }
    }
    return at;
  }

  void consumed() {
    const std::size_t ids = asked_.front();
    asked_.pop_front();
    if (ids == 0) return entries();
    if (strings_.front() != fmt::format(":{}", ids)) {
      return loop_.fail(fmt::format("not every ack counted: {}", strings_.front()));
    }
    account_->acked(ids);
  }

  // The name of the stream, then for each entry: its id, "n", the number, "d", the data.
  void entries() {
    std::size_t in_ack = 0;
    std::string ids;
    const auto send = [&] {
      fmt::format_to(std::back_inserter(consumer_.out()), "*{}\r\n$4\r\nXACK\r\n${}\r\n{}\r\n",
                     3 + in_ack, options_.name.size(), options_.name);
      consumer_.out().append("$5\r\nbench\r\n").append(ids);
      asked_.push_back(std::exchange(in_ack, 0));
      ids.clear();
    };
    for (std::size_t i = 1; i + 4 < strings_.size(); i += 5) {
      fmt::format_to(std::back_inserter(ids), "${}\r\n{}\r\n", strings_[i].size(), strings_[i]);
      std::uint64_t n = UINT64_MAX;
      const std::string_view text = strings_[i + 2];
      std::from_chars(text.data(), text.data() + text.size(), n);
      account_->delivered(n);
      if (++in_ack >= options_.ack_max) send();
    }
    if (in_ack > 0) send();
    fetch();
    loop_.flush(consumer_);
  }

  Loop& loop_;
  PeerOptions options_;
  std::string data_;
  Account* account_ = nullptr;
  bool fetching_ = false;
  std::deque<std::uint64_t> sent_;  // numbers that are not answered, oldest first
  std::deque<std::size_t> asked_;   // of the consumer: ids in an ack; 0: a fetch
  std::vector<std::string_view> strings_;
  Connection publisher_;
  Connection consumer_;
};

}  // namespace

std::unique_ptr<cli::load::Target> redis_target(Loop& loop, PeerOptions options) {
  return std::make_unique<RedisTarget>(loop, std::move(options));
}

}  // namespace ackline::bench

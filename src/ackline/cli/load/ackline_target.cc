#include "ackline/cli/load/ackline_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ackline::cli::load {
namespace {

constexpr std::string_view kNumber = "000000000000";  // an event's id: its number
constexpr std::string_view kDelivery = R"({"deliveryId":")";
constexpr std::string_view kEventId = R"("id":")";
constexpr std::size_t kClientsAnAckConnection = 4;
constexpr std::size_t kAckConnectionsMax = 8;

std::string binary_request(const AcklineOptions& options) {
  return fmt::format(
      "POST /events/publish?topic={} HTTP/1.1\r\nHost: {}\r\nContent-Type: "
      "application/octet-stream\r\nce-specversion: 1.0\r\nce-source: /bench\r\nce-type: "
      "bench.event\r\nce-id: {}\r\nContent-Length: {}\r\n\r\n{}",
      options.topic, options.address, kNumber, options.size, std::string(options.size, 'x'));
}

std::string batch_request(const AcklineOptions& options, std::size_t count) {
  const std::string data(options.size, 'x');
  std::string body = "[";
  for (std::size_t i = 0; i < count; ++i) {
    fmt::format_to(std::back_inserter(body),
                   R"({}{{"specversion":"1.0","source":"/bench","type":"bench.event","id":"{}",)"
                   R"("data":"{}"}})",
                   i == 0 ? "" : ",", kNumber, data);
  }
  body += "]";
  return fmt::format(
      "POST /events/publish?topic={} HTTP/1.1\r\nHost: {}\r\nContent-Type: "
      "application/cloudevents-batch+json\r\nContent-Length: {}\r\n\r\n{}",
      options.topic, options.address, body.size(), body);
}

std::uint64_t number_after(std::string_view text, std::string_view mark) {
  std::uint64_t number = 0;
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return number;
  std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), number);
  return number;
}

// The number in the id of the event in a delivery.
std::uint64_t event_number(std::string_view delivery) {
  const std::size_t event = delivery.find(R"("event":{)");
  if (event == std::string_view::npos) return UINT64_MAX;
  const std::size_t id = delivery.find(kEventId, event);
  if (id == std::string_view::npos) return UINT64_MAX;
  const std::string_view text = delivery.substr(id + kEventId.size(), kNumber.size());
  std::uint64_t number = UINT64_MAX;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// {"acked":N,"failed":0,… or {"status":"acked",…: how many, 0 when not each counted.
std::size_t settles_counted(std::string_view body, bool nacks) {
  const std::string_view many = nacks ? R"({"nacked":)" : R"({"acked":)";
  if (body.starts_with(R"({"status":"a)")) return 1;  // acked or already
  if (!body.starts_with(many) || body.find(R"(,"failed":0,)") == std::string_view::npos) return 0;
  std::size_t count = 0;
  std::from_chars(body.data() + many.size(), body.data() + body.size(), count);
  return count;
}

}  // namespace

void append_post(std::string& out, std::string_view address, std::string_view target,
                 std::string_view body) {
  fmt::format_to(std::back_inserter(out),
                 "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
                 "Content-Length: {}\r\n\r\n{}",
                 target, address, body.size(), body);
}

struct AcklineTarget::Publisher {
  Publisher(AcklineTarget& target, Loop& loop, const std::string& address)
      : answers([this, &target](int status, std::string_view body) {
          target.published(*this, status, body);
        }),
        connection(loop, address, [this, &loop](std::string_view bytes) {
          const std::size_t used = answers.take(bytes);
          if (!answers.problem().empty()) loop.fail(answers.problem());
          return used;
        }) {}
  HttpAnswers answers;
  struct Sent {
    std::uint64_t first;
    std::size_t count;
  };
  std::deque<Sent> sent;  // not answered, oldest first
  Connection connection;
};

struct AcklineTarget::Acks {
  Acks(AcklineTarget& target, Loop& loop, const std::string& address)
      : answers([this, &target](int status, std::string_view body) {
          target.acked(*this, status, body);
        }),
        connection(loop, address, [this, &loop](std::string_view bytes) {
          const std::size_t used = answers.take(bytes);
          if (!answers.problem().empty()) loop.fail(answers.problem());
          return used;
        }) {}
  HttpAnswers answers;
  // Requests that are not answered, oldest first.
  struct Asked {
    std::size_t ids = 0;   // 0: a poll
    std::size_t done = 0;  // of them, what counts as acked
    bool nacks = false;
  };
  std::deque<Asked> asked;
  Client* polls = nullptr;  // whose polls go over this connection too
  Connection connection;
};

struct AcklineTarget::Client {
  std::string name;
  Acks* acks = nullptr;
  std::string ids;  // to ack: "a","b"
  std::size_t id_count = 0;
  std::string nack_ids;
  std::size_t nack_count = 0;
  std::size_t dead_count = 0;  // of those, at their last attempt
  std::unique_ptr<HttpStream> stream;
  std::unique_ptr<Connection> connection;  // of the stream
};

AcklineTarget::AcklineTarget(Loop& loop, AcklineOptions options)
    : loop_(loop), options_(std::move(options)) {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    publishers_.push_back(std::make_unique<Publisher>(*this, loop_, options_.address));
  }
  const bool polls = options_.delivery == Delivery::kPoll;
  const std::size_t clients = options_.clients.size();
  const std::size_t ack_connections =
      polls ? clients
            : std::min(kAckConnectionsMax,
                       (clients + kClientsAnAckConnection - 1) / kClientsAnAckConnection);
  for (std::size_t i = 0; i < ack_connections; ++i) {
    acks_.push_back(std::make_unique<Acks>(*this, loop_, options_.address));
  }
  for (std::size_t i = 0; i < clients; ++i) {
    clients_.push_back(std::make_unique<Client>());
    Client* client = clients_.back().get();
    client->name = options_.clients[i];
    client->acks = acks_[i % ack_connections].get();
    if (polls) {
      client->acks->polls = client;
      continue;
    }
    client->stream = std::make_unique<HttpStream>(
        [this, client](std::string_view id, std::string_view data) { deliver(*client, id, data); });
    client->connection =
        std::make_unique<Connection>(loop_, options_.address, [this, client](std::string_view b) {
          const std::size_t used = client->stream->take(b);
          if (!client->stream->problem().empty()) loop_.fail(client->stream->problem());
          return used;
        });
  }
}

AcklineTarget::~AcklineTarget() = default;

void AcklineTarget::begin(Account& account) {
  const bool first = account_ == nullptr;
  account_ = &account;
  if (!first) return;  // streams stay open and a poll is always under way
  for (const auto& client : clients_) {
    if (client->stream == nullptr) {
      poll(*client);
      loop_.flush(client->acks->connection);
      continue;
    }
    fmt::format_to(std::back_inserter(client->connection->out()),
                   "GET /events/stream?clientId={} HTTP/1.1\r\nHost: {}\r\n\r\n", client->name,
                   options_.address);
    loop_.flush(*client->connection);
  }
  const auto waits = [](const auto& client) { return client->stream && !client->stream->open(); };
  const double deadline = seconds_now() + 60;
  while (!loop_.failed() && std::ranges::any_of(clients_, waits)) {
    if (seconds_now() > deadline) return loop_.fail("the event streams did not open within 60 s");
    loop_.wait(deadline);
  }
}

void AcklineTarget::publish(std::uint64_t first, std::size_t count) {
  if (count != batch_) {
    batch_ = count;
    request_ = count == 1 ? binary_request(options_) : batch_request(options_, count);
    id_ends_.clear();
    for (std::size_t at = request_.find(kNumber); at != std::string::npos;
         at = request_.find(kNumber, at + kNumber.size())) {
      id_ends_.push_back(at + kNumber.size());
    }
  }
  std::uint64_t next = first;
  for (const std::size_t end : id_ends_) {
    std::uint64_t number = next++;
    for (std::size_t at = end - 1; at >= end - kNumber.size(); --at, number /= 10) {
      request_[at] = static_cast<char>('0' + number % 10);
    }
  }
  Publisher& publisher = *publishers_[requests_++ % publishers_.size()];
  publisher.connection.out().append(request_);
  publisher.sent.push_back({first, count});
}

void AcklineTarget::published(Publisher& publisher, int status, std::string_view body) {
  if (status != 202 || body.find(R"("status":"accepted")") == std::string_view::npos) {
    return loop_.fail(fmt::format("a publish was answered {} {}", status, body.substr(0, 300)));
  }
  const Publisher::Sent sent = publisher.sent.front();
  publisher.sent.pop_front();
  account_->confirmed(sent.first, sent.count);
}

void AcklineTarget::deliver(Client& client, std::string_view id, std::string_view delivery) {
  const std::uint64_t number = event_number(delivery);
  const Verdict verdict = judge(number, delivery);
  if (client.id_count + client.nack_count == 0) dirty_.push_back(&client);
  std::string& ids = verdict.nack ? client.nack_ids : client.ids;
  ids.append(ids.empty() ? "\"" : ",\"").append(id).push_back('"');
  ++(verdict.nack ? client.nack_count : client.id_count);
  if (verdict.dead) ++client.dead_count;
  account_->delivered(number);
  if (client.id_count >= options_.ack_max) send_acks(client);
  if (client.nack_count >= options_.ack_max) send_nacks(client);
}

AcklineTarget::Verdict AcklineTarget::judge(std::uint64_t number, std::string_view delivery) const {
  const auto one_in = [&](std::uint64_t every) { return every > 0 && number % every == every / 2; };
  const bool poison = one_in(options_.poison_every);
  if (!poison && !one_in(options_.nack_every)) return {};
  const std::uint64_t attempt = number_after(delivery, R"("attempt":)");
  return {.nack = poison || attempt == 1, .dead = poison && attempt >= options_.attempts};
}

void AcklineTarget::send_acks(Client& client) {
  if (client.id_count == 0) return;
  const std::string body =
      client.id_count == 1 && options_.ack_max == 1
          ? fmt::format(R"({{"clientId":"{}","deliveryId":{}}})", client.name, client.ids)
          : fmt::format(R"({{"clientId":"{}","deliveryIds":[{}]}})", client.name, client.ids);
  append_post(client.acks->connection.out(), options_.address, "/events/ack", body);
  client.acks->asked.push_back({client.id_count, client.id_count, false});
  client.ids.clear();
  client.id_count = 0;
}

void AcklineTarget::send_nacks(Client& client) {
  if (client.nack_count == 0) return;
  append_post(client.acks->connection.out(), options_.address, "/events/nack",
              fmt::format(R"({{"clientId":"{}","deliveryIds":[{}],"reason":"as the run says"}})",
                          client.name, client.nack_ids));
  client.acks->asked.push_back({client.nack_count, client.dead_count, true});
  client.nack_ids.clear();
  client.nack_count = 0;
  client.dead_count = 0;
}

void AcklineTarget::acked(Acks& acks, int status, std::string_view body) {
  const Acks::Asked asked = acks.asked.front();
  acks.asked.pop_front();
  if (status != 200) {
    return loop_.fail(fmt::format("the server answered {} {}", status, body.substr(0, 300)));
  }
  if (asked.ids == 0) return take_poll(*acks.polls, body);
  if (settles_counted(body, asked.nacks) != asked.ids) {
    return loop_.fail(
        fmt::format("not every {} counted: {}", asked.nacks ? "nack" : "ack", body.substr(0, 300)));
  }
  account_->acked(asked.done);
}

void AcklineTarget::take_poll(Client& client, std::string_view body) {
  for (std::size_t at = body.find(kDelivery); at != std::string_view::npos;) {
    const std::size_t next = body.find(kDelivery, at + kDelivery.size());
    const std::string_view one = body.substr(at, next - at);
    const std::size_t end = one.find('"', kDelivery.size());
    deliver(client, one.substr(kDelivery.size(), end - kDelivery.size()), one);
    at = next;
  }
  // Before the poll: answers come in the order of the requests, and a poll may wait.
  send_acks(client);
  send_nacks(client);
  poll(client);
  loop_.flush(client.acks->connection);
}

void AcklineTarget::poll(Client& client) {
  fmt::format_to(std::back_inserter(client.acks->connection.out()),
                 "GET /events/poll?clientId={}&max={}&timeoutMs=1000 HTTP/1.1\r\nHost: {}\r\n\r\n",
                 client.name, options_.poll_max, options_.address);
  client.acks->asked.push_back({});
}

void AcklineTarget::flush() {
  for (Client* client : dirty_) {
    send_acks(*client);
    send_nacks(*client);
  }
  dirty_.clear();
  const auto leave = [this](auto& all) {
    for (const auto& one : all) {
      if (!one->connection.out().empty()) loop_.flush(one->connection);
    }
  };
  leave(publishers_);
  leave(acks_);
}

double AcklineTarget::next_due() const {
  return seconds_now() + 3600;
}

Result<void> pipeline(const std::string& address, std::size_t count, int status,
                      const std::function<void(std::size_t i, std::string& out)>& append) {
  constexpr std::size_t kUnanswered = 64;
  Loop loop;
  std::size_t answered = 0;
  HttpAnswers answers([&](int got, std::string_view body) {
    ++answered;
    if (got != status) loop.fail(fmt::format("answered {} {}", got, body.substr(0, 300)));
  });
  Connection connection(loop, address, [&](std::string_view bytes) {
    const std::size_t used = answers.take(bytes);
    if (!answers.problem().empty()) loop.fail(answers.problem());
    return used;
  });
  const double deadline = seconds_now() + 120;
  for (std::size_t sent = 0; answered < count && !loop.failed();) {
    for (; sent < count && sent - answered < kUnanswered; ++sent) append(sent, connection.out());
    loop.flush(connection);
    loop.wait(seconds_now() + 1);
    if (seconds_now() > deadline) loop.fail("no answer within 120 s");
  }
  if (loop.failed()) return std::unexpected(loop.error());
  return {};
}

}  // namespace ackline::cli::load

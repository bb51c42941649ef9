// A table of PostgreSQL as a queue, over its protocol 3.0 with prepared statements, pipelined. Each
// publish is a transaction; each fetch deletes under SKIP LOCKED, and its COMMIT is the ack.
//
// A session of PostgreSQL does one transaction after another, so several share the work, as with
// every client of it.
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

constexpr std::size_t kPublishers = 8;
constexpr std::size_t kConsumers = 4;
constexpr double kRetry = 0.002;  // seconds until an empty queue is asked again
constexpr std::string_view kNothing("\0", 1);

void append_number(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) {
    out.push_back(static_cast<char>(value >> (8 * i) & 0xffU));
  }
}

// One message: kind, length, body.
void append_message(std::string& out, char kind, std::string_view body) {
  out.push_back(kind);
  append_number(out, body.size() + 4, 4);
  out.append(body);
}

std::uint64_t read_number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + size && i < bytes.size(); ++i) {
    value = value << 8U | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

// A session of the server. What was asked, in order; each is answered by ReadyForQuery.
struct Session {
  struct Asked {
    std::uint64_t first = 0;
    std::size_t count = 0;  // events published; 0: a fetch or a commit
    bool commit = false;
  };
  Session(Loop& loop, const std::string& address, Connection::Take take)
      : connection(loop, address, std::move(take)) {}
  std::deque<Asked> asked;
  std::size_t rows = 0;  // of the fetch under way
  double retry = 0;      // when the queue is asked again; 0: it is being asked
  bool idle = true;
  Connection connection;
};

class PostgresTarget final : public cli::load::Target {
 public:
  PostgresTarget(Loop& loop, PeerOptions options)
      : loop_(loop), options_(std::move(options)), data_(options_.size, 'x') {
    std::string values;
    for (std::size_t i = 0; i < options_.batch; ++i) {
      fmt::format_to(std::back_inserter(values), "{}(${},${})", i == 0 ? "" : ",", 2 * i + 1,
                     2 * i + 2);
    }
    const std::string table = options_.name;
    open(publishers_, kPublishers,
         {{"put", fmt::format("INSERT INTO {} (n, d) VALUES {}", table, values)}});
    open(consumers_, kConsumers,
         {{"begin", "BEGIN"},
          {"commit", "COMMIT"},
          {"get", fmt::format("DELETE FROM {0} WHERE id IN (SELECT id FROM {0} ORDER BY id FOR "
                              "UPDATE SKIP LOCKED LIMIT {1}) RETURNING n, d",
                              table, options_.ack_max)}});
  }

  void begin(Account& account) override { account_ = &account; }

  void publish(std::uint64_t first, std::size_t count) override {
    Session& session = *publishers_[requests_++ % publishers_.size()];
    std::string body("\0put\0\0\0", 7);  // no portal name, statement, no format codes: text
    append_number(body, 2 * count, 2);
    for (std::uint64_t n = first; n < first + count; ++n) {
      const std::string text = std::to_string(n);
      append_number(body, text.size(), 4);
      body.append(text);
      append_number(body, data_.size(), 4);
      body.append(data_);
    }
    append_number(body, 0, 2);
    std::string& out = session.connection.out();
    append_message(out, 'B', body);
    append_message(out, 'E', std::string_view("\0\0\0\0\0", 5));
    append_message(out, 'S', {});
    session.asked.push_back({.first = first, .count = count, .commit = false});
  }

  void flush() override {
    const double now = cli::load::seconds_now();
    for (const auto& session : consumers_) {
      if (!session->idle || session->retry > now) continue;
      session->idle = false;
      session->rows = 0;
      execute(*session, "begin");
      execute(*session, "get");
      append_message(session->connection.out(), 'S', {});
      session->asked.push_back({});
    }
    for (auto* sessions : {&publishers_, &consumers_}) {
      for (const auto& session : *sessions) {
        if (!session->connection.out().empty()) loop_.flush(session->connection);
      }
    }
  }

  [[nodiscard]] double next_due() const override {
    double due = cli::load::seconds_now() + 3600;
    for (const auto& session : consumers_) {
      if (session->idle) due = std::min(due, session->retry);
    }
    return due;
  }
  void all_delivered() override {}

 private:
  using Sessions = std::vector<std::unique_ptr<Session>>;
  struct Statement {
    std::string name;
    std::string text;
  };

  // Connects, greets and prepares. The cluster trusts local users.
  void open(Sessions& sessions, std::size_t count, const std::vector<Statement>& statements) {
    for (std::size_t i = 0; i < count && !loop_.failed(); ++i) {
      sessions.push_back(std::make_unique<Session>(
          loop_, options_.address,
          [this, &sessions, i](std::string_view bytes) { return take(*sessions[i], bytes); }));
      std::string& out = sessions[i]->connection.out();
      std::string hello;
      append_number(hello, 196608, 4);  // protocol 3.0
      hello.append(std::string_view("user\0postgres\0database\0postgres\0\0", 33));
      append_number(out, hello.size() + 4, 4);
      out.append(hello);
      for (const Statement& statement : statements) {
        append_message(out, 'P',
                       fmt::format("{}{}{}{}", statement.name, kNothing, statement.text,
                                   std::string_view("\0\0\0", 3)));
      }
      append_message(out, 'S', {});
      loop_.flush(sessions[i]->connection);
      // Ready after the greeting and again after the statements.
      ready_ = 0;
      wait_for(loop_, [this] { return ready_ >= 2; });
    }
  }

  static void execute(Session& session, std::string_view statement) {
    std::string body("\0", 1);
    body.append(statement).append(std::string_view("\0\0\0\0\0\0\0", 7));
    append_message(session.connection.out(), 'B', body);
    append_message(session.connection.out(), 'E', std::string_view("\0\0\0\0\0", 5));
  }

  std::size_t take(Session& session, std::string_view bytes) {
    std::size_t at = 0;
    while (!loop_.failed()) {
      const std::string_view rest = bytes.substr(at);
      if (rest.size() < 5) break;
      const std::size_t size = read_number(rest, 1, 4) + 1;
      if (rest.size() < size) break;
      const std::string_view body = rest.substr(5, size - 5);
      if (rest[0] == 'D') row(session, body);
      if (rest[0] == 'E') error(body);
      if (rest[0] == 'R' && read_number(body, 0, 4) != 0) loop_.fail("it asks for a password");
      if (rest[0] == 'Z') ready(session);
      at += size;
    }
    return at;
  }

  void error(std::string_view body) {
    std::string text(body);
    std::ranges::replace(text, '\0', ' ');
    loop_.fail("PostgreSQL: " + text);
  }

  // Columns n and d: a count, then length and text of each.
  void row(Session& session, std::string_view body) {
    const std::size_t size = read_number(body, 2, 4);
    std::uint64_t n = UINT64_MAX;
    std::from_chars(body.data() + 6, body.data() + 6 + size, n);
    ++session.rows;
    account_->delivered(n);
  }

  void ready(Session& session) {
    if (session.asked.empty()) {
      ++ready_;
      return;
    }
    const Session::Asked asked = session.asked.front();
    session.asked.pop_front();
    if (asked.count > 0) return account_->confirmed(asked.first, asked.count);
    if (asked.commit) {
      account_->acked(session.rows);
      session.retry = session.rows > 0 ? 0 : cli::load::seconds_now() + kRetry;
      session.idle = true;
      return;
    }
    execute(session, "commit");
    append_message(session.connection.out(), 'S', {});
    session.asked.push_back({.first = 0, .count = 0, .commit = true});
    loop_.flush(session.connection);
  }

  Loop& loop_;
  PeerOptions options_;
  std::string data_;
  Account* account_ = nullptr;
  std::size_t ready_ = 0;
  std::uint64_t requests_ = 0;
  Sessions publishers_;
  Sessions consumers_;
};

}  // namespace

std::unique_ptr<cli::load::Target> postgres_target(Loop& loop, PeerOptions options) {
  return std::make_unique<PostgresTarget>(loop, std::move(options));
}

}  // namespace ackline::bench

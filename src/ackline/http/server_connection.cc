#include "ackline/http/server_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ackline/base/check.h"
#include "ackline/http/problem.h"
#include "ackline/http/request_parser.h"
#include "ackline/http/response_queue.h"

namespace ackline::http {
namespace {

using ParseState = RequestParser::State;

class Connection final : public ServerConnection, public std::enable_shared_from_this<Connection> {
 public:
  Connection(MonoMs now, RequestHandler& handler, ConnectionOptions options,
             std::function<void()> wake)
      : handler_(handler),
        options_(std::move(options)),
        limits_(options_.limits),
        wake_(std::move(wake)),
        parser_(limits_),
        idle_since_(now) {}

  void respond(ResponseToken token, Response response) override;
  void start_stream(ResponseToken token, Response head) override;
  void write_stream(ResponseToken token, std::string_view bytes) override;
  void end_stream(ResponseToken token) override;
  [[nodiscard]] bool open(ResponseToken token) const override {
    return !closed_ && answers_.is_open(token);
  }
  [[nodiscard]] std::size_t pending_bytes() const override {
    return answers_.bytes() + in_flight_bytes_;
  }
  void on_gone(ResponseToken token, Task task) override;
  void when_drained(ResponseToken token, Task task) override;

  void on_bytes(MonoMs now, std::string_view bytes) override;
  void on_eof(MonoMs now) override;
  void on_lost() override;
  void on_tick(MonoMs now) override;
  [[nodiscard]] std::optional<MonoMs> next_deadline() const override;
  [[nodiscard]] bool has_output() const override { return !closed_ && !answers_.output().empty(); }
  void take_output(std::string& into) override;
  void on_written(MonoMs now, std::size_t bytes) override;
  [[nodiscard]] bool wants_read() const override;
  [[nodiscard]] bool wants_shutdown() const override { return lingering_ && !closed_; }
  [[nodiscard]] bool wants_close() const override { return closed_; }
  void drain() override;
  [[nodiscard]] bool idle() const override {
    return answers_.empty() && parser_.state() == ParseState::kIdle && input_.empty();
  }

 private:
  struct Drained {
    ResponseToken token;
    Task task;
  };

  [[nodiscard]] bool backlog_over();
  // Nothing will be asked after `token`, so its answer may say that it is the last.
  [[nodiscard]] bool is_last_answer(ResponseToken token) const;
  void answered();
  void wake();

  [[nodiscard]] bool may_parse() const;
  void pump(MonoMs now, std::string_view bytes);
  void dispatch();
  void refuse(const Error& error);
  void note_parse_state(MonoMs now);
  void maybe_continue();
  void restart_read_clocks(MonoMs now);
  [[nodiscard]] std::optional<MonoMs> read_deadline() const;
  void give_up_reading(MonoMs now);
  void settle(MonoMs now);
  void tell_drained();

  RequestHandler& handler_;
  const ConnectionOptions options_;
  const Limits& limits_;
  std::function<void()> wake_;
  RequestParser parser_;
  ResponseQueue answers_;
  std::string input_;  // read but not parsed: too much is unanswered
  std::vector<Drained> drained_;
  std::size_t in_flight_bytes_ = 0;  // taken but not written
  ParseState seen_ = ParseState::kIdle;
  MonoMs read_since_;    // of the header or the body
  MonoMs window_since_;  // of the slow body's window
  std::size_t window_bytes_ = 0;
  MonoMs idle_since_;
  MonoMs write_since_;  // the last progress while output was in flight
  MonoMs linger_since_;
  bool woken_ = false;
  bool write_begins_ = false;  // taken while nothing was in flight
  bool paused_ = false;        // reading was off, so its time does not count
  bool no_requests_ = false;   // what comes from the peer is thrown away
  bool polite_close_ = false;  // read on for a while before closing
  bool lingering_ = false;
  bool eof_ = false;
  bool continue_due_ = false;
  bool draining_ = false;
  bool closed_ = false;
};

// A peer that does not read what it asked for is cut off; the round that `wake` asks for does it.
bool Connection::backlog_over() {
  if (closed_ || pending_bytes() <= limits_.output_hard_bytes) {
    return closed_;
  }
  closed_ = true;
  wake();
  return true;
}

bool Connection::is_last_answer(ResponseToken token) const {
  return draining_ && answers_.is_last(token) && parser_.state() == ParseState::kIdle &&
         input_.empty();
}

void Connection::respond(ResponseToken token, Response response) {
  if (!backlog_over() && answers_.respond(token, response, is_last_answer(token))) {
    answered();
  }
}

void Connection::start_stream(ResponseToken token, Response head) {
  if (!backlog_over() && answers_.start_stream(token, head, is_last_answer(token))) {
    wake();
  }
}

void Connection::write_stream(ResponseToken token, std::string_view bytes) {
  if (!backlog_over() && answers_.write_stream(token, bytes)) {
    wake();
  }
}

void Connection::end_stream(ResponseToken token) {
  if (!closed_ && answers_.end_stream(token)) {
    answered();
  }
}

void Connection::answered() {
  if (answers_.closing()) {
    no_requests_ = true;
    polite_close_ = polite_close_ || !input_.empty() || parser_.state() != ParseState::kIdle;
    input_ = {};
  } else {
    maybe_continue();
  }
  wake();
}

void Connection::wake() {
  if (!std::exchange(woken_, true) && wake_) {
    wake_();
  }
}

void Connection::on_gone(ResponseToken token, Task task) {
  if (eof_ || !open(token)) {
    task();
    return;
  }
  (void)answers_.on_gone(token, std::move(task));
}

void Connection::when_drained(ResponseToken token, Task task) {
  if (open(token)) {
    drained_.push_back({token, std::move(task)});
    wake();
  }
}

bool Connection::may_parse() const {
  return !no_requests_ && !closed_ && answers_.size() < limits_.pipelined &&
         pending_bytes() <= limits_.output_soft_bytes;
}

bool Connection::wants_read() const {
  return !closed_ && !eof_ && (no_requests_ || (may_parse() && input_.empty()));
}

void Connection::on_bytes(MonoMs now, std::string_view bytes) {
  if (closed_ || no_requests_) {
    // Closing over what the peer has sent could destroy the answer on its way (RST).
    polite_close_ = true;
    return;
  }
  if (!input_.empty() || !may_parse()) {
    input_.append(bytes);
    return;
  }
  pump(now, bytes);
  settle(now);
}

void Connection::pump(MonoMs now, std::string_view bytes) {
  while (!bytes.empty() && may_parse()) {
    const std::size_t taken = parser_.feed(bytes);
    bytes.remove_prefix(taken);
    if (seen_ == ParseState::kBody) {
      window_bytes_ += taken;
    }
    note_parse_state(now);
    if (parser_.state() == ParseState::kDone) {
      dispatch();
      note_parse_state(now);
    } else if (parser_.state() == ParseState::kFailed) {
      refuse(parser_.failure());
      return;
    }
  }
  if (!bytes.empty() && no_requests_) {
    polite_close_ = true;
  } else if (!bytes.empty()) {
    input_.assign(bytes);
  }
}

void Connection::note_parse_state(MonoMs now) {
  const ParseState state = parser_.state();
  if (state == seen_) {
    return;
  }
  seen_ = state;
  restart_read_clocks(now);
  if (state == ParseState::kBody) {
    continue_due_ = parser_.expects_continue();
    maybe_continue();
  }
}

void Connection::restart_read_clocks(MonoMs now) {
  read_since_ = now;
  window_since_ = now;
  window_bytes_ = 0;
}

// The interim answer, once every earlier answer is out of the way.
void Connection::maybe_continue() {
  if (continue_due_ && answers_.empty() && parser_.expects_continue()) {
    answers_.output().append("HTTP/1.1 100 Continue\r\n\r\n");
    continue_due_ = false;
    wake();
  }
}

void Connection::dispatch() {
  Request request = parser_.take_request();
  request.remote = options_.remote;
  request.listener = options_.listener;
  const ResponseToken token = answers_.open({.head_only = request.method == "HEAD",
                                             .http_1_0 = request.http_1_0,
                                             .close = !request.keep_alive});
  // Whatever follows a last request was not to be sent.
  no_requests_ = !request.keep_alive;
  handler_.handle(std::move(request), Responder(weak_from_this(), token));
}

void Connection::refuse(const Error& error) {
  no_requests_ = true;
  polite_close_ = true;
  input_ = {};
  const ResponseToken token = answers_.open({.close = true});
  respond(token, problem_response(error));
}

void Connection::take_output(std::string& into) {
  ACKLINE_CHECK(into.empty());
  woken_ = false;
  write_begins_ = in_flight_bytes_ == 0;
  in_flight_bytes_ += answers_.output().size();
  into.swap(answers_.output());
}

void Connection::on_written(MonoMs now, std::size_t bytes) {
  ACKLINE_CHECK(bytes <= in_flight_bytes_ || closed_);
  if (closed_) {
    return;
  }
  woken_ = false;
  in_flight_bytes_ -= bytes;
  if (bytes > 0 || std::exchange(write_begins_, false)) {
    write_since_ = now;
  }
  if (!input_.empty() && may_parse()) {
    paused_ = false;
    restart_read_clocks(now);
    const std::string input = std::exchange(input_, {});
    pump(now, input);
  }
  settle(now);
}

// What follows from the state that a call of the driver leaves behind.
void Connection::settle(MonoMs now) {
  if (!may_parse()) {
    paused_ = true;
  } else if (std::exchange(paused_, false)) {
    restart_read_clocks(now);
  }
  if (pending_bytes() > 0 || closed_) {
    return;
  }
  idle_since_ = now;
  tell_drained();
  if (pending_bytes() > 0 || closed_ || lingering_) {
    return;
  }
  const bool unasked = answers_.empty() && input_.empty();
  if (answers_.closing() && polite_close_ && !eof_) {
    lingering_ = true;
    linger_since_ = now;
  } else if (answers_.closing() || (eof_ && unasked) || (draining_ && idle())) {
    closed_ = true;
  }
}

void Connection::tell_drained() {
  if (drained_.empty()) {
    return;
  }
  for (Drained& entry : std::exchange(drained_, {})) {
    if (open(entry.token)) {
      entry.task();
    }
  }
}

void Connection::on_eof(MonoMs now) {
  eof_ = true;
  if (lingering_) {
    closed_ = true;
    return;
  }
  answers_.run_gone_tasks();
  settle(now);
}

void Connection::on_lost() {
  const auto self = shared_from_this();  // a task may drop the last owner
  closed_ = true;
  wake_ = {};
  answers_.run_gone_tasks();
  answers_.clear();
  drained_.clear();
  input_ = {};
  in_flight_bytes_ = 0;
}

std::optional<MonoMs> Connection::read_deadline() const {
  if (!may_parse() || !input_.empty()) {
    return std::nullopt;
  }
  if (parser_.state() == ParseState::kHeader) {
    return read_since_.plus(limits_.header_read_ms);
  }
  if (parser_.state() == ParseState::kBody) {
    return std::min(read_since_.plus(limits_.body_read_ms),
                    window_since_.plus(limits_.slow_window_ms));
  }
  return std::nullopt;
}

std::optional<MonoMs> Connection::next_deadline() const {
  if (closed_) {
    return std::nullopt;
  }
  if (lingering_) {
    return linger_since_.plus(limits_.linger_ms);
  }
  if (idle() && pending_bytes() == 0) {
    return idle_since_.plus(limits_.idle_ms);
  }
  std::optional<MonoMs> deadline = read_deadline();
  if (in_flight_bytes_ > 0) {
    const MonoMs stalled = write_since_.plus(limits_.idle_ms);
    deadline = deadline ? std::min(*deadline, stalled) : stalled;
  }
  return deadline;
}

void Connection::on_tick(MonoMs now) {
  const auto deadline = next_deadline();
  if (!deadline || now < *deadline) {
    return;
  }
  if (const auto reading = read_deadline(); reading && now >= *reading) {
    give_up_reading(now);
    return;
  }
  closed_ = true;  // idle, lingered enough, or a peer that takes no output
}

void Connection::give_up_reading(MonoMs now) {
  const bool header = parser_.state() == ParseState::kHeader;
  const bool body_over = !header && now >= read_since_.plus(limits_.body_read_ms);
  const auto window_bytes =
      limits_.slow_bytes_per_second * static_cast<std::size_t>(limits_.slow_window_ms) / 1000;
  if (!header && !body_over && window_bytes_ >= window_bytes) {
    window_since_ = now;
    window_bytes_ = 0;
    return;
  }
  std::string detail =
      fmt::format("the body came slower than {} bytes a second", limits_.slow_bytes_per_second);
  if (header) {
    detail = fmt::format("the header took over {} ms", limits_.header_read_ms);
  } else if (body_over) {
    detail = fmt::format("the body took over {} ms", limits_.body_read_ms);
  }
  refuse(Error{ErrorCode::kRequestTimeout,
               std::move(detail),
               "Send the request faster, or in smaller pieces.",
               {}});
  settle(now);
}

void Connection::drain() {
  draining_ = true;
  if (idle() && pending_bytes() == 0) {
    closed_ = true;
  }
}

}  // namespace

std::shared_ptr<ServerConnection> ServerConnection::make(MonoMs now, RequestHandler& handler,
                                                         ConnectionOptions options,
                                                         std::function<void()> wake) {
  return std::make_shared<Connection>(now, handler, std::move(options), std::move(wake));
}

}  // namespace ackline::http

#include "ackline/http/server_connection.h"

#include <algorithm>
#include <utility>

#include "ackline/base/check.h"
#include "ackline/http/http_connection.h"

namespace ackline::http {

// A peer that does not read what it asked for is cut off; the round that `wake` asks for does it.
bool HttpConnection::backlog_over() {
  if (closed_ || pending_bytes() <= limits_.output_hard_bytes) {
    return closed_;
  }
  closed_ = true;
  wake();
  return true;
}

bool HttpConnection::is_last_answer(ResponseToken token) const {
  return draining_ && answers_.is_last(token) && parser_.state() == ParseState::kIdle &&
         input_.empty();
}

void HttpConnection::respond(ResponseToken token, Response response) {
  if (!backlog_over() && answers_.respond(token, response, is_last_answer(token))) {
    answered();
  }
}

void HttpConnection::start_stream(ResponseToken token, Response head) {
  if (!backlog_over() && answers_.start_stream(token, head, is_last_answer(token))) {
    wake();
  }
}

void HttpConnection::write_stream(ResponseToken token, std::string_view bytes) {
  if (!backlog_over() && answers_.write_stream(token, bytes)) {
    wake();
  }
}

void HttpConnection::end_stream(ResponseToken token) {
  if (!closed_ && answers_.end_stream(token)) {
    answered();
  }
}

void HttpConnection::answered() {
  if (answers_.closing()) {
    no_requests_ = true;
    polite_close_ = polite_close_ || !input_.empty() || parser_.state() != ParseState::kIdle;
    input_ = {};
  } else {
    maybe_continue();
  }
  wake();
}

void HttpConnection::wake() {
  if (!std::exchange(woken_, true) && wake_) {
    wake_();
  }
}

void HttpConnection::on_gone(ResponseToken token, Task task) {
  if (eof_ || !open(token)) {
    task();
    return;
  }
  (void)answers_.on_gone(token, std::move(task));
}

void HttpConnection::take_output(std::string& into) {
  ACKLINE_CHECK(into.empty());
  woken_ = false;
  in_flight_bytes_ += answers_.output().size();
  into.swap(answers_.output());
}

void HttpConnection::on_written(MonoMs now, std::size_t bytes) {
  ACKLINE_CHECK(bytes <= in_flight_bytes_ || closed_);
  if (closed_) {
    return;
  }
  woken_ = false;
  in_flight_bytes_ -= bytes;
  written_bytes_ += bytes;
  moved_ = moved_ || bytes > 0;
  if ((bytes > 0 || in_flight_bytes_ > 0) && !pace_.running()) {
    pace_.begin(now, output_counts());
  }
  if (!input_.empty() && may_parse()) {
    paused_ = false;
    restart_read_clocks(now);
    const std::string input = std::exchange(input_, {});
    pump(now, input);
  }
  settle(now);
}

WritePace::Counts HttpConnection::output_counts() const {
  const std::uint64_t waiting = options_.unconfirmed ? options_.unconfirmed() : 0;
  return {.given = written_bytes_ + in_flight_bytes_,
          .taken = written_bytes_ - std::min(waiting, written_bytes_)};
}

// What follows from the state that a call of the driver leaves behind.
void HttpConnection::settle(MonoMs now) {
  if (!may_parse()) {
    paused_ = true;
  } else if (std::exchange(paused_, false)) {
    restart_read_clocks(now);
  }
  if (pending_bytes() > 0 || closed_) {
    return;
  }
  if (std::exchange(moved_, false)) {
    idle_since_ = now;
  }
  if (lingering_) {
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

void HttpConnection::on_lost() {
  const auto self = shared_from_this();  // a task may drop the last owner
  closed_ = true;
  wake_ = {};
  answers_.run_gone_tasks();
  answers_.clear();
  input_ = {};
  in_flight_bytes_ = 0;
}

void HttpConnection::drain() {
  draining_ = true;
  if (idle() && pending_bytes() == 0) {
    closed_ = true;
  }
}

std::shared_ptr<ServerConnection> ServerConnection::make(MonoMs now, RequestHandler& handler,
                                                         ConnectionOptions options,
                                                         std::function<void()> wake) {
  return std::make_shared<HttpConnection>(now, handler, std::move(options), std::move(wake));
}

}  // namespace ackline::http

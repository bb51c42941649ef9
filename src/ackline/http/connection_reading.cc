#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ackline/http/http_connection.h"
#include "ackline/http/problem.h"

namespace ackline::http {

bool HttpConnection::may_parse() const {
  return !no_requests_ && !closed_ && answers_.size() < limits_.pipelined &&
         pending_bytes() <= limits_.output_soft_bytes;
}

bool HttpConnection::wants_read() const {
  return !closed_ && !eof_ && (no_requests_ || (may_parse() && input_.empty()));
}

void HttpConnection::on_bytes(MonoMs now, std::string_view bytes) {
  if (closed_ || no_requests_) {
    // Closing over what the peer has sent could destroy the answer on its way (RST).
    polite_close_ = true;
    return;
  }
  if (!input_.empty() || !may_parse()) {
    input_.append(bytes);
    return;
  }
  moved_ = true;
  pump(now, bytes);
  settle(now);
}

void HttpConnection::pump(MonoMs now, std::string_view bytes) {
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

void HttpConnection::note_parse_state(MonoMs now) {
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

void HttpConnection::restart_read_clocks(MonoMs now) {
  read_since_ = now;
  window_since_ = now;
  window_bytes_ = 0;
}

// The interim answer, once every earlier answer is out of the way.
void HttpConnection::maybe_continue() {
  if (continue_due_ && answers_.empty() && parser_.expects_continue()) {
    answers_.output().append("HTTP/1.1 100 Continue\r\n\r\n");
    continue_due_ = false;
    wake();
  }
}

void HttpConnection::dispatch() {
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

void HttpConnection::refuse(const Error& error) {
  no_requests_ = true;
  polite_close_ = true;
  input_ = {};
  const ResponseToken token = answers_.open({.close = true});
  respond(token, problem_response(error));
}

void HttpConnection::on_eof(MonoMs now) {
  eof_ = true;
  if (lingering_) {
    closed_ = true;
    return;
  }
  answers_.run_gone_tasks();
  settle(now);
}

std::optional<MonoMs> HttpConnection::read_deadline() const {
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

std::optional<MonoMs> HttpConnection::next_deadline() const {
  if (closed_) {
    return std::nullopt;
  }
  if (lingering_) {
    return linger_since_.plus(limits_.linger_ms);
  }
  const std::optional<MonoMs> writing = pace_.deadline();
  const std::optional<MonoMs> other = idle() && pending_bytes() == 0
                                          ? std::optional(idle_since_.plus(limits_.idle_ms))
                                          : read_deadline();
  return writing && other ? std::min(*writing, *other) : (writing ? writing : other);
}

void HttpConnection::on_tick(MonoMs now) {
  const auto paced = pace_.deadline();
  if (paced && now >= *paced && !pace_.holds(now, output_counts())) {
    closed_ = true;  // a peer that does not read what it asked for
    return;
  }
  const auto deadline = next_deadline();
  if (!deadline || now < *deadline) {
    return;
  }
  if (const auto reading = read_deadline(); reading && now >= *reading) {
    give_up_reading(now);
    return;
  }
  closed_ = true;  // idle, or lingered enough
}

void HttpConnection::give_up_reading(MonoMs now) {
  const bool header = parser_.state() == ParseState::kHeader;
  const bool body_over = !header && now >= read_since_.plus(limits_.body_read_ms);
  if (!header && !body_over && window_bytes_ >= slow_window_bytes()) {
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

}  // namespace ackline::http

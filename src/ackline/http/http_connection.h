// The ServerConnection, as its two source files see it: `server_connection.cc` has the answers and
// the life of the connection, `connection_reading.cc` what comes in and the times it may take.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ackline/http/request_parser.h"
#include "ackline/http/response_queue.h"
#include "ackline/http/server_connection.h"
#include "ackline/http/write_pace.h"

namespace ackline::http {

class HttpConnection final : public ServerConnection,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(MonoMs now, RequestHandler& handler, ConnectionOptions options,
                 std::function<void()> wake)
      : handler_(handler),
        options_(std::move(options)),
        limits_(options_.limits),
        wake_(std::move(wake)),
        parser_(limits_),
        idle_since_(now),
        pace_(limits_.slow_window_ms, slow_window_bytes()) {}

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
    return answers_.empty() && parser_.state() == RequestParser::State::kIdle && input_.empty();
  }

 private:
  using ParseState = RequestParser::State;

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
  [[nodiscard]] std::size_t slow_window_bytes() const {
    return limits_.slow_bytes_per_second * static_cast<std::size_t>(limits_.slow_window_ms) / 1000;
  }
  [[nodiscard]] WritePace::Counts output_counts() const;
  void give_up_reading(MonoMs now);
  void settle(MonoMs now);

  RequestHandler& handler_;
  const ConnectionOptions options_;
  const Limits& limits_;
  std::function<void()> wake_;
  RequestParser parser_;
  ResponseQueue answers_;
  std::string input_;                // read but not parsed: too much is unanswered
  std::size_t in_flight_bytes_ = 0;  // taken but not written
  ParseState seen_ = ParseState::kIdle;
  MonoMs read_since_;    // of the header or the body
  MonoMs window_since_;  // of the slow body's window
  std::size_t window_bytes_ = 0;
  MonoMs idle_since_;
  bool moved_ = false;  // bytes came or went since then
  WritePace pace_;
  std::uint64_t written_bytes_ = 0;  // went to the peer's side, as far as the driver knows
  MonoMs linger_since_;
  bool woken_ = false;
  bool paused_ = false;        // reading was off, so its time does not count
  bool no_requests_ = false;   // what comes from the peer is thrown away
  bool polite_close_ = false;  // read on for a while before closing
  bool lingering_ = false;
  bool eof_ = false;
  bool continue_due_ = false;
  bool draining_ = false;
  bool closed_ = false;
};

}  // namespace ackline::http

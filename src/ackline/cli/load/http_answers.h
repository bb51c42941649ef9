// The two shapes of answer that the load client reads: answers with a content-length one after
// another, and one event stream in chunks. Bytes in, callbacks out; no I/O.
//
// Each is given to a Connection as what takes its bytes. One thread. What it cannot read ends the
// run: `problem` says why.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ackline::cli::load {

class HttpAnswers {
 public:
  using OnAnswer = std::function<void(int status, std::string_view body)>;
  explicit HttpAnswers(OnAnswer on_answer) : on_answer_(std::move(on_answer)) {}
  // As Connection::Take.
  std::size_t take(std::string_view bytes);
  // "" while all is well.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  OnAnswer on_answer_;
  std::string problem_;
};

class HttpStream {
 public:
  // One event: its `id:` and `data:` lines.
  using OnEvent = std::function<void(std::string_view id, std::string_view data)>;
  explicit HttpStream(OnEvent on_event) : on_event_(std::move(on_event)) {}
  // As Connection::Take.
  std::size_t take(std::string_view bytes);
  // "" while all is well; the server's last word is a problem too.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // The head of the answer has come: the stream is open.
  [[nodiscard]] bool open() const { return open_; }

 private:
  std::size_t take_head(std::string_view bytes);
  void take_text(std::string_view chunk);
  void event(std::string_view text);

  OnEvent on_event_;
  std::string problem_;
  std::string partial_;  // of an event that goes on in the next chunk
  bool open_ = false;
};

}  // namespace ackline::cli::load

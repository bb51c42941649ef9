// The answers of one connection: given in any order, put out in the order of the requests.
//
// The first open answer writes straight into `output()`; the others wait in their slots. Bounded by
// its owner, who opens no more than `Limits::pipelined`. Owned by a ServerConnection, its thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/executor.h"
#include "ackline/http/message.h"
#include "ackline/http/responder.h"
#include "ackline/http/response_text.h"

namespace ackline::http {

class ResponseQueue {
 public:
  struct Opening {
    bool head_only = false;
    bool http_1_0 = false;
    bool close = false;  // the connection ends after this answer
  };
  ResponseToken open(const Opening& opening);

  // Each is false when the token is unknown or in no state for it; nothing has happened then.
  // `close` asks for the end of the connection after this answer.
  bool respond(ResponseToken token, const Response& response, bool close);
  bool start_stream(ResponseToken token, const Response& head, bool close);
  bool write_stream(ResponseToken token, std::string_view bytes);
  bool end_stream(ResponseToken token);
  bool on_gone(ResponseToken token, Task task);
  // Whether the answer is not complete yet.
  [[nodiscard]] bool is_open(ResponseToken token) const;
  [[nodiscard]] bool is_last(ResponseToken token) const;

  // What may be written now.
  [[nodiscard]] std::string& output() { return output_; }
  [[nodiscard]] const std::string& output() const { return output_; }
  // `output()` and what waits in slots.
  [[nodiscard]] std::size_t bytes() const { return output_.size() + queued_bytes_; }
  [[nodiscard]] std::size_t size() const { return slots_.size() - head_; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // An answer after which the connection ends is in the output; the ones behind it are void.
  [[nodiscard]] bool closing() const { return closing_; }

  // Runs what `on_gone` left, once.
  void run_gone_tasks();
  void clear();

 private:
  enum class State : std::uint8_t { kWaiting, kStreaming, kDone };
  struct Slot {
    State state = State::kWaiting;
    BodyFraming framing = BodyFraming::kLength;
    Opening opening;
    std::string bytes;
    Task gone;
  };
  [[nodiscard]] bool known(ResponseToken token) const {
    return token >= first_token_ && token - first_token_ < size();
  }
  [[nodiscard]] std::size_t index(ResponseToken token) const {
    return head_ + static_cast<std::size_t>(token - first_token_);
  }
  [[nodiscard]] bool is_first(const Slot& slot) const { return &slot == slots_.data() + head_; }
  [[nodiscard]] Slot* find(ResponseToken token, State state);
  [[nodiscard]] std::string& begin(Slot& slot);
  void end(Slot& slot);
  void head(Slot& slot, const Response& response, BodyFraming framing, bool close);
  void complete(Slot& slot);
  void advance();
  void forget_done();

  std::string output_;
  std::vector<Slot> slots_;
  std::size_t head_ = 0;           // whose turn it is; what is before it is over
  ResponseToken first_token_ = 1;  // of the slot at `head_`
  std::size_t queued_bytes_ = 0;
  bool closing_ = false;
};

}  // namespace ackline::http

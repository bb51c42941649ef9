// The answer to one request, to be given now or later.
//
// A handler gets a Responder with each request and owns it. It answers with `respond` once, or
// opens a stream (`start_stream`, `write`…, `end`). Answers of pipelined requests may be given in
// any order; the connection writes them in the order of the requests.
//
// Used on the thread of the connection's loop only (it may travel through other threads unused).
// The connection may be gone at any time: every call is then a no-op. A Responder that is destroyed
// unanswered answers 503 `unavailable`, so that no peer waits for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "ackline/base/executor.h"
#include "ackline/http/message.h"

namespace ackline::http {

// Number of a request on its connection, from 1.
using ResponseToken = std::uint64_t;

// Where answers go: a connection, or a test's recorder. A token that is unknown, answered or gone
// is ignored by all of them.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  virtual void respond(ResponseToken token, Response response) = 0;
  // Writes the head of an answer whose body comes in pieces; `head.body` is its first piece.
  virtual void start_stream(ResponseToken token, Response head) = 0;
  virtual void write_stream(ResponseToken token, std::string_view bytes) = 0;
  virtual void end_stream(ResponseToken token) = 0;
  // False once the answer is complete or the peer is gone.
  [[nodiscard]] virtual bool open(ResponseToken token) const = 0;
  // `task` runs once if the peer leaves before the answer is complete; at once if it has left.
  virtual void on_gone(ResponseToken token, Task task) = 0;
};

class Responder {
 public:
  Responder() = default;
  Responder(std::weak_ptr<ResponseSink> sink, ResponseToken token);
  Responder(Responder&& other) noexcept;
  Responder& operator=(Responder&& other) noexcept;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder();

  void respond(Response response);
  void respond(const Error& error);  // as problem+json
  void start_stream(Response head);
  void write(std::string_view bytes);
  void end();

  [[nodiscard]] bool open() const;
  void on_gone(Task task);

 private:
  void abandon();
  std::weak_ptr<ResponseSink> sink_;
  ResponseToken token_ = 0;  // 0: answered, moved from or never bound
  bool streaming_ = false;
};

// What a server calls with each complete request, on the loop of its connection. It must not block.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  virtual void handle(Request request, Responder responder) = 0;
};

}  // namespace ackline::http

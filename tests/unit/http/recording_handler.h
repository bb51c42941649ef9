// A handler that keeps what it is asked, and a driver that plays the socket's part for one
// ServerConnection under a clock that the test moves.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackline/http/server_connection.h"

namespace ackline::http::testing {

struct Asked {
  Request request;
  Responder responder;
};

class RecordingHandler : public RequestHandler {
 public:
  void handle(Request request, Responder responder) override {
    if (echo) {
      Response response;
      response.body = request.method + " " + request.path + " " + request.body;
      responder.respond(std::move(response));
    }
    asked.push_back({std::move(request), std::move(responder)});
  }
  bool echo = false;
  std::vector<Asked> asked;
};

class Driver {
 public:
  explicit Driver(Limits limits = {}, std::function<std::size_t()> unconfirmed = {})
      : connection(ServerConnection::make(
            now, handler,
            {.limits = limits, .remote = "192.0.2.1:4711", .unconfirmed = std::move(unconfirmed)},
            [this] { ++wakes; })) {}
  ~Driver() { connection->on_lost(); }

  void feed(std::string_view bytes) {
    connection->on_bytes(now, bytes);
    round();
  }
  void feed_each(std::string_view bytes) {
    for (const char c : bytes) {
      feed({&c, 1});
    }
  }
  void eof() {
    connection->on_eof(now);
    round();
  }
  // Writes everything, as a socket whose peer reads.
  void round() {
    do {
      std::string out;
      if (connection->has_output()) {
        connection->take_output(out);
      }
      if (stuck) {
        in_flight += out;
        connection->on_written(now, 0);
        return;
      }
      written += out;
      connection->on_written(now, out.size());
    } while (connection->has_output());
  }
  // The peer takes `count` bytes of what is stuck.
  void unstick(std::size_t count) {
    written += in_flight.substr(0, count);
    in_flight.erase(0, count);
    connection->on_written(now, count);
  }
  void pass(std::int64_t ms) {
    const MonoMs end = now.plus(ms);
    for (auto at = connection->next_deadline(); at && *at <= end;
         at = connection->next_deadline()) {
      now = std::max(now, *at);
      connection->on_tick(now);
      round();
    }
    now = end;
  }
  std::string take() { return std::exchange(written, {}); }
  Asked& last() { return handler.asked.back(); }

  MonoMs now{1'000'000};
  RecordingHandler handler;
  std::string written;
  std::string in_flight;
  bool stuck = false;
  int wakes = 0;
  std::shared_ptr<ServerConnection> connection;
};

inline Response text_response(std::string body, int status = 200) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

}  // namespace ackline::http::testing

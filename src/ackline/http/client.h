// A plain blocking HTTP/1.1 client for the command line, health probes and tests.
//
// One connection at a time, kept alive between requests. One thread. A kept connection that the
// server has closed is noticed before it is used; if it dies after the request was sent, the
// outcome is unknown (kAmbiguous) unless the method is safe, which is sent once more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ackline/base/result.h"
#include "ackline/http/message.h"

namespace ackline::http {

struct ClientOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::int64_t connect_timeout_ms = 5'000;
  std::int64_t timeout_ms =
      60'000;  // of a whole exchange, once connected; of a stream: between two pieces
  std::size_t max_body_bytes = std::size_t{256} << 20U;
};

struct ClientRequest {
  std::string method = "GET";
  std::string target = "/";  // already percent-encoded
  Headers headers = {};      // host and content-length are added
  std::string body = {};
};

class Client {
 public:
  explicit Client(ClientOptions options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Any status is a Response. Errors: kUnavailable (cannot connect), kTimeout, kAmbiguous (lost
  // after it was sent), kBadRequest (the answer is no HTTP), kTooLarge.
  [[nodiscard]] Result<Response> send(const ClientRequest& request);
  [[nodiscard]] Result<Response> get(std::string_view target);
  [[nodiscard]] Result<Response> post_json(std::string_view target, std::string_view body);

  // As `send`, but hands the body on as it comes, head first; the Response has an empty body.
  // Ends when the body does or when `on_body` returns false (the connection is then closed).
  // A status that is not 200 is not streamed: the whole Response is returned.
  [[nodiscard]] Result<Response> stream(const ClientRequest& request,
                                        const std::function<void(const Response& head)>& on_head,
                                        const std::function<bool(std::string_view bytes)>& on_body);

  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "http://127.0.0.1:10105" or "127.0.0.1:10105" or "host" to options. Errors: kBadValue.
[[nodiscard]] Result<ClientOptions> client_options(std::string_view url,
                                                   std::uint16_t default_port);

}  // namespace ackline::http

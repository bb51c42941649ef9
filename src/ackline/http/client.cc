#include "ackline/http/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "ackline/base/clock.h"
#include "ackline/http/response_parser.h"
#include "ackline/io/net/address.h"
#include "ackline/io/net/blocking_socket.h"

namespace ackline::http {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

bool is_safe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

std::string request_text(const ClientRequest& request, const std::string& host) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\n", request.method, request.target);
  if (!request.headers.find("host")) {
    out += fmt::format("host: {}\r\n", host);
  }
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    out += fmt::format("{}: {}\r\n", request.headers.name(i), request.headers.value(i));
  }
  if (!request.body.empty() || !is_safe(request.method)) {
    out += fmt::format("content-length: {}\r\n", request.body.size());
  }
  out += "\r\n";
  out += request.body;
  return out;
}

}  // namespace

struct Client::Impl {
  using OnHead = std::function<void(const Response&)>;
  using OnBody = std::function<bool(std::string_view)>;

  Result<Response> exchange(const ClientRequest& request, const OnHead* on_head,
                            const OnBody* on_body);
  Result<Response> once(const ClientRequest& request, const OnHead* on_head, const OnBody* on_body,
                        bool& unanswered);
  Result<Response> read_response(const ClientRequest& request, const OnHead* on_head,
                                 const OnBody* on_body, MonoMs deadline, bool& unanswered);
  Result<void> connect();

  ClientOptions options;
  std::optional<io::net::BlockingSocket> socket;
  std::array<char, kReadBytes> buffer;
};

Client::Client(ClientOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<void> Client::Impl::connect() {
  if (socket && !socket->stale()) {
    return {};
  }
  auto fresh =
      io::net::BlockingSocket::connect(options.host, options.port, options.connect_timeout_ms);
  if (!fresh) {
    return fail(fresh);
  }
  socket.emplace(std::move(*fresh));
  return {};
}

Result<Response> Client::Impl::exchange(const ClientRequest& request, const OnHead* on_head,
                                        const OnBody* on_body) {
  const bool kept = socket.has_value();
  bool unanswered = false;
  auto response = once(request, on_head, on_body, unanswered);
  if (!response && unanswered && kept && is_safe(request.method)) {
    // The server ended a connection that we had kept, just as we used it.
    response = once(request, on_head, on_body, unanswered);
  }
  return response;
}

Result<Response> Client::Impl::once(const ClientRequest& request, const OnHead* on_head,
                                    const OnBody* on_body, bool& unanswered) {
  if (auto connected = connect(); !connected) {
    return fail(connected);
  }
  const std::string where = io::net::host_and_port(options.host, options.port);
  const MonoMs deadline = SystemClock().mono().plus(options.timeout_ms);
  const auto sent = socket->write_all(request_text(request, where), options.timeout_ms);
  // A server may refuse what it has not read to its end, and hang up: its answer is read anyway.
  auto response = read_response(request, on_head, on_body, deadline, unanswered);
  if (!response) {
    socket.reset();
    if (!sent) {
      return fail(sent);
    }
    if (unanswered) {
      return fail(ErrorCode::kAmbiguous,
                  fmt::format("{} hung up after the request was sent, without an answer", where),
                  "It may have been carried out or not; look before you repeat it.");
    }
  }
  return response;
}

Result<Response> Client::Impl::read_response(const ClientRequest& request, const OnHead* on_head,
                                             const OnBody* on_body, MonoMs deadline,
                                             bool& unanswered) {
  std::string body;
  bool streaming = false;
  bool go_on = true;
  ResponseParser parser({.no_body = request.method == "HEAD"}, [&](std::string_view bytes) {
    if (streaming) {
      go_on = go_on && (*on_body)(bytes);
    } else if (body.size() <= options.max_body_bytes) {
      body.append(bytes);
    }
  });
  bool head_told = false;
  unanswered = false;
  const SystemClock clock;
  std::string_view rest;
  while (!parser.done() && go_on) {
    if (rest.empty()) {
      const std::int64_t left_ms =
          streaming ? options.timeout_ms : deadline.value() - clock.mono().value();
      const auto got = socket->read_some(buffer, std::max<std::int64_t>(left_ms, 0));
      if (!got) {
        unanswered = !parser.begun() && got.error().code != ErrorCode::kTimeout;
        return fail(got);
      }
      if (*got == 0) {
        unanswered = !parser.begun();
        if (auto ended = parser.feed_eof(); !ended) {
          return fail(ended);
        }
        break;
      }
      rest = std::string_view(buffer.data(), *got);
    }
    const auto taken = parser.feed(rest);
    if (!taken) {
      return fail(taken);
    }
    rest.remove_prefix(*taken);
    if (!head_told && parser.head_done()) {
      head_told = true;
      streaming = on_body != nullptr && parser.head().status == 200;
      if (streaming) {
        (*on_head)(parser.head());
        go_on = body.empty() || (*on_body)(std::exchange(body, {}));
      }
    }
    if (body.size() > options.max_body_bytes) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("the answer is over {} bytes", options.max_body_bytes));
    }
  }
  Response response = std::move(parser.head());
  response.body = std::move(body);
  if (!go_on || !parser.done() || !parser.keep_alive() || !rest.empty()) {
    socket.reset();
  }
  return response;
}

Result<Response> Client::send(const ClientRequest& request) {
  return impl_->exchange(request, nullptr, nullptr);
}

Result<Response> Client::get(std::string_view target) {
  ClientRequest request;
  request.target = target;
  return send(request);
}

Result<Response> Client::post_json(std::string_view target, std::string_view body) {
  ClientRequest request;
  request.method = "POST";
  request.target = target;
  request.headers.add("content-type", "application/json");
  request.body = body;
  return send(request);
}

Result<Response> Client::stream(const ClientRequest& request,
                                const std::function<void(const Response&)>& on_head,
                                const std::function<bool(std::string_view)>& on_body) {
  return impl_->exchange(request, &on_head, &on_body);
}

void Client::close() {
  impl_->socket.reset();
}

Result<ClientOptions> client_options(std::string_view url, std::uint16_t default_port) {
  ClientOptions options;
  options.port = default_port;
  std::string_view rest = url;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  }
  rest = rest.substr(0, rest.find('/'));
  const std::size_t bracket = rest.starts_with('[') ? rest.find(']') : 0;
  const std::size_t colon = bracket == std::string_view::npos ? bracket : rest.find(':', bracket);
  options.host = rest.substr(0, colon);
  bool good =
      !options.host.empty() && bracket != std::string_view::npos &&
      url.find("://") == (rest.data() == url.data() ? std::string_view::npos : std::size_t{4});
  if (colon != std::string_view::npos) {
    const std::string_view digits = rest.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), options.port);
    good = good && error == std::errc() && end == digits.data() + digits.size();
  }
  if (!good) {
    return fail(ErrorCode::kBadValue, fmt::format("\"{}\" is not the address of a server", url),
                "Write host:port, or http://host:port.");
  }
  return options;
}

}  // namespace ackline::http

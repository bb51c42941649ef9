#include "ackline/cli/api_client.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "ackline/http/client.h"
#include "ackline/io/fs/posix_file_system.h"
#include "ackline/state/data_directory.h"

namespace ackline::cli {
namespace {

constexpr std::uint16_t kTrafficPort = 10105;
constexpr std::uint16_t kAdminPort = 10106;

ErrorCode code_of(std::string_view word, int status) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kFull); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (error_word(code) == word) return code;
  }
  // Not from Ackline, or from a newer one.
  return status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kBadRequest;
}

Error problem_of(const http::Response& response) {
  const auto json = Json::parse(response.body);
  const Json problem = json ? *json : Json();
  Error error;
  error.code = code_of(problem["error"].text(), response.status);
  error.detail = problem["detail"].text(problem["title"].text());
  if (error.detail.empty()) error.detail = fmt::format("the server answered {}", response.status);
  error.remedy = problem["remedy"].text();
  error.field = problem["field"].text();
  for (const Json& conflict : problem["conflicts"].items()) {
    error.detail += fmt::format(" {}: it has {}, asked for is {}.", conflict["key"].text(),
                                conflict["have"].dump(), conflict["want"].dump());
  }
  return error;
}

}  // namespace

Target& Target::segment(std::string_view name) {
  text_ += "/" + http::percent_encode(name);
  return *this;
}

Target& Target::query(std::string_view name, std::string_view value) {
  text_ += has_query_ ? '&' : '?';
  has_query_ = true;
  text_ += http::percent_encode(name) + "=" + http::percent_encode(value);
  return *this;
}

Target& Target::query(std::string_view name, std::int64_t value) {
  return query(name, std::to_string(value));
}

Target& Target::query_if(std::string_view name, std::string_view value) {
  return value.empty() ? *this : query(name, value);
}

struct ApiClient::Impl {
  explicit Impl(ApiOptions its) : options(std::move(its)) {}

  Result<http::Client*> client(Port port) {
    std::optional<http::Client>& one = port == Port::kTraffic ? traffic : admin;
    if (!one) {
      auto parsed = http::client_options(port == Port::kTraffic ? options.server : options.admin,
                                         port == Port::kTraffic ? kTrafficPort : kAdminPort);
      if (!parsed) return fail(parsed);
      parsed->timeout_ms = options.timeout_ms;
      one.emplace(std::move(*parsed));
    }
    return &*one;
  }

  // Only a change needs it, and a server may be on another machine: no file is no error here.
  void find_token() {
    if (!options.token.empty() || looked_for_token) return;
    looked_for_token = true;
    io::PosixFileSystem fs;
    const auto text = io::read_file(fs, io::join(options.data_path, state::kAdminTokenName));
    if (!text) return;
    options.token = text->substr(0, text->find_first_of("\r\n"));
  }

  ApiOptions options;
  bool looked_for_token = false;
  std::optional<http::Client> traffic;
  std::optional<http::Client> admin;
};

ApiClient::ApiClient(ApiOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
ApiClient::ApiClient(ApiClient&&) noexcept = default;
ApiClient& ApiClient::operator=(ApiClient&&) noexcept = default;
ApiClient::~ApiClient() = default;

const ApiOptions& ApiClient::options() const {
  return impl_->options;
}

Result<Answer> ApiClient::send(Port port, std::string_view method, const Target& target,
                               std::string_view body, std::string_view content_type) {
  auto client = impl_->client(port);
  if (!client) return fail(client);
  http::ClientRequest request;
  request.method = method;
  request.target = target.str();
  request.body = body;
  if (!content_type.empty()) request.headers.add("content-type", content_type);
  if (port == Port::kAdmin && method != "GET") {
    impl_->find_token();
    if (!impl_->options.token.empty()) {
      request.headers.add("authorization", "Bearer " + impl_->options.token);
    }
  }
  auto response = (*client)->send(request);
  if (!response) {
    Error error = response.error();
    if (error.code == ErrorCode::kUnavailable && error.remedy.empty()) {
      error.remedy = "Start one with `ackline serve`, or name another with --server and --admin.";
    }
    return std::unexpected(std::move(error));
  }
  if (response->status >= 300) {
    Error error = problem_of(*response);
    if (error.code == ErrorCode::kUnauthorized && impl_->options.token.empty()) {
      error.remedy = fmt::format(
          "Name the server's data directory with --data (looked in {}), or pass --token.",
          impl_->options.data_path);
    }
    return std::unexpected(std::move(error));
  }
  return Answer{response->status, std::move(response->body)};
}

Result<Answer> ApiClient::get(Port port, const Target& target) {
  return send(port, "GET", target, {}, {});
}

Result<Answer> ApiClient::post(Port port, const Target& target, std::string_view body,
                               std::string_view content_type) {
  return send(port, "POST", target, body, content_type);
}

}  // namespace ackline::cli

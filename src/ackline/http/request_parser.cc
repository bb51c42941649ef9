#include "ackline/http/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <optional>

#include "ackline/base/ascii.h"
#include "ackline/base/check.h"
#include "ackline/http/header_scan.h"
#include "ackline/http/request_rules.h"

namespace ackline::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;
using BeastText = beast::string_view;

constexpr std::size_t kBodyReserveMax = 64 * 1024;
constexpr std::size_t kPartialKeepMax = 1024;
constexpr std::size_t kLastChunkBytes = 5;

std::string_view text(BeastText view) {
  return {view.data(), view.size()};
}

// Beast's callbacks, which fill a Request.
class Sink final : public beast::http::basic_parser<true> {
 public:
  explicit Sink(const Limits& limits) : rules_(limits) {
    eager(true);
    body_limit(boost::none);  // RequestRules looks, to say the limit
    header_limit(static_cast<std::uint32_t>(limits.headers_bytes + 1));
  }
  Request request;
  std::optional<Error> refusal;

  [[nodiscard]] bool expects_continue() const { return rules_.expects_continue(); }

 private:
  bool refuse(error_code& ec, std::optional<Error> error) {
    if (!error) {
      return false;
    }
    refusal = std::move(error);
    ec = beast::http::error::bad_value;
    return true;
  }

  void on_request_impl(beast::http::verb, BeastText method, BeastText target, int version,
                       error_code& ec) override {
    request.method = text(method);
    request.target = text(target);
    request.http_1_0 = version == 10;
    auto parsed = http::parse_target(request.target);
    if (!parsed) {
      refusal = std::move(parsed.error());
      ec = beast::http::error::bad_target;
      return;
    }
    request.path = std::move(parsed->path);
    request.query = std::move(parsed->query);
    absolute_host_ = std::move(parsed->host);
    request.headers.reserve(8, 256);
  }

  void on_response_impl(int, BeastText, int, error_code&) override {}

  void on_field_impl(beast::http::field field, BeastText name, BeastText value,
                     error_code& ec) override {
    if (in_trailer_) {  // nothing that comes after the body may speak for the request
      return;
    }
    if (refuse(ec, rules_.field(kind(field), text(value), request))) {
      return;
    }
    request.headers.add(text(name), text(value));
  }

  RequestRules::Field kind(beast::http::field field) {
    switch (field) {
      case beast::http::field::content_length:
        return RequestRules::Field::kContentLength;
      case beast::http::field::transfer_encoding:
        return RequestRules::Field::kTransferEncoding;
      case beast::http::field::host:
        return RequestRules::Field::kHost;
      case beast::http::field::expect:
        return RequestRules::Field::kExpect;
      default:
        return RequestRules::Field::kOther;
    }
  }

  void on_header_impl(error_code& ec) override {
    const auto length = content_length();
    if (refuse(ec, rules_.header_end(request, length ? std::optional(*length) : std::nullopt))) {
      return;
    }
    use_absolute_host();
    request.keep_alive = keep_alive();
    if (length) {
      request.body.reserve(std::min<std::size_t>(*length, kBodyReserveMax));
    }
  }

  // RFC 9112, 3.2.2: the absolute form's host counts instead of the field.
  void use_absolute_host() {
    if (absolute_host_.empty()) {
      return;
    }
    Headers with_host;
    with_host.add("Host", absolute_host_);
    for (std::size_t i = 0; i < request.headers.size(); ++i) {
      if (!same_ignoring_case(request.headers.name(i), "host")) {
        with_host.add(request.headers.name(i), request.headers.value(i));
      }
    }
    request.headers = std::move(with_host);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}

  std::size_t on_body_impl(BeastText bytes, error_code&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_chunk_header_impl(std::uint64_t size, BeastText, error_code& ec) override {
    (void)refuse(ec, rules_.chunk(size, request));
    in_trailer_ = size == 0;
  }

  std::size_t on_chunk_body_impl(std::uint64_t, BeastText bytes, error_code&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_finish_impl(error_code&) override {}

  RequestRules rules_;
  std::string absolute_host_;
  bool in_trailer_ = false;
};

std::string what_is_wrong(const error_code& ec) {
  using beast::http::error;
  if (ec == error::bad_method || ec == error::bad_target || ec == error::bad_version) {
    return "the request line is malformed";
  }
  if (ec == error::bad_field || ec == error::bad_value || ec == error::bad_line_ending) {
    return "a header field is malformed";
  }
  if (ec == error::bad_content_length || ec == error::multiple_content_length ||
      ec == error::bad_transfer_encoding) {
    return "the request's length is malformed or given twice";
  }
  if (ec == error::bad_chunk || ec == error::bad_chunk_extension) {
    return "a chunk of the body is malformed";
  }
  return "the request is not HTTP/1.1";
}

}  // namespace

struct RequestParser::Impl {
  explicit Impl(const Limits& l) : limits(l) {}
  std::size_t feed_header(std::string_view bytes);
  std::size_t feed_body(std::string_view bytes);
  bool put_header(std::string_view header);
  bool keep(std::string_view rest);
  void fail_with(ErrorCode code, std::string detail, std::string remedy);
  void fail_from(const error_code& ec);

  const Limits limits;
  State state = State::kIdle;
  HeaderScan scan;
  std::string partial;  // header bytes so far, or a chunk line that is not complete
  std::optional<Sink> sink;
  Error failure;
  bool line_checked = false;
};

RequestParser::RequestParser(const Limits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

void RequestParser::Impl::fail_with(ErrorCode code, std::string detail, std::string remedy) {
  failure = Error{code, std::move(detail), std::move(remedy), {}};
  state = State::kFailed;
  sink.reset();
  partial = {};
}

void RequestParser::Impl::fail_from(const error_code& ec) {
  if (sink->refusal) {
    Error refusal = std::move(*sink->refusal);
    return fail_with(refusal.code, std::move(refusal.detail), std::move(refusal.remedy));
  }
  fail_with(ErrorCode::kBadRequest, what_is_wrong(ec), "Send well-formed HTTP/1.1.");
}

bool RequestParser::Impl::put_header(std::string_view header) {
  sink.emplace(limits);
  error_code ec;
  const std::size_t used = sink->put(boost::asio::const_buffer(header.data(), header.size()), ec);
  if (ec && ec != beast::http::error::need_more) {
    fail_from(ec);
    return false;
  }
  if (used != header.size() || !sink->is_header_done()) {
    fail_with(ErrorCode::kBadRequest, "a header field is malformed", "Send well-formed HTTP/1.1.");
    return false;
  }
  state = sink->is_done() ? State::kDone : State::kBody;
  return true;
}

std::size_t RequestParser::Impl::feed_header(std::string_view bytes) {
  const std::size_t kept = partial.size();
  std::string_view header = bytes;
  if (kept > 0) {
    // No more than may be a header: what lies behind its end is not ours to copy.
    partial.append(
        bytes.substr(0, limits.headers_bytes + 1 - std::min(kept, limits.headers_bytes)));
    header = partial;
  }
  const HeaderScan::Found found = scan.look(header);
  if (!line_checked && scan.first_line() > 0 && scan.first_line() <= limits.headers_bytes) {
    line_checked = true;
    if (!plausible_request_line(header.substr(0, scan.first_line()))) {
      fail_with(ErrorCode::kBadRequest, "the request line is malformed",
                "Send METHOD /path HTTP/1.1.");
      return 0;
    }
  }
  if (scan.size() > limits.headers_bytes) {
    fail_with(ErrorCode::kHeadersTooLarge,
              fmt::format("the request's header is over {} bytes, the limit", limits.headers_bytes),
              "Send fewer or shorter header fields.");
    return 0;
  }
  if (found == HeaderScan::Found::kBareLf) {
    fail_with(ErrorCode::kBadRequest, "a line of the header ends without CR", "End lines by CRLF.");
    return 0;
  }
  if (found == HeaderScan::Found::kFolded) {
    fail_with(ErrorCode::kBadRequest, "a header field is folded over two lines",
              "Send each field on one line.");
    return 0;
  }
  if (found == HeaderScan::Found::kMore) {
    if (kept == 0) {
      partial.assign(bytes);
    }
    return bytes.size();
  }
  const std::size_t used = scan.size() - kept;
  (void)put_header(header.substr(0, scan.size()));
  if (partial.capacity() > kPartialKeepMax) {
    partial = {};
  } else {
    partial.clear();
  }
  return used;
}

// Keeps the beginning of a chunk's line or of the trailer; false if it is longer than any header.
bool RequestParser::Impl::keep(std::string_view rest) {
  if (rest.size() > limits.headers_bytes) {
    fail_with(ErrorCode::kHeadersTooLarge,
              fmt::format("a chunk's line or the trailer is over {} bytes", limits.headers_bytes),
              "Send no chunk extensions and no trailer.");
    return false;
  }
  if (rest.size() != partial.size()) {
    std::string kept(rest);  // `rest` may be a part of `partial`
    partial.swap(kept);
  }
  return true;
}

std::size_t RequestParser::Impl::feed_body(std::string_view bytes) {
  const std::size_t kept = partial.size();
  std::string_view rest = bytes;
  if (kept > 0) {
    partial.append(bytes);
    rest = partial;
    // Beast asserts that it is shown the shortest end of a body, "0 CRLF CRLF", whole once it has
    // seen its beginning. Whatever else may stand here is followed by as many bytes.
    if (rest.size() < kLastChunkBytes) {
      return bytes.size();
    }
  }
  const std::size_t total = rest.size();
  while (!rest.empty()) {
    error_code ec;
    const std::size_t used = sink->put(boost::asio::const_buffer(rest.data(), rest.size()), ec);
    rest.remove_prefix(used);
    if (ec == beast::http::error::need_more) {
      return keep(rest) ? bytes.size() : 0;
    }
    if (ec) {
      fail_from(ec);
      return 0;
    }
    if (sink->is_done()) {
      state = State::kDone;
      const std::size_t taken = total - rest.size() - kept;
      partial = {};
      return taken;
    }
  }
  partial.clear();
  return bytes.size();
}

std::size_t RequestParser::feed(std::string_view bytes) {
  Impl& impl = *impl_;
  ACKLINE_CHECK(impl.state != State::kDone && impl.state != State::kFailed);
  std::size_t taken = 0;
  if (impl.state == State::kIdle) {
    // RFC 9112, 2.2: empty lines before a request are skipped, some clients send one after a body.
    while (taken < bytes.size() && (bytes[taken] == '\r' || bytes[taken] == '\n')) {
      ++taken;
    }
    if (taken == bytes.size()) {
      return taken;
    }
    if (!is_token_char(bytes[taken])) {
      impl.fail_with(ErrorCode::kBadRequest, "what came is not HTTP",
                     "Speak HTTP/1.1 here, without TLS.");
      return taken;
    }
    impl.state = State::kHeader;
    impl.scan.reset();
    impl.line_checked = false;
  }
  if (impl.state == State::kHeader) {
    taken += impl.feed_header(bytes.substr(taken));
  }
  if (impl.state == State::kBody && taken < bytes.size()) {
    taken += impl.feed_body(bytes.substr(taken));
  }
  return taken;
}

RequestParser::State RequestParser::state() const {
  return impl_->state;
}

bool RequestParser::expects_continue() const {
  return impl_->state == State::kBody && impl_->sink->expects_continue() &&
         impl_->sink->request.body.empty();
}

Request RequestParser::take_request() {
  ACKLINE_CHECK(impl_->state == State::kDone);
  Request request = std::move(impl_->sink->request);
  impl_->sink.reset();
  impl_->state = State::kIdle;
  return request;
}

const Error& RequestParser::failure() const {
  ACKLINE_CHECK(impl_->state == State::kFailed);
  return impl_->failure;
}

}  // namespace ackline::http

#include "ackline/http/response_parser.h"

#include <fmt/format.h>

#include <boost/beast/http/basic_parser.hpp>
#include <optional>
#include <utility>

namespace ackline::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;
using BeastText = beast::string_view;

// Beast asserts that the shortest end of a chunked body, "0 CRLF CRLF", is shown to it whole once
// it has seen its beginning; whatever else may be kept is followed by as many bytes.
constexpr std::size_t kLastChunkBytes = 5;

std::string_view text(BeastText view) {
  return {view.data(), view.size()};
}

class Sink final : public beast::http::basic_parser<false> {
 public:
  Sink(const ResponseParser::Options& options, std::function<void(std::string_view)>& on_body)
      : on_body_(on_body) {
    eager(true);
    skip(options.no_body);
    body_limit(boost::none);
    header_limit(static_cast<std::uint32_t>(options.headers_bytes_max));
  }
  Response response;

 private:
  void on_request_impl(beast::http::verb, BeastText, BeastText, int, error_code&) override {}
  void on_response_impl(int status, BeastText, int, error_code&) override {
    response.status = status;
  }
  void on_field_impl(beast::http::field, BeastText name, BeastText value, error_code&) override {
    if (!in_trailer_) {
      response.headers.add(text(name), text(value));
    }
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(BeastText bytes, error_code&) override {
    on_body_(text(bytes));
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t size, BeastText, error_code&) override {
    in_trailer_ = size == 0;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, BeastText bytes, error_code&) override {
    on_body_(text(bytes));
    return bytes.size();
  }
  void on_finish_impl(error_code&) override {}

  std::function<void(std::string_view)>& on_body_;
  bool in_trailer_ = false;
};

std::unexpected<Error> no_http(std::string_view what) {
  return fail(ErrorCode::kBadRequest, fmt::format("the answer is not HTTP: {}", what),
              "Is this the address of an Ackline server?");
}

}  // namespace

struct ResponseParser::Impl {
  Options options;
  std::function<void(std::string_view)> on_body;
  std::optional<Sink> sink;
  std::string partial;
  bool begun = false;
};

ResponseParser::ResponseParser(Options options, std::function<void(std::string_view)> on_body)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  impl_->on_body = std::move(on_body);
  impl_->sink.emplace(impl_->options, impl_->on_body);
}

ResponseParser::~ResponseParser() = default;

Result<std::size_t> ResponseParser::feed(std::string_view bytes) {
  Impl& impl = *impl_;
  impl.begun = impl.begun || !bytes.empty();
  const std::size_t kept = impl.partial.size();
  std::string_view rest = bytes;
  if (kept > 0) {
    impl.partial.append(bytes);
    rest = impl.partial;
    if (rest.size() < kLastChunkBytes) {
      return bytes.size();
    }
  }
  const std::size_t total = rest.size();
  while (!rest.empty() && !impl.sink->is_done()) {
    error_code ec;
    const std::size_t used =
        impl.sink->put(boost::asio::const_buffer(rest.data(), rest.size()), ec);
    rest.remove_prefix(used);
    if (ec == beast::http::error::need_more) {
      if (rest.size() > impl.options.headers_bytes_max) {
        return no_http("its header is too large");
      }
      std::string keep(rest);  // `rest` may be a part of `partial`
      impl.partial.swap(keep);
      return bytes.size();
    }
    if (ec) {
      return no_http(ec.message());
    }
    if (impl.sink->is_done() && impl.sink->response.status / 100 == 1) {
      impl.sink.emplace(impl.options, impl.on_body);
    }
  }
  const std::size_t taken = total - rest.size() - kept;
  impl.partial.clear();
  return taken;
}

Result<void> ResponseParser::feed_eof() {
  if (!impl_->sink->got_some()) {
    return no_http("the connection ended before it came");
  }
  error_code ec;
  impl_->sink->put_eof(ec);
  if (ec) {
    return no_http("the connection ended in the middle of it");
  }
  return {};
}

bool ResponseParser::head_done() const {
  return impl_->sink->is_header_done() && impl_->sink->response.status / 100 != 1;
}
bool ResponseParser::done() const {
  return impl_->sink->is_done() && impl_->sink->response.status / 100 != 1;
}
bool ResponseParser::begun() const {
  return impl_->begun;
}
Response& ResponseParser::head() {
  return impl_->sink->response;
}
bool ResponseParser::keep_alive() const {
  return impl_->sink->keep_alive();
}

}  // namespace ackline::http

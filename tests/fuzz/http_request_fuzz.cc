// The HTTP request parser. Law: how the bytes are cut into pieces never changes the requests or the
// error; nothing that is taken exceeds the limits. Some bytes are added at the end: in pieces, an
// error may be seen a few bytes later.
#include <cstdint>
#include <string>
#include <vector>

#include "ackline/http/request_parser.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using ackline::fuzz::Input;
using ackline::fuzz::law;
using ackline::http::Limits;
using ackline::http::Request;
using ackline::http::RequestParser;

struct Outcome {
  std::vector<std::string> requests;
  std::string error;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Limits limits() {
  Limits small;
  small.headers_bytes = 1024;
  small.header_fields = 16;
  small.body_bytes = 2048;
  return small;
}

std::string text_of(const Request& request) {
  std::string text = request.method + '\0' + request.target + '\0' + request.path + '\0';
  for (const auto& [name, value] : request.query) text += name + '\1' + value + '\1';
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    text.append(request.headers.name(i)).append("\2").append(request.headers.value(i)).append("\2");
  }
  text += request.http_1_0 ? '0' : '1';
  text += request.keep_alive ? 'k' : 'c';
  return text + request.body;
}

void check_request(const Request& request) {
  law(request.body.size() <= limits().body_bytes, "a body is within its limit");
  law(request.headers.size() <= limits().header_fields, "the fields are within their limit");
  law(request.path == "*" || request.path.starts_with('/'), "a path is * or begins with /");
  law(request.headers.count("content-length") <= 1, "one length at most is taken");
  law(request.headers.count("host") <= 1, "one Host at most is taken");
  ackline::fuzz::planted(request.headers.size() == 3 && request.body.size() == 4);
}

// Pieces of sizes that `cuts` says; all at once when there are none.
Outcome parse(std::string_view bytes, std::string_view cuts) {
  Outcome outcome;
  RequestParser parser(limits());
  std::size_t cut = 0;
  while (!bytes.empty()) {
    std::size_t piece = bytes.size();
    if (!cuts.empty()) {
      piece = std::min<std::size_t>(piece, static_cast<std::uint8_t>(cuts[cut % cuts.size()]) + 1U);
    }
    ++cut;
    std::size_t taken = parser.feed(bytes.substr(0, piece));
    law(taken <= piece, "no more is taken than was given");
    bytes.remove_prefix(taken);
    if (parser.state() == RequestParser::State::kDone) {
      const Request request = parser.take_request();
      check_request(request);
      outcome.requests.push_back(text_of(request));
    } else if (parser.state() == RequestParser::State::kFailed) {
      outcome.error = parser.failure().word();
      return outcome;
    } else {
      law(taken == piece, "all is taken unless a request is done or has failed");
    }
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::string_view cuts = input.text(4);
  const std::string bytes = std::string(input.rest()) + std::string(8, '\0');
  const Outcome whole = parse(bytes, {});
  // In pieces the parser waits for up to five bytes before it judges the next chunk's line, so a
  // failure may come that much later.
  const auto same = [&](std::string_view pieces) {
    const Outcome cut = parse(bytes, pieces);
    if (cut.error.empty() && !whole.error.empty()) {
      return parse(bytes + std::string(5, '\0'), pieces) == whole;
    }
    return cut == whole;
  };
  law(same(std::string_view("\0", 1)), "byte by byte is the same");
  if (!cuts.empty()) law(same(cuts), "any pieces are the same");
  return 0;
}

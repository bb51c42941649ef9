#include "ackline/http/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "ackline/base/random.h"

namespace ackline::http {
namespace {

using State = RequestParser::State;
using ::testing::HasSubstr;

constexpr std::string_view kGet = "GET /a?x=1 HTTP/1.1\r\nHost: h\r\n\r\n";

struct Outcome {
  std::vector<Request> requests;
  std::optional<Error> failure;
  State state = State::kIdle;
};

// The cuts: sizes of the pieces, the last for all the rest.
Outcome parse(std::string_view bytes, const std::vector<std::size_t>& cuts = {},
              const Limits& limits = {}) {
  RequestParser parser(limits);
  Outcome outcome;
  std::size_t cut = 0;
  while (!bytes.empty()) {
    const std::size_t size = cut < cuts.size() ? cuts[cut++] : bytes.size();
    std::string_view piece = bytes.substr(0, size);
    bytes.remove_prefix(piece.size());
    while (!piece.empty()) {
      const std::size_t taken = parser.feed(piece);
      if (parser.state() == State::kFailed) {
        outcome.failure = parser.failure();
        outcome.state = parser.state();
        return outcome;
      }
      piece.remove_prefix(taken);
      if (parser.state() == State::kDone) {
        outcome.requests.push_back(parser.take_request());
      } else {
        EXPECT_TRUE(piece.empty());
      }
    }
  }
  outcome.state = parser.state();
  return outcome;
}

std::string post(std::string_view fields, std::string_view body = {}) {
  return "POST /p HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

void expect_refused(const std::string& bytes, ErrorCode code = ErrorCode::kBadRequest) {
  for (const auto& cuts : {std::vector<std::size_t>{}, std::vector<std::size_t>(bytes.size(), 1)}) {
    const Outcome outcome = parse(bytes, cuts);
    ASSERT_TRUE(outcome.failure) << bytes.substr(0, 200);
    EXPECT_EQ(outcome.failure->word(), error_word(code)) << bytes.substr(0, 200);
    EXPECT_FALSE(outcome.failure->detail.empty());
    EXPECT_TRUE(outcome.requests.empty());
  }
}

TEST(RequestParser, ReadsTargetQueryAndFields) {
  const Outcome outcome = parse(
      "GET /admin/groups/a%2Fb?topic=orders&name=caf%C3%A9+au&flag&x=1&x=2 HTTP/1.1\r\n"
      "hOsT: h:80\r\nX-Empty:\r\nX-Spaces: \t a b \t\r\n\r\n");
  ASSERT_EQ(outcome.requests.size(), 1U);
  const Request& request = outcome.requests[0];
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/admin/groups/a/b");
  EXPECT_EQ(request.parameter("topic"), "orders");
  EXPECT_EQ(request.parameter("name"), "caf\xC3\xA9 au");
  EXPECT_EQ(request.parameter("flag"), "");
  EXPECT_EQ(request.parameter("x"), "1");
  EXPECT_EQ(request.parameter("y"), std::nullopt);
  EXPECT_EQ(request.query.size(), 5U);
  EXPECT_EQ(request.header("HOST"), "h:80");
  EXPECT_EQ(request.header("x-empty"), "");
  EXPECT_EQ(request.header("x-spaces"), "a b");
  EXPECT_TRUE(request.keep_alive);
}

TEST(RequestParser, ReadsABodyByLengthAndByChunks) {
  EXPECT_EQ(parse(post("Content-Length: 5\r\n", "hello")).requests.at(0).body, "hello");
  const std::string chunked = post("Transfer-Encoding: chunked\r\n",
                                   "3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX-T: v\r\nHost: evil\r\n\r\n");
  const Outcome outcome = parse(chunked);
  EXPECT_EQ(outcome.requests.at(0).body, "hello");
  EXPECT_EQ(outcome.requests.at(0).header("host"), "h");
  EXPECT_EQ(outcome.requests.at(0).header("x-t"), std::nullopt);
}

TEST(RequestParser, HowBytesAreCutChangesNothing) {
  const std::string bytes =
      std::string(kGet) + post("Content-Length: 5\r\n", "hello") + "\r\n" +
      post("Transfer-Encoding: chunked\r\n", "a\r\n0123456789\r\n1;x=\"y\"\r\nz\r\n0\r\n\r\n") +
      post("Content-Length: 0\r\n") + std::string(kGet);
  const Outcome whole = parse(bytes);
  ASSERT_EQ(whole.requests.size(), 5U);
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::size_t> cuts(bytes.size(), 1);
    if (round > 0) {
      for (std::size_t& cut : cuts) {
        cut = 1 + random.below(1 + static_cast<std::uint64_t>(round));
      }
    }
    const Outcome cut = parse(bytes, cuts);
    ASSERT_FALSE(cut.failure) << cut.failure->detail;
    ASSERT_EQ(cut.requests.size(), whole.requests.size());
    for (std::size_t i = 0; i < whole.requests.size(); ++i) {
      EXPECT_EQ(cut.requests[i].target, whole.requests[i].target);
      EXPECT_EQ(cut.requests[i].body, whole.requests[i].body);
      EXPECT_EQ(cut.requests[i].headers.size(), whole.requests[i].headers.size());
    }
    EXPECT_EQ(cut.state, State::kIdle);
  }
}

// The shape of a fuzz target: any bytes, cut anywhere, give the same outcome as in one piece.
TEST(RequestParser, BrokenBytesGiveTheSameRefusalHoweverTheyAreCut) {
  const std::string seed = post("Content-Length: 5\r\nX: y\r\n", "hello") +
                           post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\nT: u\r\n\r\n") +
                           std::string(kGet);
  Random random(11);
  const std::string alphabet = "\r\n :;%?#\t\x01\xFFzZ09/";
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = seed;
    for (std::uint64_t i = 0; i < 1 + random.below(3); ++i) {
      const std::size_t at = random.below(bytes.size());
      switch (random.below(3)) {
        case 0:
          bytes[at] = alphabet[random.below(alphabet.size())];
          break;
        case 1:
          bytes.erase(at, 1 + random.below(4));
          break;
        default:
          bytes.insert(at, 1, alphabet[random.below(alphabet.size())]);
      }
    }
    const Outcome whole = parse(bytes);
    const Outcome each = parse(bytes, std::vector<std::size_t>(bytes.size(), 1));
    ASSERT_EQ(each.requests.size(), whole.requests.size()) << bytes;
    ASSERT_EQ(each.failure.has_value(), whole.failure.has_value()) << bytes;
    for (std::size_t i = 0; i < whole.requests.size(); ++i) {
      ASSERT_EQ(each.requests[i].body, whole.requests[i].body) << bytes;
    }
    if (whole.failure) {
      ASSERT_EQ(each.failure->code, whole.failure->code) << bytes;
    }
  }
}

TEST(RequestParser, RefusesWhatSmugglesRequests) {
  expect_refused(post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "hello"));
  expect_refused(post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "hello"));
  expect_refused(post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"));
  expect_refused(post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"));
  for (const char* value : {"5, 5", "+5", "-1", "0x5", "5 5", "", "five", "99999999999999999999"}) {
    expect_refused(post("Content-Length: " + std::string(value) + "\r\n", "hello"));
  }
  for (const char* value : {"gzip", "gzip, chunked", "chunked, chunked", "identity", "xchunked"}) {
    expect_refused(post("Transfer-Encoding: " + std::string(value) + "\r\n", "0\r\n\r\n"));
  }
  expect_refused(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"));
  expect_refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  expect_refused(post("X-A: b\r\n folded\r\n"));
  expect_refused(post("X-A: b\r\n\tfolded\r\n"));
  // Folded where its value begins: found by the line, not by what the parser makes of it.
  expect_refused(post("Transfer-Encoding:\r\n chunked\r\n"));
  expect_refused(post("Content-Length:\r\n 4\r\n"));
  expect_refused(post("X-A : b\r\n"));
  expect_refused(post(" X-A: b\r\n"));
  expect_refused(post("Host: second\r\n"));
}

TEST(RequestParser, RefusesMalformedLinesAndFields) {
  expect_refused("GARBAGE\r\n\r\n");
  expect_refused("GARBAGE\r\n");
  expect_refused("GET  / HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_refused("GET / HTTP/2.0\r\nHost: h\r\n\r\n");
  expect_refused("GET / HTTP/1.1 \r\nHost: h\r\n\r\n");
  expect_refused("G@T / HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_refused("GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_refused("GET / HTTP/1.1\nHost: h\n\n");
  expect_refused("GET / HTTP/1.1\r\nHost: h\n\r\n");
  expect_refused("GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n");
  expect_refused("GET / HTTP/1.1\r\nHost: h\r\nX: a\x01\r\n\r\n");
  expect_refused("GET / HTTP/1.1\r\n: h\r\n\r\n");
  expect_refused("\x16\x03\x01\x02");  // a TLS client
  expect_refused("GET / HTTP/1.1\r\n\r\n");
  expect_refused("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_refused("GET /%4 HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_refused("GET /?a=%00 HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_refused("GET /#x HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_refused("GET nonsense HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_refused("GET /?a=%FF HTTP/1.1\r\nHost: h\r\n\r\n", ErrorCode::kBadUtf8);
}

TEST(RequestParser, RefusesBrokenChunks) {
  for (const char* body : {"zz\r\nabc\r\n0\r\n\r\n", "3\r\nabcX0\r\n\r\n", "3\nabc\r\n0\r\n\r\n",
                           "-1\r\nabc", "3 x\r\nabc\r\n0\r\n\r\n", "\r\n\r\nabc"}) {
    expect_refused(post("Transfer-Encoding: chunked\r\n", body));
  }
  expect_refused(post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFF\r\n"));
}

TEST(RequestParser, RefusesAClaimedLengthBeforeABodyByte) {
  const Outcome outcome = parse(post("Content-Length: 2147483648\r\n"));
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->code, ErrorCode::kTooLarge);
  EXPECT_THAT(outcome.failure->detail, HasSubstr("2147483648"));
  EXPECT_THAT(outcome.failure->detail, HasSubstr("16777216"));
}

TEST(RequestParser, RefusesChunksThatAddUpToTooMuch) {
  Limits limits;
  limits.body_bytes = 10;
  const std::string head = post("Transfer-Encoding: chunked\r\n");
  const Outcome fits = parse(head + "5\r\n12345\r\n5\r\n12345\r\n0\r\n\r\n", {}, limits);
  EXPECT_EQ(fits.requests.at(0).body.size(), 10U);
  const Outcome over = parse(head + "5\r\n12345\r\n6\r\n", {}, limits);
  ASSERT_TRUE(over.failure);
  EXPECT_EQ(over.failure->code, ErrorCode::kTooLarge);
  EXPECT_EQ(parse(head + "FFFFFFFFFFFFFFFF\r\n", {}, limits).failure->code, ErrorCode::kTooLarge);
}

TEST(RequestParser, RefusesHeaderBombs) {
  const std::string start = "GET / HTTP/1.1\r\nHost: h\r\n";
  expect_refused("GET /" + std::string(40'000, 'a'), ErrorCode::kHeadersTooLarge);
  expect_refused(start + "X: " + std::string(40'000, 'a') + "\r\n\r\n",
                 ErrorCode::kHeadersTooLarge);
  std::string many = start;
  while (many.size() < 40'000) {
    many += "A: b\r\n";
  }
  expect_refused(many + "\r\n", ErrorCode::kHeadersTooLarge);
  std::string fields = start;
  for (int i = 0; i < 300; ++i) {
    fields += "A: b\r\n";
  }
  expect_refused(fields + "\r\n", ErrorCode::kHeadersTooLarge);
  expect_refused(post("Transfer-Encoding: chunked\r\n", "1;" + std::string(40'000, 'x')),
                 ErrorCode::kHeadersTooLarge);
  const std::size_t room = 32 * 1024 - start.size() - 3 - 4;
  EXPECT_EQ(parse(start + "X: " + std::string(room, 'a') + "\r\n\r\n").requests.size(), 1U);
  expect_refused(start + "X: " + std::string(room + 1, 'a') + "\r\n\r\n",
                 ErrorCode::kHeadersTooLarge);
}

TEST(RequestParser, TakesTheHostOfAnAbsoluteTarget) {
  const Outcome outcome = parse("GET http://real.example:80/x?y=1 HTTP/1.1\r\nHost: decoy\r\n\r\n");
  ASSERT_EQ(outcome.requests.size(), 1U);
  EXPECT_EQ(outcome.requests[0].path, "/x");
  EXPECT_EQ(outcome.requests[0].header("host"), "real.example:80");
  EXPECT_EQ(outcome.requests[0].headers.count("host"), 1U);
}

TEST(RequestParser, KnowsWhoKeepsTheConnection) {
  const auto keeps = [](const std::string& text) { return parse(text).requests.at(0).keep_alive; };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(RequestParser, StaysInTheMiddleOfATruncatedRequest) {
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHos").state, State::kHeader);
  EXPECT_EQ(parse(post("Content-Length: 5\r\n", "hel")).state, State::kBody);
  EXPECT_EQ(parse(post("Transfer-Encoding: chunked\r\n", "5\r\nhel")).state, State::kBody);
  EXPECT_EQ(parse(std::string(kGet)).state, State::kIdle);
}

}  // namespace
}  // namespace ackline::http

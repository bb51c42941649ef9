#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ackline/http/client.h"
#include "ackline/http/host_check.h"
#include "ackline/http/message.h"
#include "ackline/http/problem.h"
#include "ackline/http/response_parser.h"
#include "ackline/http/sse.h"

namespace ackline::http {
namespace {

TEST(Problem, LooksAsTheContractShowsIt) {
  const Error error{ErrorCode::kBadValue, "maxAttempts is -3; allowed are 1 to 1000",
                    "Leave it out for the default of 6.", "maxAttempts"};
  const Response response = problem_response(error);
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.headers.find("content-type"), "application/problem+json");
  EXPECT_EQ(response.body,
            R"({"type":"urn:ackline:error:bad_value","title":"Bad value","status":400,)"
            R"("error":"bad_value","field":"maxAttempts",)"
            R"("detail":"maxAttempts is -3; allowed are 1 to 1000",)"
            R"("remedy":"Leave it out for the default of 6."})");
}

TEST(Problem, SaysWhenToComeBackAndWhatIsAllowed) {
  EXPECT_EQ(problem_response({ErrorCode::kDraining, "d", "", ""}, {.retry_after_seconds = 5})
                .headers.find("retry-after"),
            "5");
  EXPECT_EQ(problem_response({ErrorCode::kRateLimited, "d", "", ""}).headers.find("retry-after"),
            "1");
  EXPECT_EQ(problem_response({ErrorCode::kMethodNotAllowed, "d", "", ""}, {.allow = "GET, POST"})
                .headers.find("allow"),
            "GET, POST");
  EXPECT_EQ(problem_json({ErrorCode::kGroupConflict, "say \"no\"\n", "", ""}, R"("conflicts":[])"),
            R"({"type":"urn:ackline:error:group_conflict","title":"Group conflict","status":409,)"
            R"("error":"group_conflict","detail":"say \"no\"\n","conflicts":[]})");
}

Request with_fields(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  Request request;
  request.headers = Headers(fields);
  return request;
}

TEST(HostCheck, TakesItsOwnNamesWithAnyPort) {
  const AllowedHosts allowed = allowed_hosts("127.0.0.1", {"ackline.example:10105"});
  for (const char* host : {"127.0.0.1", "127.0.0.1:10105", "LocalHost:1", "[::1]:80", "[::1]",
                           "Ackline.Example", "ackline.example:443"}) {
    EXPECT_TRUE(check_host_and_origin(with_fields({{"Host", host}}), allowed)) << host;
  }
}

TEST(HostCheck, RefusesOtherNamesAndNone) {
  const AllowedHosts allowed = allowed_hosts("127.0.0.1", {});
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost:80x", "", "[::1",
                           "[::1]x", ":80", "::1", "a@localhost", "localhost."}) {
    const auto result = check_host_and_origin(with_fields({{"Host", host}}), allowed);
    ASSERT_FALSE(result) << host;
    EXPECT_EQ(result.error().code, ErrorCode::kForbidden);
  }
  EXPECT_FALSE(check_host_and_origin(Request(), allowed));
}

TEST(HostCheck, RefusesForeignOrigins) {
  AllowedHosts allowed = allowed_hosts("127.0.0.1", {});
  allowed.origins.emplace_back("https://dash.example");
  const auto check = [&](std::string_view origin) {
    return check_host_and_origin(with_fields({{"Host", "LocalHost:10106"}, {"Origin", origin}}),
                                 allowed)
        .has_value();
  };
  EXPECT_FALSE(check("http://localhost:3000"));
  EXPECT_FALSE(check("http://127.0.0.1:10106"));
  EXPECT_FALSE(check("http://localhost"));
  EXPECT_TRUE(check("http://localhost:10106"));
  EXPECT_TRUE(check("https://DASH.example"));
  EXPECT_FALSE(check("https://evil.example"));
  EXPECT_FALSE(check("https://dash.example.evil.example"));
  EXPECT_FALSE(check("null"));
  EXPECT_FALSE(check("file://"));
}

TEST(HostCheck, RefusesWhatAnotherSitesPageLoads) {
  const AllowedHosts allowed = allowed_hosts("127.0.0.1", {});
  const auto check = [&](std::string_view path, Headers fields, std::string_view method = "GET") {
    fields.add("Host", "127.0.0.1");
    Request request;
    request.headers = std::move(fields);
    request.method = method;
    request.path = path;
    return check_host_and_origin(request, allowed).has_value();
  };
  EXPECT_TRUE(check("/events/poll", {}));
  EXPECT_TRUE(check("/events/poll", {{"Sec-Fetch-Site", "same-origin"}}));
  EXPECT_TRUE(check("/", {{"Sec-Fetch-Site", "none"}}));
  EXPECT_FALSE(check("/events/poll", {{"Sec-Fetch-Site", "cross-site"}}));  // an image
  EXPECT_FALSE(check("/events/poll", {{"Sec-Fetch-Site", "same-site"}}));
  const Headers link = {{"Sec-Fetch-Site", "cross-site"},
                        {"Sec-Fetch-Mode", "navigate"},
                        {"Sec-Fetch-Dest", "document"}};
  EXPECT_TRUE(check("/", link));
  EXPECT_FALSE(check("/events/poll", link));
  EXPECT_FALSE(check("/admin/topics", link, "POST"));
  EXPECT_FALSE(check("/", {{"Sec-Fetch-Site", "cross-site"},
                           {"Sec-Fetch-Mode", "navigate"},
                           {"Sec-Fetch-Dest", "iframe"}}));
}

TEST(Sse, WritesWhatTheContractShows) {
  std::string out;
  append_sse_retry(out, 2000);
  append_sse_event(out, "1k3v8z-9f2c-42", R"({"n":1})");
  append_sse_comment(out);
  append_sse_end(out, "draining");
  EXPECT_EQ(out,
            "retry: 2000\n\nid: 1k3v8z-9f2c-42\ndata: {\"n\":1}\n\n: hb\n\n"
            "event: end\ndata: {\"error\":\"draining\"}\n\n");
}

TEST(Sse, ReadsBackWhatItWritesHoweverItIsCut) {
  std::string out = "\xEF\xBB\xBF";
  append_sse_retry(out, 2000);
  append_sse_event(out, "7", "one\ntwo\r\nthree\n");
  append_sse_comment(out);
  append_sse_named(out, "end", "bye");
  for (std::size_t piece = 1; piece <= out.size(); ++piece) {
    SseReader reader;
    std::vector<SseEvent> events;
    for (std::size_t at = 0; at < out.size(); at += piece) {
      ASSERT_TRUE(reader.feed(std::string_view(out).substr(at, piece),
                              [&](SseEvent event) { events.push_back(std::move(event)); }));
    }
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].id, "7");
    EXPECT_EQ(events[0].name, "message");
    EXPECT_EQ(events[0].data, "one\ntwo\nthree\n");
    EXPECT_EQ(events[1].name, "end");
    EXPECT_EQ(events[1].id, "7");
    EXPECT_EQ(reader.retry_ms(), 2000);
    EXPECT_EQ(reader.comments(), 1U);
  }
}

TEST(Sse, TakesAllLineEndsAndBoundsAnEvent) {
  std::vector<std::string> data;
  const auto sink = [&](SseEvent event) { data.push_back(event.data); };
  SseReader reader(64);
  ASSERT_TRUE(reader.feed("data:a\rdata: b\r\n\r\ndata\n\nevent: x\n\n", sink));
  EXPECT_EQ(data, (std::vector<std::string>{"a\nb", ""}));
  const auto over = reader.feed("data: " + std::string(100, 'x'), sink);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kTooLarge);
}

TEST(Message, PercentCodingGoesBothWays) {
  const std::string odd = "a b/ü%&=+?#\n";
  EXPECT_EQ(percent_decode(percent_encode(odd)), odd);
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
  EXPECT_FALSE(percent_decode("%"));
  EXPECT_FALSE(percent_decode("%1"));
  EXPECT_FALSE(percent_decode("%1g"));
}

TEST(ResponseParser, ReadsLengthsChunksInterimAnswersAndTheEndOfTheStream) {
  struct Case {
    std::string bytes;
    bool eof;
    bool keep;
  };
  for (const Case& c :
       {Case{"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", false, true},
        Case{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
             false, true},
        Case{"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n"
             "\r\n",
             false, true},
        Case{"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello", true, false}}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, c.bytes.size()}) {
      std::string body;
      ResponseParser parser({}, [&](std::string_view bytes) { body += bytes; });
      for (std::size_t at = 0; at < c.bytes.size(); at += piece) {
        ASSERT_TRUE(parser.feed(std::string_view(c.bytes).substr(at, piece)));
      }
      if (c.eof) {
        ASSERT_TRUE(parser.feed_eof());
      }
      EXPECT_TRUE(parser.done());
      EXPECT_EQ(parser.head().status, 200);
      EXPECT_EQ(body, "hello");
      EXPECT_EQ(parser.keep_alive(), c.keep);
    }
  }
}

TEST(ResponseParser, RefusesNonsenseAndTruncation) {
  ResponseParser nonsense({}, [](std::string_view) {});
  EXPECT_FALSE(nonsense.feed("SSH-2.0-x\r\n"));
  ResponseParser cut({}, [](std::string_view) {});
  EXPECT_TRUE(cut.feed("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel"));
  EXPECT_FALSE(cut.feed_eof());
}

TEST(ClientOptions, AreReadFromAnAddress) {
  const auto check = [](std::string_view url, std::string_view host, int port) {
    const auto options = client_options(url, 10105);
    ASSERT_TRUE(options) << url;
    EXPECT_EQ(options->host, host);
    EXPECT_EQ(options->port, port);
  };
  check("http://127.0.0.1:99", "127.0.0.1", 99);
  check("http://localhost/", "localhost", 10105);
  check("host:1/x", "host", 1);
  check("[::1]:80", "[::1]", 80);
  check("[::1]", "[::1]", 10105);
  for (const char* bad : {"", "https://x", "host:", "host:x", "host:99999", "[::1"}) {
    EXPECT_FALSE(client_options(bad, 1)) << bad;
  }
}

}  // namespace
}  // namespace ackline::http

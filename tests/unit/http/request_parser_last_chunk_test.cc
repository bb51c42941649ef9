// Symptom: a chunked body whose only chunk is the last one, coming in small pieces, failed an
// assertion inside the parser's library (builds with assertions on stopped there).
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ackline/http/request_parser.h"

namespace ackline::http {
namespace {

TEST(RequestParserLastChunk, AnEmptyChunkedBodyMayComeByteByByte) {
  for (const std::string_view end : {"0\r\n\r\n", "00\r\n\r\n", "0\r\nTrailer: v\r\n\r\n"}) {
    RequestParser parser(Limits{});
    std::string text = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    text += end;
    for (std::size_t i = 0; i < text.size(); ++i) {
      ASSERT_EQ(parser.feed(std::string_view(text).substr(i, 1)), 1U) << end << " byte " << i;
    }
    ASSERT_EQ(parser.state(), RequestParser::State::kDone) << end;
    EXPECT_EQ(parser.take_request().body, "");
  }
}

}  // namespace
}  // namespace ackline::http

#include "ackline/base/base64.h"

#include <gtest/gtest.h>

#include "ackline/base/random.h"

namespace ackline {
namespace {

std::string encoded(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

TEST(Base64, TheVectorsOfRfc4648) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
}

TEST(Base64, AnyBytesRoundTrip) {
  Random random(3);
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes;
    for (std::uint64_t length = random.below(40); length > 0; --length) {
      bytes.push_back(static_cast<char>(random.below(256)));
    }
    ASSERT_EQ(decode_base64(encoded(bytes)), bytes);
  }
}

TEST(Base64, RefusesOtherTexts) {
  for (const std::string_view text : {"Z", "Zg", "Zg=", "Zg===", "====", "Z===", "Zg==Zg==", "Zm9-",
                                      "Zm 9", "Zh==", "Zm9=", "Zm\n9v"}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace ackline

#include "ackline/base/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace ackline {
namespace {

constexpr std::array<std::string_view, 5> kFields = {"clientId", "topic", "maxAttempts",
                                                     "maxInFlight", "ackTimeoutMs"};

TEST(NearestName, FindsTheNameThatWasMeant) {
  EXPECT_EQ(nearest_name("clientID", kFields), "clientId");
  EXPECT_EQ(nearest_name("client_id", kFields), "clientId");
  EXPECT_EQ(nearest_name("tpoic", kFields), "topic");
  EXPECT_EQ(nearest_name("maxAttempt", kFields), "maxAttempts");
  EXPECT_EQ(nearest_name("maxinflight", kFields), "maxInFlight");
}

TEST(NearestName, NamesNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("", kFields), "");
  EXPECT_EQ(nearest_name("zzzzzz", kFields), "");
  EXPECT_EQ(nearest_name(std::string(10'000, 'a'), kFields), "");
  EXPECT_EQ(nearest_name("topic", {}), "");
}

TEST(NearestName, TheErrorSuggestsOrLists) {
  const Error near = unknown_field_error("the body", "tpoic", kFields);
  EXPECT_EQ(near.word(), "unknown_field");
  EXPECT_EQ(near.field, "tpoic");
  EXPECT_EQ(near.detail, "the body has no field tpoic");
  EXPECT_EQ(near.remedy, "Did you mean topic?");
  const Error far = unknown_field_error("the body", "zzzzzz", kFields);
  EXPECT_EQ(far.remedy, "Known are: clientId, topic, maxAttempts, maxInFlight, ackTimeoutMs.");
}

}  // namespace
}  // namespace ackline

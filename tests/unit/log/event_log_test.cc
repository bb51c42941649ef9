#include "ackline/log/event_log.h"

#include <gtest/gtest.h>

#include <set>

namespace ackline::log {
namespace {

TEST(Capabilities, EveryCapabilityHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Capability::kTopicManagement); ++i) {
    names.insert(capability_name(static_cast<Capability>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Capability::kTopicManagement) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Capabilities, AMissingOneIsAnErrorThatNamesIt) {
  constexpr Capabilities kSome{Capability::kDurable, Capability::kTopicManagement};
  EXPECT_TRUE(kSome.require(Capability::kDurable, "kafka"));
  const Result<void> refused = kSome.require(Capability::kReadByTime, "kafka");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().detail.find("read_by_time"), std::string::npos);
  EXPECT_NE(refused.error().detail.find("kafka"), std::string::npos);
}

}  // namespace
}  // namespace ackline::log

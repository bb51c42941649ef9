#include "ackline/event/expiry.h"

#include <gtest/gtest.h>

#include <string>

namespace ackline::event {
namespace {

constexpr WallMs kNoon(1'795'953'600'000);  // 2026-11-29T12:00:00Z
constexpr WallMs kAppended(kNoon.value() + 250);

class Expiry : public testing::Test {
 protected:
  Expiry() {
    event_.set("id", "1");
    event_.set("source", "/s");
    event_.set("type", "t");
  }
  std::optional<WallMs> at() {
    bytes_.clear();
    append_frame(event_, bytes_);
    return expires_at(FrameView::open(bytes_).value(), kAppended);
  }
  CloudEvent event_;
  std::string bytes_;
};

TEST_F(Expiry, Invariant22AnEventWithoutALimitNeverExpires) {
  EXPECT_EQ(at(), std::nullopt);
  EXPECT_FALSE(is_expired(FrameView::open(bytes_).value(), kAppended, WallMs(INT64_MAX)));
}

TEST_F(Expiry, Invariant22TtlCountsFromTimeElseFromTheAppend) {
  event_.set_integer("emttl", 1000);
  EXPECT_EQ(at(), kAppended.plus(1000));
  event_.set("emttl", "5000");
  EXPECT_EQ(at(), kAppended.plus(5000));
  event_.set("time", "2026-11-29T12:00:00Z");
  EXPECT_EQ(at(), kNoon.plus(5000));
}

TEST_F(Expiry, Invariant22TheEarlierOfTwoLimitsCounts) {
  event_.set("emttl", "5000");
  event_.set("expirytime", "2026-11-29T12:00:01Z");
  EXPECT_EQ(at(), kNoon.plus(1000));
  event_.set("expirytime", "2026-11-29T13:00:00Z");
  EXPECT_EQ(at(), kAppended.plus(5000));
  event_.remove("emttl");
  EXPECT_EQ(at(), kNoon.plus(3'600'000));
}

TEST_F(Expiry, Invariant22TheInstantItselfIsExpired) {
  event_.set("expirytime", "2026-11-29T12:00:01Z");
  ASSERT_TRUE(at());
  const FrameView view = FrameView::open(bytes_).value();
  EXPECT_FALSE(is_expired(view, kAppended, kNoon.plus(999)));
  EXPECT_TRUE(is_expired(view, kAppended, kNoon.plus(1000)));
}

TEST_F(Expiry, ZeroIsNoLimitAndNonsenseIsIgnored) {
  event_.set("emttl", "0");
  EXPECT_EQ(at(), std::nullopt);
  event_.set("emttl", "-5");
  EXPECT_EQ(at(), std::nullopt);
  event_.set("emttl", "soon");
  event_.set("expirytime", "later");
  EXPECT_EQ(at(), std::nullopt);
  event_.set("emttl", "999999999999999999");
  EXPECT_GT(at(), kNoon);
  EXPECT_EQ(parse_ttl_ms("1000000000000000000"), std::nullopt);
}

}  // namespace
}  // namespace ackline::event

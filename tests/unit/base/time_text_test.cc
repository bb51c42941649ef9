#include "ackline/base/time_text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

#include "ackline/base/random.h"

namespace ackline {
namespace {

constexpr std::int64_t kFirstMs = -62'167'219'200'000;
constexpr std::int64_t kLastMs = 253'402'300'799'999;

TEST(TimeText, FormatsUtcWithMilliseconds) {
  EXPECT_EQ(format_rfc3339(WallMs(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(WallMs(1'795'953'600'123)), "2026-11-29T12:00:00.123Z");
  EXPECT_EQ(format_rfc3339(WallMs(951'782'400'000)), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(WallMs(-1)), "1969-12-31T23:59:59.999Z");
}

TEST(TimeText, ATimeOutsideTheCalendarIsShownAsItsEnd) {
  EXPECT_EQ(format_rfc3339(WallMs(kFirstMs)), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(WallMs(std::numeric_limits<std::int64_t>::min())),
            "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(WallMs(std::numeric_limits<std::int64_t>::max())),
            "9999-12-31T23:59:59.999Z");
}

TEST(TimeText, ParsesOffsetsFractionsAndLowerCase) {
  const WallMs noon(1'795'953'600'000);
  EXPECT_EQ(parse_rfc3339("2026-11-29T12:00:00Z"), noon);
  EXPECT_EQ(parse_rfc3339("2026-11-29t12:00:00z"), noon);
  EXPECT_EQ(parse_rfc3339("2026-11-29T13:30:00+01:30"), noon);
  EXPECT_EQ(parse_rfc3339("2026-11-29T04:00:00-08:00"), noon);
  EXPECT_EQ(parse_rfc3339("2026-11-29T12:00:00-00:00"), noon);
  EXPECT_EQ(parse_rfc3339("2026-11-29T12:00:00.5Z"), noon.plus(500));
  EXPECT_EQ(parse_rfc3339("2026-11-29T12:00:00.123999999Z"), noon.plus(123));
  EXPECT_EQ(parse_rfc3339("2026-12-31T23:59:60Z"), parse_rfc3339("2027-01-01T00:00:00Z"));
  EXPECT_EQ(parse_rfc3339("2026-12-31T15:59:60-08:00"), parse_rfc3339("2027-01-01T00:00:00Z"));
}

TEST(TimeText, RefusesWhatIsNotRfc3339) {
  for (const std::string_view text : {"",
                                      "2026",
                                      "2026-11-29",
                                      "2026-11-29T12:00Z",
                                      "2026-11-29T12:00:00",
                                      "2026-11-29 12:00:00Z",
                                      "2026-13-01T00:00:00Z",
                                      "2026-00-01T00:00:00Z",
                                      "2026-02-29T00:00:00Z",
                                      "1900-02-29T00:00:00Z",
                                      "2026-04-31T00:00:00Z",
                                      "2026-11-00T00:00:00Z",
                                      "2026-11-29T24:00:00Z",
                                      "2026-11-29T12:60:00Z",
                                      "2026-11-29T12:00:61Z",
                                      "2026-11-29T12:00:60Z",
                                      "2026-11-29T12:00:00.Z",
                                      "2026-11-29T12:00:00+1:00",
                                      "2026-11-29T12:00:00+24:00",
                                      "2026-11-29T12:00:00+01:60",
                                      "2026-11-29T12:00:00+0100",
                                      "2026-11-29T12:00:00Z ",
                                      " 2026-11-29T12:00:00Z",
                                      "+026-11-29T12:00:00Z",
                                      "2026-11-29T12:00:00,5Z",
                                      "26-11-29T12:00:00Z",
                                      "2026-11-29T1a:00:00Z"}) {
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
  }
}

TEST(TimeText, EveryMillisecondOfTheCalendarRoundTrips) {
  Random random(5);
  for (int i = 0; i < 50'000; ++i) {
    const WallMs time(random.between(kFirstMs, kLastMs));
    ASSERT_EQ(parse_rfc3339(format_rfc3339(time)), time);
  }
}

TEST(TimeText, ConsecutiveDaysFollowTheGregorianRules) {
  int year = 1896;
  int month = 1;
  int day = 1;
  WallMs time = parse_rfc3339("1896-01-01T00:00:00Z").value_or(WallMs(0));
  for (int i = 0; i < 80'000; ++i) {
    char text[32];
    std::snprintf(text, sizeof(text), "%04d-%02d-%02dT00:00:00.000Z", year, month, day);
    ASSERT_EQ(format_rfc3339(time), text);
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    const int lengths[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (++day > lengths[month - 1]) {
      day = 1;
      if (++month > 12) {
        month = 1;
        ++year;
      }
    }
    time = time.plus(86'400'000);
  }
}

}  // namespace
}  // namespace ackline

// Failpoints: names, texts that are refused, and the death itself.
#include "ackline/io/failpoint.h"

#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <string>

namespace ackline::io {
namespace {

TEST(Failpoint, EveryNameIsThereOnce) {
  const std::set<std::string_view> names(kFailpointNames.begin(), kFailpointNames.end());
  EXPECT_EQ(names.size(), kFailpointNames.size());
  EXPECT_GE(names.size(), 30U);
}

TEST(Failpoint, ATextThatNamesNoPointIsRefusedAndArmsNothing) {
  for (const std::string_view text :
       {"journal.batch.before", "journal.batch.before:1", "journal.batch.before=kill",
        "journal.batch.before:0=kill", "journal.batch.before:x=kill", "journal.batch.before:1=stop",
        "no.such.point:1=kill", ",", "journal.batch.before:1=kill,no.such.point:1=kill"}) {
    const auto done = arm_failpoints(text);
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().code, ErrorCode::kBadValue);
    EXPECT_FALSE(failpoints_armed().load()) << text;
  }
}

TEST(FailpointDeathTest, TheProcessIsKilledAtTheChosenVisitAndNotBefore) {
  // A fresh process, not a fork of one that may have threads.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (!arm_failpoints("cut.before:3=kill,cut.after:1=kill")) std::exit(7);
        for (int i = 0; i < 2; ++i) failpoint(Failpoint::kCutBefore);
        failpoint(Failpoint::kCheckpointNamed);
        if (failpoint_due(Failpoint::kJournalBatchTorn)) std::exit(8);
        failpoint(Failpoint::kCutBefore);
        std::exit(9);
      },
      testing::KilledBySignal(SIGKILL), "failpoint cut.before visit 3: killed");
}

}  // namespace
}  // namespace ackline::io

// What explain says of a group that is stuck.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ackline/api/explain_text.h"

namespace ackline::api {
namespace {

using testing::HasSubstr;

TEST(StuckText, AStuckPartitionSaysSoForHowLongAndWhatToDo) {
  ExplainPartition partition;
  partition.lag.lag = 2;
  partition.lag.pending = 2;
  partition.blocker.offset = Offset(7);
  partition.blocker.has_client = true;
  EXPECT_THAT(partition_sentence(partition), Not(HasSubstr("tuck")));
  partition.blocker.stuck_ms = 31'000;
  EXPECT_THAT(partition_sentence(partition), HasSubstr("Stuck at offset 7: for 31.0 s"));
  EXPECT_THAT(partition_sentence(partition), HasSubstr("fault of the server"));
  EXPECT_THAT(partition_remedy(partition, 1), HasSubstr("restart"));
  // Damage explains it already.
  partition.quarantined = true;
  EXPECT_THAT(partition_sentence(partition), Not(HasSubstr("tuck")));
}

}  // namespace
}  // namespace ackline::api

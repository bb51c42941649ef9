#include "ackline/cli/demo_record.h"

#include <gtest/gtest.h>

namespace ackline::cli {
namespace {

TEST(DemoRecord, Invariant1TheClientsOwnFrontierStopsAtTheHole) {
  GroupRecord record(2);
  const Published published = {10, 3};
  EXPECT_EQ(record.frontier(0), -1);
  EXPECT_EQ(record.lag(0, published), 10);
  for (const std::int64_t offset : {4, 3, 2, 0}) record.settle(0, offset);
  EXPECT_EQ(record.frontier(0), 0);
  EXPECT_EQ(record.lag(0, published), 9);
  EXPECT_EQ(record.pending(0, published), 6);
  record.settle(0, 1);
  EXPECT_EQ(record.frontier(0), 4);
  EXPECT_EQ(record.settled(), 5);
  EXPECT_EQ(record.pending(1, published), 3);
}

}  // namespace
}  // namespace ackline::cli

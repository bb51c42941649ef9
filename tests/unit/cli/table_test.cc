#include "ackline/cli/table.h"

#include <gtest/gtest.h>

namespace ackline::cli {
namespace {

TEST(Table, ColumnsAreAlignedAndNumbersStandRight) {
  Table table({"NAME", ">LAG", "NOTE"});
  table.add({"billing", "7", "caught up"});
  table.add({"a", "10000"});
  EXPECT_EQ(table.render(),
            "NAME       LAG  NOTE\n"
            "billing      7  caught up\n"
            "a        10000\n");
}

TEST(Table, WideCharactersTakeTwoColumnsAndMarksNone) {
  EXPECT_EQ(display_width("orders"), 6U);
  EXPECT_EQ(display_width("注文"), 4U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);
  EXPECT_EQ(display_width("✓ 🎉"), 4U);
  EXPECT_EQ(display_width("\xFF\xFE"), 2U);
  Table table({"A", "B"});
  table.add({"注文", "x"});
  table.add({"abcd", "y"});
  EXPECT_EQ(table.render(), "A     B\n注文  x\nabcd  y\n");
}

TEST(Table, TextOfStrangersCannotMoveTheCursor) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\nc\x7f"), "a.[2Jb. c.");
  EXPECT_EQ(printable("x\xC2\x9Bz"), "x.z");
  EXPECT_EQ(printable("\xFFok"), ".ok");
}

TEST(Table, LongTextIsCutByColumns) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcde…");
  EXPECT_EQ(printable("注文注文", 6), "注文…");
}

}  // namespace
}  // namespace ackline::cli

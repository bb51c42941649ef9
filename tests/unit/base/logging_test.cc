#include "ackline/base/logging.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace ackline {
namespace {

using testing::ElementsAre;

std::string value_of(std::string_view value) {
  return format_log_line("m", {{"v", value}}).substr(4);
}

TEST(Logging, AFieldIsPlainWhenHarmless) {
  EXPECT_EQ(format_log_line("group made", {{"topic", "orders"}, {"partitions", 4}}),
            "group made topic=orders partitions=4");
  EXPECT_EQ(value_of("größe"), "größe");
}

TEST(Logging, NumbersTruthAndStrongTypesAreFields) {
  EXPECT_EQ(format_log_line("m", {{"a", -3}, {"b", true}, {"c", 0.5}, {"d", Offset(7)}}),
            "m a=-3 b=true c=0.5 d=7");
}

TEST(Logging, AValueCannotStartALineOfItsOwn) {
  EXPECT_EQ(value_of("x\n2026-11-29 ERROR forged"), R"("x\n2026-11-29 ERROR forged")");
  EXPECT_EQ(value_of("\r\x1b[31m\x7f"), R"("\r\x1b[31m\x7f")");
  EXPECT_EQ(value_of(std::string_view("\0", 1)), R"("\x00")");
}

TEST(Logging, AValueCannotPassForAnotherField) {
  EXPECT_EQ(value_of("a b=c"), R"("a b=c")");
  EXPECT_EQ(value_of(R"(a" b=c)"), R"("a\" b=c")");
  EXPECT_EQ(value_of("back\\slash"), R"("back\\slash")");
  EXPECT_EQ(value_of(""), R"("")");
}

TEST(Logging, WhatTurnsOrBreaksALineInViewersIsEscaped) {
  EXPECT_EQ(value_of("\xC2\x85"), R"("\xc2\x85")");          // next line, a C1 control
  EXPECT_EQ(value_of("\xE2\x80\xA8"), R"("\xe2\x80\xa8")");  // line separator
  EXPECT_EQ(value_of("\xE2\x80\xAE"), R"("\xe2\x80\xae")");  // right-to-left override
  EXPECT_EQ(value_of("\xFF\xC3"), R"("\xff\xc3")");          // no UTF-8
}

TEST(Logging, ALongValueIsCutAndSaysHowMuchIsMissing) {
  const std::string line = value_of(std::string(5000, 'x'));
  EXPECT_EQ(line, std::string(2048, 'x') + "[+2952 bytes]");
}

TEST(Logging, ACaptureTakesEveryLevelAndTheNewestOneWins) {
  LogCapture outer;
  log_debug("first");
  {
    LogCapture inner;
    log_error("second", {{"k", "v"}});
    EXPECT_THAT(inner.lines(), ElementsAre("ERROR second k=v"));
  }
  log_warn("third");
  EXPECT_THAT(outer.lines(), ElementsAre("DEBUG first", "WARN third"));
  EXPECT_TRUE(outer.contains("third"));
  EXPECT_FALSE(outer.contains("second"));
}

TEST(Logging, ThreadsNeverMixTheirLines) {
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) log_info("tick", {{"thread", t}, {"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream text(testing::internal::GetCapturedStderr());
  std::vector<int> next(4);  // of each thread
  std::size_t count = 0;
  for (std::string line; std::getline(text, line); ++count) {
    int thread = -1;
    int i = -1;
    const std::size_t at = line.find(" INFO tick ");
    ASSERT_NE(at, std::string::npos) << line;
    ASSERT_EQ(std::sscanf(line.c_str() + at, " INFO tick thread=%d i=%d", &thread, &i), 2) << line;
    ASSERT_TRUE(0 <= thread && thread < 4) << line;
    EXPECT_EQ(i, next[static_cast<std::size_t>(thread)]++) << line;
    EXPECT_TRUE(line.ends_with(" i=" + std::to_string(i))) << line;
  }
  EXPECT_EQ(count, 400U);
}

TEST(Logging, LinesBelowTheLevelAreDropped) {
  const LogLevel before = log_level();
  set_log_level(LogLevel::kError);
  testing::internal::CaptureStderr();
  log_warn("quiet");
  log_error("loud", {{"n", 1}});
  const std::string text = testing::internal::GetCapturedStderr();
  set_log_level(before);
  EXPECT_THAT(text, testing::EndsWith("Z ERROR loud n=1\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("quiet")));
}

}  // namespace
}  // namespace ackline

// A test's second process: the same test in a fresh run of the same program. A fork would be of a
// process with threads, and what they hold locked stays locked in it for ever.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "ackline/base/check.h"

namespace ackline::testing {

inline constexpr const char* kTold = "ACKLINE_TEST_TOLD";

// In the child: what its parent told it. The test begins with this and ends the process itself.
inline std::optional<std::string> told_by_parent() {
  const char* told = ::getenv(kTold);
  return told == nullptr ? std::nullopt : std::optional<std::string>(told);
}

// The child's status as waitpid gives it.
inline int run_this_test_in_a_child(const std::string& told) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  std::string program = "/proc/self/exe";
  std::string filter = fmt::format("--gtest_filter={}.{}", test.test_suite_name(), test.name());
  char* arguments[] = {program.data(), filter.data(), nullptr};
  ACKLINE_CHECK(::setenv(kTold, told.c_str(), 1) == 0);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ);
  ACKLINE_CHECK(::unsetenv(kTold) == 0);
  ACKLINE_CHECK(failed == 0);
  int status = 0;
  ACKLINE_CHECK(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace ackline::testing

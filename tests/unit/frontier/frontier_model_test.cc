// Random schedules against the model: every operation, every observable, every step.
#include <gtest/gtest.h>

#include "ackline/base/random.h"
#include "tests/unit/frontier/frontier_model.h"

namespace ackline::frontier::testing {
namespace {

constexpr std::uint64_t kUnbounded = 1ULL << 40U;

struct Shape {
  std::int64_t start;
  std::int64_t jump_max;   // gaps are up to this long
  std::int64_t range_max;  // settled ranges
  int steps;
};

class Schedule {
 public:
  Schedule(std::uint64_t seed, const Shape& shape)
      : random_(seed), shape_(shape), real_(Offset(shape.start), kUnbounded), model_(shape.start) {}

  void run() {
    for (int step = 0; step < shape_.steps && !::testing::Test::HasFatalFailure(); ++step) {
      one_step();
      compare(step % 16 == 0);
    }
  }

 private:
  void one_step() {
    const std::uint64_t dice = random_.below(1000);
    if (dice < 400) {
      offer();
    } else if (dice < 800) {
      settle();
    } else if (dice < 900) {
      settle_range();
    } else if (dice < 940) {
      const std::int64_t to = model_.cursor() + random_.between(-3, shape_.jump_max);
      model_.skip_to(to);
      real_.skip_to(Offset(to));
    } else {
      rare(dice);
    }
  }
  void rare(std::uint64_t dice) {
    if (dice < 960) {
      const std::int64_t first = near();
      const std::int64_t last = first + random_.between(0, shape_.range_max);
      model_.restore_settled(first, last);
      ASSERT_TRUE(real_.restore_settled(Offset(first), Offset(last)));
    } else if (dice < 985) {
      const std::int64_t offset = near();
      ASSERT_EQ(real_.restore_in_flight(Offset(offset)).value(), model_.restore_in_flight(offset));
    } else if (dice < 988) {
      reopen();
    } else if (dice < 990) {
      const std::int64_t log_start = model_.next() + random_.between(-2, shape_.range_max);
      ASSERT_EQ(real_.log_start_moved(Offset(log_start)), model_.log_start_moved(log_start));
    } else if (dice < 993) {
      std::string bytes;
      real_.serialise(bytes);
      Result<Frontier> again = Frontier::deserialise(as_bytes(bytes), kUnbounded);
      ASSERT_TRUE(again) << again.error().detail;
      real_ = std::move(*again);
      model_.restart();
    } else if (dice < 994) {
      const std::int64_t start = shape_.start + random_.between(0, 100);
      model_ = Model(start);
      real_.reset(Offset(start));
    } else if (dice < 996) {
      std::vector<Offset> forgotten;
      for (const std::int64_t offset : model_.pending()) {
        if (random_.chance(1, 3)) forgotten.emplace_back(offset);
      }
      real_.read_again(forgotten);
      model_.read_again(forgotten);
    } else {
      real_.trim();
    }
  }
  void offer() {
    const std::int64_t jump = random_.chance(1, 4) ? random_.between(0, shape_.jump_max) : 0;
    const std::int64_t offset = model_.cursor() + jump;
    ASSERT_EQ(real_.offer(Offset(offset)).value(), model_.offer(offset)) << offset;
  }
  void settle() {
    const std::int64_t offset = near();
    const Result<bool> result = real_.settle(Offset(offset));
    const int expected = model_.settle(offset);
    if (expected < 0) {
      ASSERT_FALSE(result) << offset;
      ASSERT_EQ(result.error().code, ErrorCode::kNotFound);
    } else {
      ASSERT_TRUE(result) << offset;
      ASSERT_EQ(*result, expected == 1) << offset;
    }
  }
  void settle_range() {
    const std::int64_t first = near();
    const std::int64_t last = first + random_.between(0, shape_.range_max);
    ASSERT_EQ(real_.settle_range(Offset(first), Offset(last)), model_.settle_range(first, last));
  }
  void reopen() {
    const std::int64_t frontier =
        std::max<std::int64_t>(-1, model_.next() - random_.between(-5, shape_.range_max));
    std::vector<Offset> keep;
    for (const std::int64_t offset : model_.pending()) {
      if (random_.chance(1, 2)) {
        keep.emplace_back(offset);
      }
    }
    model_.reopen(frontier, keep);
    ASSERT_TRUE(real_.reopen(Offset(frontier), keep));
  }
  // Mostly a pending offset, sometimes the first or any other.
  std::int64_t near() {
    if (!model_.pending().empty() && random_.chance(3, 4)) {
      if (random_.chance(1, 4)) {
        return *model_.pending().begin();
      }
      const auto at = model_.pending().lower_bound(
          random_.between(model_.next(), std::max(model_.next(), model_.cursor())));
      return at == model_.pending().end() ? *model_.pending().rbegin() : *at;
    }
    return std::max<std::int64_t>(0, random_.between(model_.next() - 5, model_.cursor() + 40));
  }

  void compare(bool all) {
    ASSERT_EQ(real_.committed().value(), model_.next());
    ASSERT_EQ(real_.value().value(), model_.next() - 1);
    ASSERT_EQ(real_.cursor().value(), model_.cursor());
    ASSERT_EQ(real_.pending(), model_.pending().size());
    ASSERT_EQ(real_.settled_ahead(), model_.settled().size());
    ASSERT_EQ(real_.ahead(), model_.ahead());
    if (!all) {
      return;
    }
    const std::vector<Hole> expected = model_.holes();
    ASSERT_EQ(real_.holes(Offset(0), expected.size() + 1), expected);
    ASSERT_EQ(real_.holes_count(), expected.size());
    std::vector<OffsetRange> ranges;
    while (const auto range =
               real_.next_settled_range(ranges.empty() ? Offset(0) : ranges.back().last.next())) {
      ranges.push_back(*range);
    }
    ASSERT_EQ(ranges, model_.settled_ranges());
    for (std::int64_t offset = model_.next(); offset < model_.cursor() + 50; ++offset) {
      ASSERT_EQ(real_.is_pending(Offset(offset)), model_.pending().contains(offset)) << offset;
      ASSERT_EQ(real_.is_settled(Offset(offset)), model_.settled().contains(offset)) << offset;
    }
  }

  Random random_;
  Shape shape_;
  Frontier real_;
  Model model_;
};

void run_schedules(std::uint64_t first_seed, std::uint64_t count, const Shape& shape) {
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    SCOPED_TRACE(seed);
    Schedule(seed, shape).run();
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

TEST(FrontierModel, Invariant1And2HoldOverDenseSchedules) {
  run_schedules(1, 25, {0, 2, 20, 1500});
}

TEST(FrontierModel, Invariant1And2HoldWithStartsThatAreNotZero) {
  run_schedules(1000, 12, {4090, 3, 30, 1500});
  run_schedules(2000, 12, {(1LL << 40) + 63, 3, 30, 1500});
}

TEST(FrontierModel, Invariant2HoldsWithGapsAcrossWordsAndChunks) {
  run_schedules(3000, 8, {100, 200, 400, 600});
  run_schedules(4000, 4, {0, 6000, 9000, 150});
}

}  // namespace
}  // namespace ackline::frontier::testing

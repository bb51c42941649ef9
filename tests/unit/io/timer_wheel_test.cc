#include "ackline/io/timer_wheel.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "ackline/base/random.h"

namespace ackline::io {
namespace {

constexpr std::size_t kNoLimit = ~std::size_t{0};

struct Slot {
  MonoMs due;
  TimerLinks links;
};

struct Slots {
  std::vector<Slot> slots;
  explicit Slots(std::size_t count) : slots(count) {}
  TimerLinks& timer_links(std::uint32_t index) { return slots[index].links; }
  [[nodiscard]] MonoMs timer_due(std::uint32_t index) const { return slots[index].due; }
};

class TimerWheelTest : public ::testing::Test {
 protected:
  void arm(std::uint32_t index, std::int64_t due) {
    slots_.slots[index].due = MonoMs(due);
    wheel_.arm(slots_, index);
  }
  std::vector<std::uint32_t> advance(std::int64_t now, std::size_t work_max = kNoLimit) {
    std::vector<std::uint32_t> fired;
    wheel_.advance(slots_, MonoMs(now), work_max, [&](std::uint32_t i) { fired.push_back(i); });
    return fired;
  }

  Slots slots_{1000};
  TimerWheel<Slots> wheel_{MonoMs(1000)};
};

using Indices = std::vector<std::uint32_t>;

TEST_F(TimerWheelTest, FiresAtItsMillisecondAndNotBefore) {
  arm(1, 1005);
  arm(2, 1005);
  arm(3, 1004);
  EXPECT_EQ(wheel_.next_due(), MonoMs(1004));
  EXPECT_EQ(advance(1003), Indices{});
  EXPECT_EQ(advance(1004), Indices{3});
  EXPECT_EQ(advance(1005), (Indices{1, 2})) << "in the order they were armed";
  EXPECT_EQ(wheel_.size(), 0U);
  EXPECT_FALSE(wheel_.next_due());
}

TEST_F(TimerWheelTest, WhatIsDueAlreadyFiresAtTheNextAdvance) {
  arm(1, 10);
  arm(2, 1000);
  EXPECT_LE(wheel_.next_due(), MonoMs(1000));
  EXPECT_EQ(advance(1000), (Indices{1, 2}));
}

TEST_F(TimerWheelTest, ADisarmedOneDoesNotFire) {
  for (std::uint32_t i = 0; i < 5; ++i) {
    arm(i, 5000);
  }
  for (const std::uint32_t i : {0U, 2U, 4U, 2U}) {
    wheel_.disarm(slots_, i);
    EXPECT_FALSE(slots_.slots[i].links.armed());
  }
  EXPECT_EQ(wheel_.size(), 2U);
  EXPECT_EQ(advance(10'000), (Indices{1, 3}));
}

TEST_F(TimerWheelTest, ArmingAgainMovesItEitherWay) {
  arm(1, 5000);
  arm(1, 2000);
  arm(2, 1500);
  arm(2, 90'000);
  EXPECT_EQ(wheel_.size(), 2U);
  EXPECT_EQ(advance(50'000), Indices{1});
  EXPECT_EQ(advance(90'000), Indices{2});
}

TEST_F(TimerWheelTest, ADueTimeMovedLaterInPlaceIsHonoured) {
  arm(1, 1010);
  arm(2, 400'000);
  slots_.slots[1].due = MonoMs(700'000);
  slots_.slots[2].due = MonoMs(800'000);
  EXPECT_EQ(advance(699'999), Indices{});
  EXPECT_EQ(advance(700'000), Indices{1});
  EXPECT_EQ(advance(800'000), Indices{2});
}

TEST_F(TimerWheelTest, FarFutureTimersNeedFewWakeUps) {
  constexpr std::int64_t kDay = 86'400'000;
  arm(1, 1000 + 3 * kDay);
  arm(2, 1000 + 400 * 365 * kDay);
  int wake_ups = 0;
  while (wheel_.size() == 2) {
    advance(wheel_.next_due().value().value());
    ++wake_ups;
  }
  EXPECT_LE(wake_ups, 6);
  EXPECT_EQ(wheel_.now(), MonoMs(1000 + 3 * kDay));
  while (wheel_.size() == 1) {
    advance(wheel_.next_due().value().value());
  }
  EXPECT_EQ(wheel_.now(), MonoMs(1000 + 400 * 365 * kDay));
}

TEST_F(TimerWheelTest, TheWholeRangeOfTimeIsUsable) {
  TimerWheel<Slots> wheel{MonoMs(std::numeric_limits<std::int64_t>::min())};
  slots_.slots[0].due = MonoMs(-1);
  slots_.slots[1].due = MonoMs(0);
  slots_.slots[2].due = MonoMs(std::numeric_limits<std::int64_t>::max());
  Indices fired;
  const auto collect = [&](std::uint32_t i) { fired.push_back(i); };
  for (std::uint32_t i = 0; i < 3; ++i) {
    wheel.arm(slots_, i);
  }
  wheel.advance(slots_, MonoMs(-2), kNoLimit, collect);
  EXPECT_EQ(fired, Indices{});
  wheel.advance(slots_, MonoMs(0), kNoLimit, collect);
  EXPECT_EQ(fired, (Indices{0, 1}));
  wheel.advance(slots_, MonoMs(std::numeric_limits<std::int64_t>::max()), kNoLimit, collect);
  EXPECT_EQ(fired, (Indices{0, 1, 2}));
}

TEST_F(TimerWheelTest, ALimitedAdvanceGoesOnWhereItStopped) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    arm(i, 500'000 + i % 3);
  }
  std::size_t fired = 0;
  int calls = 0;
  while (wheel_.size() > 0) {
    ASSERT_LE(wheel_.next_due().value(), MonoMs(600'000));
    fired += advance(600'000, 7).size();
    ASSERT_LT(++calls, 200);
  }
  EXPECT_EQ(fired, 100U);
  EXPECT_EQ(advance(600'000), Indices{});
  EXPECT_EQ(wheel_.now(), MonoMs(600'000));
}

TEST_F(TimerWheelTest, TimeNeverGoesBack) {
  arm(1, 3000);
  advance(2000);
  EXPECT_EQ(advance(500), Indices{});
  EXPECT_EQ(wheel_.now(), MonoMs(2000));
  EXPECT_EQ(advance(3000), Indices{1});
}

TEST_F(TimerWheelTest, ACallbackMayArmAndDisarm) {
  arm(1, 2000);
  arm(2, 2000);
  arm(3, 2500);
  Indices fired;
  wheel_.advance(slots_, MonoMs(4000), kNoLimit, [&](std::uint32_t i) {
    fired.push_back(i);
    if (i == 1) {
      wheel_.disarm(slots_, 2);
      slots_.slots[4].due = MonoMs(2001);
      wheel_.arm(slots_, 4);
      slots_.slots[1].due = MonoMs(3000);
      wheel_.arm(slots_, 1);
    } else if (i == 3) {
      wheel_.disarm(slots_, 1);
    }
  });
  EXPECT_EQ(fired, (Indices{1, 4, 3}));
  EXPECT_EQ(wheel_.size(), 0U);
}

// The reference: an ordered set of (due, index).
class Model {
 public:
  void arm(std::uint32_t index, std::int64_t due) {
    disarm(index);
    by_index_[index] = due;
    by_due_.emplace(due, index);
  }
  void disarm(std::uint32_t index) {
    if (const auto it = by_index_.find(index); it != by_index_.end()) {
      by_due_.erase({it->second, index});
      by_index_.erase(it);
    }
  }
  std::set<std::uint32_t> advance(std::int64_t now) {
    std::set<std::uint32_t> fired;
    while (!by_due_.empty() && by_due_.begin()->first <= now) {
      fired.insert(by_due_.begin()->second);
      disarm(by_due_.begin()->second);
    }
    return fired;
  }
  [[nodiscard]] std::size_t size() const { return by_due_.size(); }
  [[nodiscard]] std::int64_t first() const { return by_due_.begin()->first; }

 private:
  std::map<std::uint32_t, std::int64_t> by_index_;
  std::set<std::pair<std::int64_t, std::uint32_t>> by_due_;
};

void run_against_model(std::uint64_t seed) {
  Random random(seed);
  std::int64_t now = random.between(-100'000, 1LL << (seed % 50));
  Slots slots(300);
  TimerWheel<Slots> wheel{MonoMs(now)};
  Model model;
  for (int step = 0; step < 3000; ++step) {
    const auto index = static_cast<std::uint32_t>(random.below(300));
    const std::uint64_t dice = random.below(10);
    if (dice < 5) {
      const std::int64_t due = now + random.between(-10, 1LL << random.below(45));
      slots.slots[index].due = MonoMs(due);
      wheel.arm(slots, index);
      model.arm(index, due);
    } else if (dice < 7) {
      wheel.disarm(slots, index);
      model.disarm(index);
    } else {
      now += random.between(0, 1LL << random.below(random.chance(1, 50) ? 44 : 18));
      std::set<std::uint32_t> fired;
      const std::size_t work_max = random.chance(1, 2) ? kNoLimit : random.below(20) + 1;
      do {
        wheel.advance(slots, MonoMs(now), work_max,
                      [&](std::uint32_t i) { ASSERT_TRUE(fired.insert(i).second); });
      } while (wheel.next_due() && *wheel.next_due() <= MonoMs(now));
      ASSERT_EQ(fired, model.advance(now));
    }
    ASSERT_EQ(wheel.size(), model.size());
    ASSERT_EQ(wheel.next_due().has_value(), model.size() > 0);
    if (model.size() > 0) {
      ASSERT_LE(wheel.next_due()->value(), std::max(model.first(), now));
    }
  }
}

TEST(TimerWheelModel, FiresWhatAnOrderedSetWouldFire) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    run_against_model(seed);
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

TEST(TimerWheelModel, AMillionTimersFireOnceEachAndNoneEarly) {
  constexpr std::uint32_t kCount = 1'000'000;
  Random random(11);
  Slots slots(kCount);
  TimerWheel<Slots> wheel{MonoMs(0)};
  for (std::uint32_t i = 0; i < kCount; ++i) {
    slots.slots[i].due = MonoMs(random.between(1, 60'000));
    wheel.arm(slots, i);
  }
  std::size_t fired = 0;
  for (std::int64_t now = 0; now <= 60'000; now += 997) {
    fired += wheel.advance(slots, MonoMs(now), kNoLimit, [&](std::uint32_t i) {
      ASSERT_LE(slots.slots[i].due.value(), now);
      ASSERT_GT(slots.slots[i].due.value(), now - 997);
    });
  }
  fired += wheel.advance(slots, MonoMs(60'000), kNoLimit, [](std::uint32_t) {});
  EXPECT_EQ(fired, kCount);
}

}  // namespace
}  // namespace ackline::io

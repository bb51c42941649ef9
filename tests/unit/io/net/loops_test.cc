#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "ackline/io/net/event_loop.h"
#include "ackline/io/net/storage_threads.h"

namespace ackline::io::net {
namespace {

// Of the whole process; 0 where a sanitizer has an allocator of its own.
std::size_t allocated_bytes() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

// Runs `work` on the loop and waits for it.
void on(EventLoop& loop, Task work) {
  std::promise<void> done;
  loop.post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

TEST(EventLoop, RunsTasksOnItsThreadInTheOrderOfEachPoster) {
  const SystemClock clock;
  EventLoop loop(clock);
  loop.start();
  EXPECT_FALSE(loop.here());
  std::vector<std::vector<int>> seen(4);
  {
    std::vector<std::jthread> posters;
    for (std::size_t p = 0; p < seen.size(); ++p) {
      posters.emplace_back([&, p] {
        for (int i = 0; i < 1000; ++i) {
          loop.post([&, p, i] {
            EXPECT_TRUE(loop.here());
            seen[p].push_back(i);
          });
        }
      });
    }
  }
  on(loop, [] {});
  for (const std::vector<int>& list : seen) {
    ASSERT_EQ(list.size(), 1000U);
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(list[static_cast<std::size_t>(i)], i);
    }
  }
}

TEST(EventLoop, NeverRunsAPostedTaskInline) {
  const SystemClock clock;
  EventLoop loop(clock);
  loop.start();
  std::vector<int> order;
  std::promise<void> done;
  loop.post([&] {
    loop.post([&] {
      order.push_back(2);
      done.set_value();
    });
    order.push_back(1);
  });
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(EventLoop, FiresTimersInTheOrderOfTheirTimesAndForgetsCancelledOnes) {
  const SystemClock clock;
  EventLoop loop(clock);
  loop.start();
  std::vector<int> order;
  std::promise<void> done;
  MonoMs fired_at;
  MonoMs due;
  loop.post([&] {
    const MonoMs now = clock.mono();
    due = now.plus(3);
    (void)loop.schedule(due, [&] {
      fired_at = clock.mono();
      order.push_back(3);
      done.set_value();
    });
    (void)loop.schedule(now.plus(1), [&] { order.push_back(2); });
    const Executor::TimerId cancelled = loop.schedule(now.plus(2), [&] { order.push_back(99); });
    (void)loop.schedule(now.plus(-5), [&] { order.push_back(1); });
    loop.cancel(cancelled);
    loop.cancel(cancelled);
    loop.cancel(0);
  });
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_GE(fired_at, due);
}

TEST(EventLoop, ATimerMayCancelAnotherThatIsDueAtTheSameTime) {
  const SystemClock clock;
  EventLoop loop(clock);
  loop.start();
  bool second = false;
  std::promise<void> done;
  loop.post([&] {
    const MonoMs past = clock.mono();
    static Executor::TimerId other = 0;
    (void)loop.schedule(past, [&] { loop.cancel(other); });
    other = loop.schedule(past, [&] { second = true; });
    (void)loop.schedule(past.plus(1), [&] { done.set_value(); });
  });
  done.get_future().wait();
  EXPECT_FALSE(second);
}

TEST(EventLoop, StaysSmallUnderManyCancelledTimers) {
  const SystemClock clock;
  EventLoop loop(clock);
  loop.start();
  const auto held = std::make_shared<int>();
  std::size_t grown = 0;
  on(loop, [&] {
    const std::size_t before = allocated_bytes();
    for (int i = 0; i < 100'000; ++i) {
      loop.cancel(loop.schedule(clock.mono().plus(1'000'000), [held] {}));
    }
    grown = std::max(allocated_bytes(), before) - before;
  });
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_LT(grown, 100'000U);  // a byte for each, and no timer that small
}

TEST(EventLoop, StopRunsWhatWasPostedAndDropsTheRest) {
  const SystemClock clock;
  EventLoop loop(clock);
  loop.start();
  std::atomic<int> ran = 0;
  for (int i = 0; i < 100; ++i) {
    loop.post([&] { ++ran; });
  }
  loop.stop();
  loop.post([&] { ran = -1; });
  loop.join();
  EXPECT_EQ(ran, 100);
  EXPECT_TRUE(loop.here());  // what it owned can be taken down
  loop.cancel(7);
}

TEST(EventLoop, ACallWhileTheLoopStopsRunsItsWorkAfterTheEnd) {
  const SystemClock clock;
  EventLoop loop(clock);
  loop.start();
  std::promise<void> release;
  loop.post([&] { release.get_future().wait(); });
  loop.stop();
  bool ran = false;
  auto called = std::async(std::launch::async, [&] { loop.call([&] { ran = true; }); });
  // The thread cannot end before it is released.
  EXPECT_EQ(called.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  release.set_value();
  called.get();
  EXPECT_TRUE(ran);
}

TEST(StorageThreads, KeepTheOrderOfALaneAndNeverRunItTwiceAtOnce) {
  const SystemClock clock;
  EventLoop loop(clock);
  loop.start();
  constexpr int kLanes = 5;
  constexpr int kJobs = 400;
  std::vector<std::vector<int>> worked(kLanes);
  std::vector<std::vector<int>> done(kLanes);
  std::vector<std::atomic<int>> inside(kLanes);
  {
    StorageThreads threads(3);
    for (int i = 0; i < kJobs; ++i) {
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        threads.run(
            lane,
            [&, lane, i] {
              EXPECT_EQ(++inside[lane], 1);
              worked[lane].push_back(i);
              --inside[lane];
            },
            loop,
            [&, lane, i] {
              EXPECT_TRUE(loop.here());
              done[lane].push_back(i);
            });
      }
    }
  }
  on(loop, [] {});
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    ASSERT_EQ(worked[lane].size(), static_cast<std::size_t>(kJobs));
    EXPECT_TRUE(std::is_sorted(worked[lane].begin(), worked[lane].end()));
    EXPECT_EQ(done[lane], worked[lane]);
  }
}

TEST(StorageThreads, ALaneThatBlocksHoldsNoOther) {
  const SystemClock clock;
  EventLoop loop(clock);
  loop.start();
  StorageThreads threads(2);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::promise<void> other_done;
  threads.run(1, [released] { released.wait(); }, loop, [] {});
  threads.run(1, [] {}, loop, [] {});
  threads.run(2, [] {}, loop, [&] { other_done.set_value(); });
  other_done.get_future().wait();
  release.set_value();
}

}  // namespace
}  // namespace ackline::io::net

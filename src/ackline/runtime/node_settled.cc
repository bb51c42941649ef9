// What is in flight, and waiting for it before a drain's end.
#include <numeric>

#include "ackline/runtime/node.h"

namespace ackline::runtime {
namespace {

constexpr std::int64_t kSettlePollMs = 20;

}  // namespace

void Node::count_in_flight(Executor& home, std::move_only_function<void(std::uint64_t)> done) {
  gather<std::uint64_t>(
      *this, home,
      [](ShardUnit& unit, std::move_only_function<void(std::uint64_t)> answer) {
        std::uint64_t in_flight = 0;
        for (const delivery::ProgressKey& key : unit.shard->dispatcher().keys()) {
          if (const auto report = unit.shard->dispatcher().progress(key)) {
            in_flight += report->in_flight;
          }
        }
        answer(in_flight);
      },
      [done = std::move(done)](const std::vector<std::uint64_t>& parts) mutable {
        done(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}));
      });
}

void Node::when_settled(MonoMs until, Task done) {
  auto shared = std::make_shared<Task>(std::move(done));
  run_on(control_executor(), [this, until, shared] {
    count_in_flight(control_executor(), [this, until, shared](std::uint64_t in_flight) {
      const MonoMs now = control_executor().clock().mono();
      if (in_flight == 0 || now >= until) {
        (*shared)();
        return;
      }
      control_executor().schedule(now.plus(kSettlePollMs), [this, until, shared] {
        when_settled(until, [shared] { (*shared)(); });
      });
    });
  });
}

}  // namespace ackline::runtime

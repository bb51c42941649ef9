// Waiting for what is in flight, before a drain's end.
#include "ackline/runtime/node.h"

namespace ackline::runtime {
namespace {

constexpr std::int64_t kSettlePollMs = 20;

}  // namespace

void Node::when_settled(MonoMs until, Task done) {
  auto shared = std::make_shared<Task>(std::move(done));
  run_on(control_executor(), [this, until, shared] {
    gather<std::uint64_t>(
        *this, control_executor(),
        [](ShardUnit& unit, std::move_only_function<void(std::uint64_t)> answer) {
          std::uint64_t in_flight = 0;
          for (const delivery::ProgressKey& key : unit.shard->dispatcher().keys()) {
            if (const auto report = unit.shard->dispatcher().progress(key)) {
              in_flight += report->in_flight;
            }
          }
          answer(in_flight);
        },
        [this, until, shared](const std::vector<std::uint64_t>& parts) {
          std::uint64_t in_flight = 0;
          for (const std::uint64_t part : parts) in_flight += part;
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

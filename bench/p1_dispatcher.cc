// P1: deliver, lease and ack in one process on one thread, acks in random order within 1 000.
//
// Worlds take turns, so that whatever else the machine does meets all of them: bare; bare behind a
// hole (the first delivery stuck, a million settled above it); the same two with key order, credit
// in bytes and the data of explain. Options: --pairs N --events N (a round).
#include <fmt/format.h>

#include <array>
#include <memory>

#include "bench/support/dispatcher_world.h"
#include "bench/support/rounds.h"

namespace ackline::bench {
namespace {

constexpr std::uint64_t kSettledAbove = 1'000'000;

struct Lane {
  Lane(std::string name, bool keys, bool hole)
      : rounds{std::move(name), {}, {}},
        world(std::make_unique<World>(keys, kWindow, keys ? kWindow * 256 : kAnyBytes)),
        explained(keys) {
    if (hole) {
      world->settle_above_a_hole(kSettledAbove);
    } else {
      world->fill();
    }
  }
  // False: nothing came any more.
  bool run(std::uint64_t events) {
    return turns.run(*world, events, [this] {
      // Somebody looks at explain once a turn of the clock.
      if (explained) blockers += world->dispatcher.blocker(kKey, world->now).offset.value() >= 0;
    });
  }
  Rounds rounds;
  std::unique_ptr<World> world;
  bool explained;
  std::uint64_t blockers = 0;
  Turns turns;
};

int run(std::uint64_t pairs, std::uint64_t events) {
  std::array<Lane, 4> lanes{Lane("bare", false, false), Lane("bare behind a hole", false, true),
                            Lane("keys", true, false), Lane("keys behind a hole", true, true)};
  for (std::uint64_t pair = 0; pair <= pairs; ++pair) {
    for (Lane& lane : lanes) {
      const Stopwatch watch;
      if (!lane.run(events)) {
        fmt::print(stderr, "{}: no deliveries came any more\n", lane.rounds.name);
        return 1;
      }
      if (pair > 0) watch.add_to(lane.rounds, events);  // the first is the warm-up
    }
  }
  for (const Lane& lane : lanes) print(lane.rounds);
  return 0;
}

}  // namespace
}  // namespace ackline::bench

int main(int argc, char** argv) {
  using namespace ackline::bench;  // NOLINT
  return run(number_option(argc, argv, "--pairs", 15),
             number_option(argc, argv, "--events", 180'000));
}

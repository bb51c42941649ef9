// One cost curve in process: P1's bare workload at growing sizes of one thing, in turns. Options:
//   --of hole      events settled behind a delivery that is stuck
//   --of inflight  deliveries in flight
//   --points 1,10,100  --rounds N  --events N (a round)
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/support/dispatcher_world.h"
#include "bench/support/rounds.h"

namespace ackline::bench {
namespace {

struct Point {
  Point(const std::string& of, std::uint64_t size)
      : rounds{std::to_string(size), {}, {}},
        world(std::make_unique<World>(
            false, of == "inflight" ? static_cast<std::uint32_t>(size) : kWindow, kAnyBytes)) {
    if (of == "hole" && size > 0) {
      world->settle_above_a_hole(size);
    } else {
      world->fill();
    }
  }
  // False: nothing came any more.
  bool run(std::uint64_t events) { return turns.run(*world, events); }
  Rounds rounds;
  std::unique_ptr<World> world;
  Turns turns;
};

int run(const std::string& of, const std::string& points, std::uint64_t rounds,
        std::uint64_t events) {
  std::vector<Point> all;
  for (std::size_t at = 0; at < points.size();) {
    const std::size_t end = std::min(points.find(',', at), points.size());
    all.emplace_back(of, std::strtoull(points.c_str() + at, nullptr, 10));
    at = end + 1;
  }
  for (std::uint64_t round = 0; round <= rounds; ++round) {
    for (Point& point : all) {
      const Stopwatch watch;
      if (!point.run(events)) {
        fmt::print(stderr, "{} {}: no deliveries came any more\n", of, point.rounds.name);
        return 1;
      }
      if (round > 0) watch.add_to(point.rounds, events);  // the first is the warm-up
    }
  }
  for (const Point& point : all) print(point.rounds);
  return 0;
}

}  // namespace
}  // namespace ackline::bench

int main(int argc, char** argv) {
  using namespace ackline::bench;  // NOLINT
  return run(text_option(argc, argv, "--of", "hole"), text_option(argc, argv, "--points", "1"),
             number_option(argc, argv, "--rounds", 3),
             number_option(argc, argv, "--events", 200'000));
}

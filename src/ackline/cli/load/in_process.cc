#include "ackline/cli/load/in_process.h"

#include <time.h>

#include <memory>

#include "ackline/cli/load/dispatcher_world.h"
#include "ackline/cli/load/loop.h"

namespace ackline::cli::load {
namespace {

constexpr std::uint64_t kEventsATick = 4000;

double cpu_seconds() {
  timespec at{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) / 1e9;
}

std::uint64_t run(World& world, Random& random, std::uint64_t events) {
  std::uint64_t since_tick = 0;
  std::uint64_t done = 0;
  while (done < events) {
    const std::uint64_t acked = world.turn(random);
    done += acked;
    since_tick += acked;
    if (since_tick >= kEventsATick) {
      since_tick = 0;
      world.tick(world.now.plus(1));
    }
  }
  return done;
}

}  // namespace

InProcessRate deliver_and_ack(std::uint64_t events, bool keys) {
  const auto world =
      std::make_unique<World>(keys, kWindow, keys ? std::uint64_t{kWindow} * 256 : kAnyBytes);
  Random random(7);
  world->fill();
  run(*world, random, events / 10 + 1);
  const double wall = seconds_now();
  const double cpu = cpu_seconds();
  const std::uint64_t before = world->port.count_of(delivery::DeliveryEvent::kAcked);
  const std::uint64_t counted = run(*world, random, events);
  const auto done = static_cast<double>(counted);
  return {.per_second = done / (seconds_now() - wall),
          .cpu_us = (cpu_seconds() - cpu) * 1e6 / done,
          .counted = counted,
          .acked = world->port.count_of(delivery::DeliveryEvent::kAcked) - before};
}

}  // namespace ackline::cli::load

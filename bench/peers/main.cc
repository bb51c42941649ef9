// The load client of what Ackline is compared with: `peer nats|redis|rabbitmq|postgres --address
// HOST:PORT --name N [--size --batch --ack-max --window --unanswered]`. It connects once; then each
// line of its input, `EVENTS RATE` (rate 0: closed loop), is a round and gives one line of JSON.
#include <fmt/format.h>

#include <iostream>
#include <map>
#include <string>

#include "bench/load/arguments.h"
#include "bench/peers/targets.h"

int main(int argc, char** argv) {
  using namespace ackline;         // NOLINT
  using namespace ackline::bench;  // NOLINT
  const std::map<std::string, decltype(&nats_target), std::less<>> makers{
      {"nats", nats_target},
      {"redis", redis_target},
      {"rabbitmq", rabbitmq_target},
      {"postgres", postgres_target}};
  const auto maker = makers.find(argc > 1 ? argv[1] : "");
  if (maker == makers.end()) return give_up("peer nats|redis|rabbitmq|postgres --address ...");
  const Arguments arguments(argc, argv);
  PeerOptions options;
  options.address = arguments.text("--address");
  options.name = arguments.text("--name");
  options.size = arguments.number("--size", options.size);
  options.batch = arguments.number("--batch", options.batch);
  options.ack_max = arguments.number("--ack-max", options.ack_max);
  options.window = arguments.number("--window", options.window);
  cli::load::Loop loop;
  const auto target = maker->second(loop, options);
  cli::load::CyclePlan plan = arguments.plan();
  plan.batch = options.batch;
  while (!loop.failed() && std::cin >> plan.events >> plan.rate) {
    const auto report = run_cycle(loop, *target, plan);
    if (!report) return give_up(report.error().detail);
    print(*report);
  }
  return loop.failed() ? give_up(loop.error().detail) : 0;
}

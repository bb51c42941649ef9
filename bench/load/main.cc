// The load client of the benchmarks: `load VERB --address HOST:PORT ...`. One process, one thread,
// so that what it costs is not the server's. Prints one JSON object.
//
//   publish    --topic T --events N [--batch N] [--rate N] [--connections N] [--unanswered N]
//   cycle      the same and --clients A,B [--deliver stream|poll] [--poll-max N] [--ack-max N]:
//              [--nack-every N] [--poison-every N] [--attempts N] [--rounds N]
//              publishes and, at once, takes deliveries and acks them until all are acked; a line a
//              round
//   deliver    --clients A,B --events N ...: what is published already
//   hold       --clients A,B --events N (each): polls and never acks; --samples FILE takes every
//              --every th delivery, one line each
//   idle       --clients-named P --count N --deliver stream|poll: waits until its input ends
//   subscribe  --clients-named P --count N --body JSON (%s is the client; %g one of --groups N: g0,
//   g1 …)
#include <fmt/format.h>
#include <sys/resource.h>

#include <string>

#include "bench/load/arguments.h"
#include "bench/load/hold.h"

namespace ackline::bench {
namespace {

using cli::load::AcklineOptions;
using cli::load::AcklineTarget;
using cli::load::CyclePlan;
using cli::load::Loop;

// As many sockets as the system lets this process have.
void allow_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

int cycle(const Arguments& arguments, bool publishes, bool consumes) {
  CyclePlan plan = arguments.plan();
  plan.publishes = publishes;
  plan.consumes = consumes;
  AcklineOptions options = arguments.ackline();
  if (!publishes) options.connections = 0;
  if (consumes) options.clients = arguments.clients();
  if (consumes && options.clients.empty()) return give_up("--clients is missing");
  Loop loop;
  AcklineTarget target(loop, options);
  for (std::uint64_t round = 0; round < arguments.number("--rounds", 1); ++round) {
    const auto report = run_cycle(loop, target, plan);
    if (!report) return give_up(report.error().detail);
    print(*report);
  }
  return 0;
}

std::string with_name(std::string body, std::string_view mark, const std::string& name) {
  const std::size_t at = body.find(mark);
  return at == std::string::npos ? body : body.replace(at, mark.size(), name);
}

int subscribe(const Arguments& arguments) {
  const std::string address = arguments.text("--address");
  const std::string body = arguments.text("--body");
  const std::vector<std::string> clients = arguments.clients();
  const std::uint64_t groups = arguments.number("--groups", 1);
  const auto done =
      cli::load::pipeline(address, clients.size(), 200, [&](std::size_t i, std::string& out) {
        cli::load::append_post(
            out, address, "/events/subscribe",
            with_name(with_name(body, "%s", clients[i]), "%g", fmt::format("g{}", i % groups)));
      });
  if (!done) return give_up(done.error().detail);
  fmt::print("{{\"subscribed\":{}}}\n", clients.size());
  return 0;
}

}  // namespace
}  // namespace ackline::bench

int main(int argc, char** argv) {
  using namespace ackline::bench;  // NOLINT
  const std::string verb = argc > 1 ? argv[1] : "";
  const Arguments arguments(argc, argv);
  allow_descriptors();
  if (verb == "publish") return cycle(arguments, true, false);
  if (verb == "cycle") return cycle(arguments, true, true);
  if (verb == "deliver") return cycle(arguments, false, true);
  if (verb == "hold") return hold(arguments);
  if (verb == "idle") return idle(arguments);
  if (verb == "subscribe") return subscribe(arguments);
  return give_up("publish|cycle|deliver|hold|idle|subscribe --address HOST:PORT ...");
}

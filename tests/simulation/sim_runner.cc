// Runs seeds and says which promise broke; `--start S --seeds 1` runs one again.
//
//   sim_runner --seeds N --start S [--verbose] [--plant NAME] [--twice] [--no-floors]
//   sim_runner --list FILE     the seeds that FILE names first in a line
//
// The last line is `P passed, F failed`. With --plant (builds with ACKLINE_PLANTS) it stops at the
// first seed whose broken promise is the one that the planted bug breaks, and fails when none is.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/logging.h"
#include "ackline/base/plants.h"
#include "tests/simulation/simulation.h"

namespace ackline::sim {
namespace {

struct Arguments {
  std::uint64_t seeds = 100;
  std::uint64_t start = 1;
  bool verbose = false;
  bool twice = false;
  bool floors = true;
  std::string plant;
  std::string list;
};

struct Totals {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::vector<std::uint64_t> events;
  std::vector<std::uint64_t> seconds;
  std::uint64_t deliveries = 0;
  std::uint64_t checks = 0;
  std::uint64_t kills = 0;
  std::uint64_t power_cuts = 0;
  std::uint64_t stops = 0;
  std::uint64_t disk_faults = 0;
  std::uint64_t dead_letters = 0;
  std::uint64_t redriven = 0;
  std::uint64_t reopens = 0;
  std::uint64_t lanes = 0;
  std::uint64_t with_rows = 0;
  std::uint64_t moves = 0;
  std::uint64_t topic_deletions = 0;
  std::uint64_t virtual_ms = 0;
  std::uint64_t thin = 0;  // seeds below a floor

  void add(const SimulationResult& one) {
    events.push_back(one.events);
    seconds.push_back(static_cast<std::uint64_t>(one.virtual_ms / 1000));
    deliveries += one.deliveries;
    checks += one.checks;
    kills += one.kills;
    power_cuts += one.power_cuts;
    stops += one.stops;
    disk_faults += one.disk_faults;
    dead_letters += one.dead_letters;
    redriven += one.redriven;
    reopens += one.reopens;
    lanes += one.lanes;
    with_rows += one.rows ? 1 : 0;
    moves += one.moves;
    topic_deletions += one.topic_deletions;
    virtual_ms += static_cast<std::uint64_t>(one.virtual_ms);
    const bool enough = one.events >= 200 && one.groups >= 2 && one.virtual_ms >= 30'000 &&
                        one.kills + one.power_cuts >= 1 && one.disk_faults >= 1;
    if (!enough && !one.broken) ++thin;
  }
};

std::string spread(std::vector<std::uint64_t> values) {
  if (values.empty()) return "-";
  std::ranges::sort(values);
  std::uint64_t sum = 0;
  for (const std::uint64_t value : values) sum += value;
  return fmt::format("least {}, median {}, mean {}, most {}", values.front(),
                     values[values.size() / 2], sum / values.size(), values.back());
}

bool parse(int count, char** words, Arguments& out) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const bool more = i + 1 < count;
    if (word == "--verbose") {
      out.verbose = true;
    } else if (word == "--twice") {
      out.twice = true;
    } else if (word == "--no-floors") {
      out.floors = false;
    } else if (word == "--seeds" && more) {
      out.seeds = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--start" && more) {
      out.start = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--list" && more) {
      out.list = words[++i];
    } else if (word == "--plant" && more) {
      out.plant = words[++i];
    } else {
      return false;
    }
  }
  return out.seeds > 0;
}

// What the checker says when it names the bug: a planted bug is found by its rule, not by whatever
// else goes wrong after it.
struct PlantRule {
  std::string_view plant;
  std::vector<std::string_view> rules;
};
const std::vector<PlantRule>& plant_rules() {
  static const std::vector<PlantRule> kRules = {
      {"max-ack-frontier", {"(1)"}},
      {"settle-before-journal", {"(13)"}},
      {"no-attempt-on-expiry", {"(14)"}},
      {"settle-before-dlq", {"(9)"}},
      {"superseded-ack-accepted", {"a superseded id is stale (12)"}},
      {"fsync-error-ignored", {"(9)", "(10)", "(13)"}},
      {"cut-below-last-sync", {"(9)", "(10)", "(13)"}},
      {"redrive-moves-frontier", {"(1)"}},
      {"hole-lost-in-snapshot", {"(1)", "(9)"}},
      {"lag-from-cursor", {"lag is the distance", "the frontier never passes a hole"}},
      {"key-order-lost-on-retry", {"order is kept (19)"}},
      {"credit-leaked", {"the backlog drains"}},
      {"offset-reused", {"an offset is given once (10)"}},
      {"first-offer-id-reborn", {"a superseded id is stale (12)"}},
  };
  return kRules;
}

bool names_plant(const std::string& plant, const std::string& broken) {
  for (const PlantRule& one : plant_rules()) {
    if (one.plant != plant) continue;
    return std::ranges::any_of(
        one.rules, [&](std::string_view rule) { return broken.find(rule) != std::string::npos; });
  }
  return false;
}

bool set_plant(const std::string& name) {
#ifdef ACKLINE_PLANTS
  for (std::size_t i = 0; i < kPlantNames.size(); ++i) {
    if (kPlantNames[i] == name) {
      active_plant() = static_cast<Plant>(i);
      return true;
    }
  }
#else
  static_cast<void>(name);
#endif
  return false;
}

void print(const Totals& totals, double real_s) {
  const auto seeds = static_cast<double>(totals.events.size());
  fmt::print("{} seeds in {:.1f} s ({:.1f} seeds/s, {:.0f} times real time)\n",
             totals.events.size(), real_s, seeds / real_s,
             static_cast<double>(totals.virtual_ms) / 1000.0 / real_s);
  fmt::print("  accepted events: {}\n", spread(totals.events));
  fmt::print("  virtual seconds: {}\n", spread(totals.seconds));
  fmt::print(
      "  {} deliveries, {} checks, {} dead letters, {} offered by lanes, {} replays and resets, "
      "{} replays as lanes, {} topics deleted\n",
      totals.deliveries, totals.checks, totals.dead_letters, totals.redriven, totals.reopens,
      totals.lanes, totals.topic_deletions);
  fmt::print("  {} seeds with deliveries as rows, {} times moved\n", totals.with_rows,
             totals.moves);
  fmt::print(
      "  {} kills, {} power cuts, {} orderly stops, {} disk faults; {} seeds below a floor\n",
      totals.kills, totals.power_cuts, totals.stops, totals.disk_faults, totals.thin);
}

// The numbers with which lines begin.
std::vector<std::uint64_t> seeds_of(const Arguments& arguments) {
  std::vector<std::uint64_t> seeds;
  if (arguments.list.empty()) {
    for (std::uint64_t i = 0; i < arguments.seeds; ++i) seeds.push_back(arguments.start + i);
    return seeds;
  }
  std::ifstream file(arguments.list);
  for (std::string line; std::getline(file, line);) {
    if (const std::uint64_t seed = std::strtoull(line.c_str(), nullptr, 10); seed != 0) {
      seeds.push_back(seed);
    }
  }
  return seeds;
}

int run(const Arguments& arguments) {
  set_log_level(LogLevel::kError);
  if (arguments.verbose) set_log_level(LogLevel::kInfo);
  const auto from = std::chrono::steady_clock::now();
  Totals totals;
  std::uint64_t named = 0;
  for (const std::uint64_t seed : seeds_of(arguments)) {
    // Faults make log lines by the thousand: they are for whoever looks at one seed.
    const auto quiet = arguments.verbose ? nullptr : std::make_unique<LogCapture>();
    Simulation simulation({seed, arguments.verbose});
    SimulationResult result = simulation.run();
    if (arguments.twice && !result.broken) {
      Simulation again({seed, false});
      if (again.run().trace != result.trace) result.broken = "the seed did not repeat itself";
    }
    totals.add(result);
    if (result.broken) {
      ++totals.failed;
      fmt::print("seed {}: {}\n", seed, *result.broken);
      std::fflush(stdout);
      if (names_plant(arguments.plant, *result.broken)) {
        named = seed;
        break;
      }
    } else {
      ++totals.passed;
    }
  }
  const double real_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  print(totals, real_s);
  if (!arguments.plant.empty()) {
    const bool found = named != 0;
    fmt::print("planted bug {}: {} after {} seeds, {} of them broke another promise\n",
               arguments.plant, found ? "named" : "NOT NAMED", totals.events.size(),
               totals.failed - (found ? 1 : 0));
    fmt::print("{} passed, {} failed\n", found ? 1 : 0, found ? 0 : 1);
    return found ? 0 : 1;
  }
  if (totals.events.empty()) {
    fmt::print("no seeds\n");
    ++totals.failed;
  }
  if (arguments.floors && totals.thin > 0) {
    fmt::print("FLOOR: {} seeds have too little in them\n", totals.thin);
    ++totals.failed;
  }
  fmt::print("{} passed, {} failed\n", totals.passed, totals.failed);
  return totals.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ackline::sim

int main(int count, char** words) {
  ackline::sim::Arguments arguments;
  if (!ackline::sim::parse(count, words, arguments)) {
    fmt::print(stderr,
               "usage: sim_runner --seeds N --start S [--verbose] [--plant NAME] [--twice]\n");
    return 2;
  }
  if (!arguments.plant.empty() && !ackline::sim::set_plant(arguments.plant)) {
    fmt::print(stderr, "sim_runner: no plant {} in this build\n", arguments.plant);
    return 2;
  }
  return ackline::sim::run(arguments);
}

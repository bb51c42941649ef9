// Rounds of a benchmark program: what a program measured, printed as one line of JSON a row.
//
// Programs print what they saw, round by round and in the order in which they ran; medians, ratios
// and bounds are made in one place (bench/runner/stats.py).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ackline::bench {

struct Rounds {
  std::string name;
  std::vector<double> rates;   // events per second
  std::vector<double> cpu_us;  // CPU time of the process per event
};

// {"name":"bare","rates":[...],"cpu_us":[...]}
void print(const Rounds& rounds);

// Measures one round.
class Stopwatch {
 public:
  Stopwatch();
  void add_to(Rounds& rounds, std::uint64_t events) const;

 private:
  double wall_s_;
  double cpu_s_;
};

[[nodiscard]] double monotonic_seconds();

// `--name N` of the command line, else `otherwise`.
[[nodiscard]] std::uint64_t number_option(int argc, char** argv, std::string_view name,
                                          std::uint64_t otherwise);
[[nodiscard]] std::string text_option(int argc, char** argv, std::string_view name,
                                      std::string_view otherwise);

// q in [0, 1]; sorts `values`. 0 when there are none.
[[nodiscard]] double quantile(std::vector<double>& values, double q);

}  // namespace ackline::bench

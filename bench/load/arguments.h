// The command line of the load programs, and the one line of JSON that each prints. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/cli/load/ackline_target.h"
#include "ackline/cli/load/cycle.h"

namespace ackline::bench {

// `--name value` pairs behind the verb; what is left out has a default.
class Arguments {
 public:
  Arguments(int argc, char** argv) : argc_(argc), argv_(argv) {}
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise = "") const;
  // --clients a,b or --clients-named c --count 3 (c0, c1, c2); none is allowed.
  [[nodiscard]] std::vector<std::string> clients() const;
  // --events --batch --unanswered --rate --copies
  [[nodiscard]] cli::load::CyclePlan plan() const;
  // --address --topic --size --connections --deliver stream|poll --poll-max --ack-max --nack-every
  // --poison-every --attempts
  [[nodiscard]] cli::load::AcklineOptions ackline() const;

 private:
  int argc_;
  char** argv_;
};

// Prints why and gives the exit code.
int give_up(std::string_view why);
// {"events":…,"seconds":…,"rate":…,"repeated":…,"p50_us":…,…,"e2e_p50_us":…,…,"client_cpu_s":…}
void print(const cli::load::CycleReport& report);

}  // namespace ackline::bench

#include "ackline/cli/commands.h"

#include <iterator>

namespace ackline::cli {

std::vector<CommandSpec> all_commands() {
  std::vector<CommandSpec> all;
  for (auto* part : {serve_commands, demo_commands, topic_commands, group_commands,
                     publish_commands, consume_commands, settle_commands, progress_commands,
                     reopen_commands, query_commands, dead_letter_commands, lane_commands,
                     config_commands, doctor_commands, bench_commands, completion_commands}) {
    std::vector<CommandSpec> commands = part();
    std::move(commands.begin(), commands.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace ackline::cli

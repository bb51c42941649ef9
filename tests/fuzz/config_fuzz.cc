// The configuration's readers. Law: what was loaded, said again by -D, is the same configuration;
// every problem has a sentence.
#include <cstdint>
#include <string>

#include "ackline/base/config.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using ackline::ConfigReport;
using ackline::ConfigSources;
using ackline::fuzz::Input;
using ackline::fuzz::law;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1024) return -1;  // longer files say nothing new and cost milliseconds
  Input input(data, size);
  ConfigSources sources;
  sources.file_path = input.byte() % 4 == 0 ? "a.properties" : "a.yaml";
  sources.file_text = std::string(input.rest());
  const ConfigReport first = ackline::load_config(sources);
  for (const auto& problem : first.problems) {
    law(!problem.detail.empty(), "a problem has a sentence");
  }
  ConfigSources flags;
  for (const auto& entry : first.config.entries()) {
    if (entry.origin == "default") continue;
    flags.definitions.push_back(std::string(entry.key->name) + "=" + entry.text);
  }
  ackline::fuzz::planted(flags.definitions.size() == 1 && first.problems.size() == 2);
  const ConfigReport second = ackline::load_config(flags);
  law(second.problems.empty(), "what was loaded can be loaded again");
  for (std::size_t i = 0; i < first.config.entries().size(); ++i) {
    const auto& a = first.config.entries()[i];
    const auto& b = second.config.entries()[i];
    law(a.value.number == b.value.number && a.value.boolean == b.value.boolean &&
            a.value.text == b.value.text && a.value.items == b.value.items &&
            a.value.none == b.value.none,
        "the values are the same");
  }
  return 0;
}

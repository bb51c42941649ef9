#include "ackline/cli/config_sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/io/fs/posix_file_system.h"

namespace ackline::cli {

std::vector<OptionSpec> config_options() {
  return {{.names = "--config,-c", .help = "Configuration file (.yaml or .properties)"},
          {.names = "--define,-D",
           .kind = OptionKind::kList,
           .help = "A key and its value, e.g. -D http.port=0; may be repeated"}};
}

Result<ConfigSources> config_sources(const Args& args) {
  ConfigSources sources;
  sources.definitions = args.all("define");
  // Names of the command line itself, which are no configuration keys.
  for (std::string& one : process_environment()) {
    const std::string_view name = std::string_view(one).substr(0, one.find('='));
    if (name == "ACKLINE_SERVER" || name == "ACKLINE_ADMIN_URL" || name == "ACKLINE_TOKEN" ||
        name == "ACKLINE_FAILPOINTS") {
      continue;
    }
    sources.environment.push_back(std::move(one));
  }
  const std::string path = args.text("config");
  if (path.empty()) return sources;
  io::PosixFileSystem fs;
  auto text = io::read_file(fs, path);
  if (!text) {
    Error error = text.error();
    error.remedy = "Name a file that is there, or write one with `ackline config init`.";
    return std::unexpected(std::move(error));
  }
  sources.file_path = path;
  sources.file_text = std::move(*text);
  return sources;
}

}  // namespace ackline::cli

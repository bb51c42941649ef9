// `ackline doctor`: configuration, environment and the data of a stopped server.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/config_sources.h"
#include "ackline/cli/data_examination.h"
#include "ackline/io/fs/posix_file_system.h"

namespace ackline::cli {
namespace {

constexpr rlim_t kDescriptorsLow = 4096;

void examine_config(const ConfigReport& report, std::vector<Finding>& findings) {
  for (const Error& problem : report.problems) {
    findings.push_back({FindingLevel::kProblem, problem.field, problem.detail, problem.remedy});
  }
  for (const std::string& note : report.config.notes()) {
    findings.push_back({FindingLevel::kNote, "configuration", note, {}});
  }
}

void examine_machine(io::FileSystem& fs, const Config& config, const std::string& data,
                     std::vector<Finding>& findings) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < kDescriptorsLow) {
    findings.push_back({FindingLevel::kProblem, "open files",
                        fmt::format("at most {} files may be open", limit.rlim_max),
                        "Raise the hard limit (ulimit -Hn) to 65536 for many clients."});
  }
  struct stat status{};
  if (::stat(data.c_str(), &status) != 0) return;
  if ((status.st_mode & 0077U) != 0) {
    findings.push_back({FindingLevel::kProblem, data,
                        fmt::format("its mode is {:o}: others may read events and the admin token",
                                    status.st_mode & 0777U),
                        "chmod 700 it."});
  }
  const auto free = fs.free_bytes(data);
  const auto reserve = static_cast<std::uint64_t>(config.size_bytes("disk.reserve"));
  if (!free) {
    findings.push_back({FindingLevel::kProblem, data, free.error().detail, free.error().remedy});
  } else if (*free < reserve) {
    findings.push_back(
        {FindingLevel::kProblem, data,
         fmt::format("{} MiB are free, less than disk.reserve: publish is refused", *free >> 20U),
         "Free disk space, set a retention, or lower disk.reserve."});
  }
}

void print(Context& context, const std::vector<Finding>& findings, FindingLevel worst) {
  if (context.json) {
    std::string items;
    for (const Finding& finding : findings) {
      if (!items.empty()) items += ",";
      items += JsonObject()
                   .text("level", finding_level_name(finding.level))
                   .text("where", finding.where)
                   .text("what", finding.what)
                   .text("remedy", finding.remedy)
                   .str();
    }
    context.console.out_line(JsonObject()
                                 .text("worst", finding_level_name(worst))
                                 .raw("findings", "[" + items + "]")
                                 .str());
    return;
  }
  for (const Finding& finding : findings) {
    const std::string word = fmt::format("{:8}", finding_level_name(finding.level));
    Colour colour = Colour::kGreen;
    if (finding.level == FindingLevel::kNote) colour = Colour::kYellow;
    if (finding.level > FindingLevel::kNote) colour = Colour::kRed;
    context.console.out_line(
        fmt::format("{}{}: {}", context.console.paint(colour, word), finding.where, finding.what));
    if (!finding.remedy.empty()) context.console.out_line("        → " + finding.remedy);
  }
}

Result<ExitCode> doctor(Context& context) {
  auto sources = config_sources(context.args);
  if (!sources) return fail(sources);
  const ConfigReport report = load_config(*sources);
  io::PosixFileSystem fs;
  // --data, or what the configuration says.
  const std::string& configured = report.config.string("data.path");
  const bool named = context.api.options().data_path != ApiOptions{}.data_path;
  const std::string data = named ? context.api.options().data_path : configured;
  std::vector<Finding> findings;
  examine_config(report, findings);
  examine_machine(fs, report.config, data, findings);
  Examination examination = examine_data_directory(fs, data);
  findings.insert(findings.end(), std::make_move_iterator(examination.findings.begin()),
                  std::make_move_iterator(examination.findings.end()));
  examination.findings = findings;
  const FindingLevel worst = examination.worst();
  print(context, findings, worst);
  if (!context.json) {
    std::string_view verdict =
        examination.in_use ? "in use: its files were not examined" : "healthy";
    if (worst >= FindingLevel::kProblem) verdict = "not healthy";
    context.console.out_line(verdict);
  }
  if (worst >= FindingLevel::kProblem) return ExitCode::kFailed;
  return examination.in_use ? ExitCode::kUnavailable : ExitCode::kOk;
}

}  // namespace

std::vector<CommandSpec> doctor_commands() {
  return {{.path = "doctor",
           .help = "Examine configuration, machine and a stopped server's data",
           .examples = "ackline doctor --data /var/lib/ackline\n"
                       "  ackline doctor -c ackline.yaml --output json",
           .options = config_options(),
           .run = doctor}};
}

}  // namespace ackline::cli

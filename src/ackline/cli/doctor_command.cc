// `ackline doctor`: configuration, environment and the data of a stopped server.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

#include "ackline/base/counted.h"
#include "ackline/cli/answers.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/config_sources.h"
#include "ackline/cli/data_examination.h"
#include "ackline/cli/data_repair.h"
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

std::string plan_json(const RepairPlan& plan, const std::string& backup, bool done) {
  std::string steps;
  for (const RepairStep& step : plan.steps()) {
    if (!steps.empty()) steps += ",";
    steps += JsonObject()
                 .text("where", step.where)
                 .text("what", step.what)
                 .integer("lost", step.lost)
                 .texts("backedUp", step.of)
                 .str();
  }
  std::string without;
  for (const NoRepair& one : plan.without()) {
    if (!without.empty()) without += ",";
    without += JsonObject().text("where", one.where).text("why", one.why).str();
  }
  return JsonObject()
      .boolean("done", done)
      .text("backup", backup)
      .raw("steps", "[" + steps + "]")
      .raw("without", "[" + without + "]")
      .str();
}

void print_plan(Console& console, const RepairPlan& plan, const std::string& backup) {
  for (const RepairStep& step : plan.steps()) {
    console.out_line(
        fmt::format("{}{}: {}", console.paint(Colour::kYellow, "repair  "), step.where, step.what));
    for (const std::string& one : step.of) console.out_line("        copied first: " + one);
  }
  for (const NoRepair& one : plan.without()) {
    console.out_line(
        fmt::format("{}{}: {}", console.paint(Colour::kRed, "none    "), one.where, one.why));
  }
  if (!plan.steps().empty()) console.out_line("backup of what changes: " + backup);
}

Result<ExitCode> repair(Context& context, io::FileSystem& fs, const std::string& data) {
  auto plan = RepairPlan::make(fs, data);
  if (!plan) return fail(plan);
  std::string backup = context.args.text("backup");
  if (backup.empty()) {
    auto free = plan->default_backup();
    if (!free) return fail(free);
    backup = std::move(*free);
  }
  const ExitCode rest = plan->without().empty() ? ExitCode::kOk : ExitCode::kFailed;
  Console& console = context.console;
  if (!context.json) print_plan(console, *plan, backup);
  const bool dry_run = context.args.flag("dry-run");
  if (dry_run || plan->steps().empty()) {
    if (context.json) {
      console.out_line(plan_json(*plan, backup, false));
    } else {
      console.out_line(dry_run ? "dry run: nothing was changed" : "there is nothing to repair");
    }
    return rest;
  }
  if (!confirmed(context, fmt::format("Repair {} like this?", data))) return ExitCode::kUsage;
  if (auto done = plan->apply(backup); !done) return fail(done);
  if (context.json) {
    console.out_line(plan_json(*plan, backup, true));
  } else {
    console.out_line("done. Run `ackline doctor` once more, then start the server.");
  }
  return rest;
}

std::string verdict_of(const Examination& all) {
  if (all.worst() >= FindingLevel::kProblem) return "not healthy";
  if (all.in_use) return "in use: its files were not examined";
  const auto notes = std::ranges::count(all.findings, FindingLevel::kNote, &Finding::level);
  if (notes == 0) return "healthy";
  return fmt::format("healthy, with {} to read",
                     counted(static_cast<std::uint64_t>(notes), "note"));
}

Result<ExitCode> doctor(Context& context) {
  auto sources = config_sources(context.args);
  if (!sources) return fail(sources);
  const ConfigReport report = load_config(*sources);
  io::PosixFileSystem fs;
  // --data, or what the configuration says.
  const std::string& configured = report.config.string("data.path");
  const ApiOptions& api = context.api.options();
  const std::string data = api.data_named ? api.data_path : configured;
  if (context.args.flag("repair")) return repair(context, fs, data);
  if (context.args.flag("dry-run") || context.args.has("backup")) {
    return usage(context, "--backup and --dry-run are for --repair");
  }
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
    context.console.out_line(verdict_of(examination));
  }
  if (worst >= FindingLevel::kProblem) return ExitCode::kFailed;
  return examination.in_use ? ExitCode::kUnavailable : ExitCode::kOk;
}

}  // namespace

std::vector<CommandSpec> doctor_commands() {
  std::vector<OptionSpec> options = config_options();
  options.push_back({.names = "--repair",
                     .kind = OptionKind::kFlag,
                     .help = "Mend what can be mended, after saying what it will do"});
  options.push_back({.names = "--backup",
                     .help = "Where copies of what changes go; default: a new one in the data "
                             "directory"});
  options.push_back(
      {.names = "--dry-run", .kind = OptionKind::kFlag, .help = "Say what a repair would do"});
  options.push_back(confirm_option());
  return {{.path = "doctor",
           .help = "Examine configuration, machine and a stopped server's data; repair on request",
           .examples = "ackline doctor --data /var/lib/ackline\n"
                       "  ackline doctor -c ackline.yaml --output json\n"
                       "  ackline doctor --data /var/lib/ackline --repair --dry-run",
           .options = std::move(options),
           .run = doctor}};
}

}  // namespace ackline::cli

// `ackline serve`: the runtime in this process, until a signal.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "ackline/base/logging.h"
#include "ackline/cli/commands.h"
#include "ackline/cli/config_sources.h"
#include "ackline/cli/stop_signals.h"
#include "ackline/io/failpoint.h"
#include "ackline/io/fs/posix_file_system.h"
#include "ackline/runtime/runtime.h"

namespace ackline::cli {
namespace {

// What the stop itself may take once nobody is waited for any more.
constexpr std::int64_t kStopReserveMs = 5'000;

// Sockets and segments are many; the soft limit is what a login shell happened to have.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    log_warn("the limit of open files stays as it is", {{"soft", limit.rlim_cur}});
  }
}

LogLevel level_of(std::string_view word) {
  if (word == "debug") return LogLevel::kDebug;
  if (word == "warn") return LogLevel::kWarn;
  return word == "error" ? LogLevel::kError : LogLevel::kInfo;
}

std::string ready_text(const runtime::RuntimeAddresses& addresses) {
  return JsonObject()
             .text("http", addresses.http)
             .text("admin", addresses.admin)
             .raw("tcp", "null")
             .integer("pid", getpid())
             .str() +
         "\n";
}

// What a person at the terminal wants to know first.
std::string banner(const Config& config, const runtime::RuntimeAddresses& addresses) {
  const std::string& data = config.string("data.path");
  std::string out = fmt::format("ackline {} serves\n", runtime::version());
  out += fmt::format("  traffic  http://{}\n", addresses.http);
  out += fmt::format("  admin    http://{}\n", addresses.admin);
  out += fmt::format("  data     {}\n", data);
  out += config.string("admin.security.token").empty()
             ? fmt::format("  token    {}/admin.token\n", data)
             : "  token    as configured\n";
  out += config.boolean("security.allowAnonymous")
             ? "no security configured: whoever reaches these addresses may publish and read\n"
             : "no security configured: listening on loopback only\n";
  return out;
}

// For tests that end the process at a chosen step.
Result<void> arm_from_environment() {
  constexpr std::string_view kVariable = "ACKLINE_FAILPOINTS=";
  for (const std::string& entry : process_environment()) {
    if (!entry.starts_with(kVariable)) continue;
    const std::string text = entry.substr(kVariable.size());
    log_warn("failpoints are armed: this process will end in the middle of its work",
             {{"failpoints", text}});
    return io::arm_failpoints(text);
  }
  return {};
}

void drain(runtime::Runtime& runtime, const Config& config, int signal) {
  const std::int64_t timeout_ms = config.duration_ms("drain.timeout");
  log_info("draining", {{"signal", signal}, {"timeoutMs", timeout_ms}});
  runtime.stop(timeout_ms > 2 * kStopReserveMs ? timeout_ms - kStopReserveMs : timeout_ms);
  log_info("stopped");
}

Result<ExitCode> run_server(Context& context) {
  auto sources = config_sources(context.args);
  if (!sources) return fail(sources);
  // --data is every command's; to a server it says where to keep it all.
  const ApiOptions& api = context.api.options();
  if (api.data_named) sources->definitions.push_back("data.path=" + api.data_path);
  auto config = Config::load(*sources);
  if (!config) return fail(config);
  const std::string ready_file = context.args.text("ready-file");
  io::PosixFileSystem fs;
  if (!ready_file.empty()) {
    // One of a former process must not be taken for ours.
    if (auto done = fs.remove(ready_file); !done && done.error().code != ErrorCode::kNotFound) {
      return fail(done);
    }
  }
  StopSignals signals;
  raise_descriptor_limit();
  set_log_level(level_of(config->string("log.level")));
  for (const std::string& note : config->notes()) log_warn(note);
  if (auto done = arm_from_environment(); !done) return fail(done);
  log_info("delivery", {{"topology", config->string("delivery.topology")}});
  auto started = runtime::Runtime::start(*config);
  if (!started) return fail(started);
  runtime::Runtime& runtime = **started;
  const runtime::RuntimeAddresses& addresses = runtime.addresses();
  log_info("serving", {{"http", addresses.http}, {"admin", addresses.admin}, {"pid", getpid()}});
  if (!ready_file.empty()) {
    if (auto done = io::write_file_atomic(fs, ready_file, ready_text(addresses)); !done) {
      runtime.stop(0);
      return fail(done);
    }
  }
  context.console.out(context.json ? ready_text(addresses) : banner(*config, addresses));
  drain(runtime, *config, signals.wait());
  return ExitCode::kOk;
}

// Whatever keeps the server from starting is a failure here, a port that is taken included: code 3
// is for those who cannot reach a server.
Result<ExitCode> serve(Context& context) {
  auto done = run_server(context);
  if (done) return done;
  context.console.err_line("ackline: " + error_line(done.error()));
  return ExitCode::kFailed;
}

}  // namespace

std::vector<CommandSpec> serve_commands() {
  std::vector<OptionSpec> options = config_options();
  options.push_back(
      {.names = "--ready-file", .help = "Written with the addresses and the pid once it serves"});
  return {{.path = "serve",
           .help = "Run the server until SIGTERM or SIGINT",
           .examples = "ackline serve\n"
                       "  ackline serve -c conf/ackline.yaml -D data.path=/var/lib/ackline\n"
                       "  ackline serve -D http.port=0 -D admin.port=0 --ready-file ready.json",
           .options = std::move(options),
           .run = serve}};
}

}  // namespace ackline::cli

// What a subcommand is: a row of data that says its path, options and examples, and the function
// that does its job.
//
// The parser (command_line.h), `--help`, the shell completion and the tests are all made from these
// rows. Plain data; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/cli/api_client.h"
#include "ackline/cli/console.h"

namespace ackline::cli {

// The contract with scripts.
enum class ExitCode : int { kOk = 0, kFailed = 1, kUsage = 2, kUnavailable = 3 };

enum class OptionKind : std::uint8_t { kFlag, kText, kInteger, kList };

struct OptionSpec {
  std::string_view names;  // "--topic,-t"; without a dash it is a positional
  OptionKind kind = OptionKind::kText;
  std::string_view help = {};
  std::string_view fallback = {};  // shown in help and used when it is left out
  bool required = false;
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
  std::vector<std::string_view> allowed = {};  // of kText
};

// The values of one call, by the option's last long name (or the positional's name) without dashes.
class Args {
 public:
  using Values = std::map<std::string, std::vector<std::string>, std::less<>>;
  Args() = default;
  explicit Args(Values values) : values_(std::move(values)) {}

  // Named on the command line, or has a default.
  [[nodiscard]] bool has(std::string_view name) const { return values_.contains(name); }
  [[nodiscard]] bool flag(std::string_view name) const { return has(name); }
  // "" when it is not there.
  [[nodiscard]] std::string text(std::string_view name) const;
  // Checked by the parser; 0 when it is not there.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  // Every value as it was given.
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
  // A list may be given as `a,b` or by repeating the option.
  [[nodiscard]] std::vector<std::string> list(std::string_view name) const;

 private:
  Values values_;
};

struct Context {
  const Args& args;
  Console& console;
  ApiClient& api;
  bool json = false;  // --output json
};

struct CommandSpec {
  std::string_view path;  // "dlq list"
  std::string_view help;
  std::string_view examples;  // one a line
  std::vector<OptionSpec> options;
  // An error is printed by the caller, which also picks the exit code (exit_code_of).
  Result<ExitCode> (*run)(Context&) = nullptr;
};

// kUnavailable for a server that cannot be reached or refuses for now, else kFailed.
[[nodiscard]] ExitCode exit_code_of(const Error& error);
// "topic_unknown: there is no topic orders. Create it first."
[[nodiscard]] std::string error_line(const Error& error);
// For what only a command can see to be wrong in its arguments: prints it and gives kUsage.
ExitCode usage(Context& context, std::string_view problem);

}  // namespace ackline::cli

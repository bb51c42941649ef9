#include "ackline/cli/command.h"

#include <algorithm>
#include <charconv>

namespace ackline::cli {

std::string Args::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? std::string() : found->second.back();
}

std::int64_t Args::integer(std::string_view name) const {
  const std::string digits = text(name);
  std::int64_t value = 0;
  static_cast<void>(std::from_chars(digits.data(), digits.data() + digits.size(), value));
  return value;
}

std::vector<std::string> Args::all(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::vector<std::string> Args::list(std::string_view name) const {
  std::vector<std::string> items;
  const auto found = values_.find(name);
  if (found == values_.end()) return items;
  for (const std::string& value : found->second) {
    std::size_t from = 0;
    while (from <= value.size()) {
      const std::size_t comma = std::min(value.find(',', from), value.size());
      if (comma > from) items.push_back(value.substr(from, comma - from));
      from = comma + 1;
    }
  }
  return items;
}

ExitCode exit_code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kStarting:
    case ErrorCode::kDraining:
    case ErrorCode::kAmbiguous:
    case ErrorCode::kOwnerElsewhere:
      return ExitCode::kUnavailable;
    default:
      return ExitCode::kFailed;
  }
}

std::string error_line(const Error& error) {
  std::string line(error.word());
  line += ": " + error.detail;
  if (error.remedy.empty()) return line;
  if (!line.ends_with('.')) line += '.';
  return line + " " + error.remedy;
}

ExitCode usage(Context& context, std::string_view problem) {
  context.console.err_line(problem);
  context.console.err_line("See --help.");
  return ExitCode::kUsage;
}

}  // namespace ackline::cli

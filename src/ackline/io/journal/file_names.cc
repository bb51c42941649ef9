#include "ackline/io/journal/file_names.h"

#include <fmt/core.h>

#include <charconv>

namespace ackline::io::journal {
namespace {

constexpr std::string_view kPrefix = "journal-";

}  // namespace

std::string file_name(std::uint64_t number) {
  return fmt::format("{}{:08}", kPrefix, number);
}

std::optional<std::uint64_t> file_number(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failure != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace ackline::io::journal

#include "ackline/runtime/data_parts.h"

#include <fmt/format.h>

#include <charconv>

#include "ackline/state/data_directory.h"

namespace ackline::runtime {
namespace {

Result<std::vector<std::string>> names_in(io::FileSystem& fs, const std::string& directory) {
  auto names = fs.list(directory);
  if (!names && names.error().code == ErrorCode::kNotFound) return std::vector<std::string>();
  return names;
}

std::optional<std::uint32_t> number_of(std::string_view name) {
  std::uint32_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (read.ec != std::errc() || read.ptr != name.data() + name.size()) return std::nullopt;
  return number;
}

bool is_shard(std::string_view name) {
  const auto dash = name.find('-');
  return dash != std::string_view::npos && number_of(name.substr(0, dash)) &&
         number_of(name.substr(dash + 1));
}

Error corrupt(std::string detail, std::string_view remedy) {
  return {ErrorCode::kCorrupt, std::move(detail), std::string(remedy), {}};
}

}  // namespace

Result<std::vector<MissingPart>> missing_parts(io::FileSystem& fs, const std::string& data_path,
                                               const KnownParts& known) {
  const std::string meta = io::join(data_path, state::kMetaName);
  const std::string log = io::join(data_path, state::kLogName);
  const std::string journal = io::join(data_path, state::kJournalName);
  const auto partitions = names_in(fs, log);
  if (!partitions) return fail(partitions);
  const auto shards = names_in(fs, journal);
  if (!shards) return fail(shards);
  std::vector<MissingPart> missing;
  for (const std::string& name : *partitions) {
    const auto number = number_of(name);
    if (!number || *number < known.next_partition) continue;
    missing.push_back({meta, corrupt(fmt::format("{} holds a partition that {} does not know: meta "
                                                 "is older than the log, or lost records",
                                                 io::join(log, name), meta),
                                     state::kMetaRemedy)});
  }
  for (const std::string& name : *shards) {
    if (known.shards || !is_shard(name)) continue;
    missing.push_back(
        {meta, corrupt(fmt::format("{} is there, but {} knows of no start: it lost its records",
                                   io::join(journal, name), meta),
                       state::kMetaRemedy)});
  }
  for (std::uint32_t i = 0; known.topics && i < known.shards.value_or(0); ++i) {
    const std::string path = io::join(journal, fmt::format("{}-{}", *known.shards, i));
    const auto there = fs.exists(path);
    if (!there) return fail(there);
    if (*there) continue;
    missing.push_back(
        {path,
         corrupt(fmt::format("{} is missing: the progress and the newest events of that shard were "
                             "in it",
                             path),
                 "Put it back, or restore the whole data directory from a backup: they are nowhere "
                 "else.")});
  }
  return missing;
}

}  // namespace ackline::runtime

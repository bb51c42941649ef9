#include "ackline/cli/data_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ackline/base/random.h"

namespace ackline::cli {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20U;

Result<void> copy_file(io::FileSystem& fs, const std::string& from, const std::string& to) {
  auto in = fs.open(from, io::OpenMode::kRead);
  if (!in) return fail(in);
  auto out = fs.open(to, io::OpenMode::kCreateNew);
  if (!out) return fail(out);
  std::string block(kCopyBytes, '\0');
  for (std::uint64_t at = 0;;) {
    const std::span<char> chars(block);
    const auto got = (*in)->read(at, std::as_writable_bytes(chars));
    if (!got) return fail(got);
    if (*got == 0) break;
    if (auto done = (*out)->write(at, as_bytes(std::string_view(block).substr(0, *got))); !done) {
      return done;
    }
    at += *got;
  }
  return (*out)->sync();
}

// A file, or a directory with all below it.
Result<void> copy_tree(io::FileSystem& fs, const std::string& from, const std::string& to) {
  const auto names = fs.list(from);
  if (!names) return copy_file(fs, from, to);
  if (auto made = fs.make_directories(to); !made) return made;
  for (const std::string& name : *names) {
    if (auto done = copy_tree(fs, io::join(from, name), io::join(to, name)); !done) return done;
  }
  return fs.sync_directory(to);
}

}  // namespace

Result<std::string> RepairPlan::default_backup() const {
  for (int number = 1;; ++number) {
    std::string path = io::join(path_, fmt::format("repair-{}", number));
    const auto there = fs_->exists(path);
    if (!there) return fail(there);
    if (!*there) return path;
  }
}

Result<void> RepairPlan::apply(const std::string& backup) {
  if (const auto names = fs_->list(backup); names && !names->empty()) {
    return fail(ErrorCode::kAlreadyExists, fmt::format("{} is not empty", backup),
                "Name a directory that is not there yet.");
  }
  if (auto made = fs_->make_directories(backup); !made) return made;
  std::string list;
  for (const RepairStep& step : steps_) {
    list += fmt::format("{}: {}\n", step.where, step.what);
    for (const std::string& one : step.of) {
      // Its path below the data directory, with the slashes flattened: no two are the same.
      std::string name = one.starts_with(path_ + "/") ? one.substr(path_.size() + 1) : one;
      std::ranges::replace(name, '/', '~');
      list += fmt::format("  {} -> {}\n", one, name);
      if (auto done = copy_tree(*fs_, one, io::join(backup, name)); !done) return done;
    }
    // Told before it is done: a backup of a repair that failed says how far it meant to go.
    if (auto done = io::write_file_atomic(*fs_, io::join(backup, "repair.txt"), list); !done) {
      return done;
    }
    if (auto done = fs_->sync_directory(backup); !done) return done;
    if (!step.change) continue;
    if (auto done = step.change(); !done) return done;
  }
  return {};
}

}  // namespace ackline::cli

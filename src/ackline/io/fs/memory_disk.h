// The state behind MemoryFileSystem: directories with two images each, locks, faults and counters.
//
// Internal to io/fs. Everything but `ask` is called with `mutex` held.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ackline/io/fs/memory_file_system.h"
#include "ackline/io/fs/memory_image.h"

namespace ackline::io {

using MemoryNode = std::shared_ptr<MemoryFile>;

// A change of a directory that is not on disk yet. A rename is one change: both names or neither.
struct MemoryEntryChange {
  std::string erased;  // a name that goes, or ""
  std::string set;     // a name that comes, or ""
  MemoryNode node;
};

struct MemoryDirectory {
  std::map<std::string, MemoryNode> cached;
  std::map<std::string, MemoryNode> disk;
  std::vector<MemoryEntryChange> pending;

  void change(MemoryEntryChange change) {
    apply(cached, change);
    pending.push_back(std::move(change));
  }
  static void apply(std::map<std::string, MemoryNode>& entries, const MemoryEntryChange& change) {
    if (!change.erased.empty()) entries.erase(change.erased);
    if (!change.set.empty()) entries[change.set] = change.node;
  }
  void sync() {
    for (const MemoryEntryChange& change : pending) apply(disk, change);
    pending.clear();
  }
  void power_cut(Random& random) {
    for (const MemoryEntryChange& change : pending) {
      if (random.chance(1, 2)) apply(disk, change);
    }
    pending.clear();
    cached = disk;
  }
};

// Directory and name.
[[nodiscard]] std::pair<std::string, std::string> split_path(const std::string& path);

struct MemoryDisk {
  mutable std::mutex mutex;
  std::map<std::string, MemoryDirectory> directories;
  std::set<std::string> locks;
  std::uint64_t capacity = UINT64_MAX;
  std::uint64_t life = 1;  // raised by kill: handles of an older life are dead
  FsStats stats;
  FsFaultHook hook;

  std::optional<FsFault> ask(FsOperation operation, const std::string& path) {
    FsFaultHook ask_hook;
    {
      const std::lock_guard guard(mutex);
      ask_hook = hook;
    }
    if (!ask_hook) return std::nullopt;
    auto fault = ask_hook(operation, path);
    if (fault) {
      const std::lock_guard guard(mutex);
      ++stats.faults;
    }
    return fault;
  }

  [[nodiscard]] MemoryNode find(const std::string& path) const {
    const auto [parent, name] = split_path(path);
    const auto directory = directories.find(parent);
    if (directory == directories.end()) return nullptr;
    const auto entry = directory->second.cached.find(name);
    return entry == directory->second.cached.end() ? nullptr : entry->second;
  }

  [[nodiscard]] std::set<MemoryNode> nodes() const {
    std::set<MemoryNode> all;
    for (const auto& [path, directory] : directories) {
      for (const auto& [name, node] : directory.cached) all.insert(node);
      for (const auto& [name, node] : directory.disk) all.insert(node);
    }
    return all;
  }

  // The same order on every run: by path, not by address.
  [[nodiscard]] std::vector<MemoryNode> nodes_in_order() const {
    std::vector<MemoryNode> all;
    std::set<MemoryNode> seen;
    for (const auto& [path, directory] : directories) {
      for (const auto& [name, node] : directory.cached) {
        if (seen.insert(node).second) all.push_back(node);
      }
      for (const auto& [name, node] : directory.disk) {
        if (seen.insert(node).second) all.push_back(node);
      }
      for (const MemoryEntryChange& change : directory.pending) {
        if (change.node && seen.insert(change.node).second) all.push_back(change.node);
      }
    }
    return all;
  }

  [[nodiscard]] std::uint64_t used() const {
    std::uint64_t total = 0;
    for (const MemoryNode& node : nodes()) total += node->cached.size();
    return total;
  }

  Result<void> reserve(const std::string& path, std::uint64_t now, std::uint64_t wanted) const {
    if (wanted <= now || capacity == UINT64_MAX) return {};
    if (used() + (wanted - now) <= capacity) return {};
    return fail(ErrorCode::kFull, path + ": no space left",
                "Free space on the file system that holds the data directory.");
  }
};

}  // namespace ackline::io

#include "ackline/io/fs/memory_file_system.h"

#include <algorithm>
#include <set>

#include "ackline/base/check.h"
#include "ackline/io/fs/memory_disk.h"

namespace ackline::io {
namespace {

using Node = MemoryNode;

std::string trimmed(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::unexpected<Error> missing(const std::string& path) {
  return fail(ErrorCode::kNotFound, path + ": no such file or directory");
}

std::unexpected<Error> dead(const std::string& path) {
  return fail(ErrorCode::kUnavailable, path + ": the process that opened it is dead");
}

}  // namespace

class MemoryFileSystem::Handle final : public File {
 public:
  Handle(std::shared_ptr<MemoryDisk> disk, std::string path, Node node)
      : disk_(std::move(disk)),
        path_(std::move(path)),
        node_(std::move(node)),
        life_(disk_->life) {}

  Result<void> write(std::uint64_t position, ByteView bytes) override {
    const auto fault = disk_->ask(FsOperation::kWrite, path_);
    const std::lock_guard guard(disk_->mutex);
    if (disk_->life != life_) return dead(path_);
    ++disk_->stats.writes;
    if (fault) {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(fault->applied_bytes, bytes.size()));
      node_->write(position, bytes.first(count));
      return std::unexpected(fault->error);
    }
    if (auto room = disk_->reserve(path_, node_->cached.size(), position + bytes.size()); !room) {
      return room;
    }
    disk_->stats.bytes_written += bytes.size();
    node_->write(position, bytes);
    return {};
  }

  Result<std::size_t> read(std::uint64_t position, std::span<std::byte> out) const override {
    return read_as(FsOperation::kRead, position, out);
  }
  Result<std::size_t> read_nowait(std::uint64_t position, std::span<std::byte> out) const override {
    return read_as(FsOperation::kReadNowait, position, out);
  }

  Result<void> sync() override {
    const auto fault = disk_->ask(FsOperation::kSync, path_);
    const std::lock_guard guard(disk_->mutex);
    if (disk_->life != life_) return dead(path_);
    ++disk_->stats.syncs;
    if (fault) {
      node_->forget_dirty();
      return std::unexpected(fault->error);
    }
    node_->sync();
    return {};
  }

  Result<void> resize(std::uint64_t size) override {
    const auto fault = disk_->ask(FsOperation::kResize, path_);
    const std::lock_guard guard(disk_->mutex);
    if (disk_->life != life_) return dead(path_);
    if (fault) return std::unexpected(fault->error);
    if (auto room = disk_->reserve(path_, node_->cached.size(), size); !room) return room;
    node_->resize(size);
    return {};
  }

  Result<std::uint64_t> size() const override {
    const std::lock_guard guard(disk_->mutex);
    if (disk_->life != life_) return dead(path_);
    return node_->cached.size();
  }

 private:
  Result<std::size_t> read_as(FsOperation operation, std::uint64_t position,
                              std::span<std::byte> out) const {
    const auto fault = disk_->ask(operation, path_);
    const std::lock_guard guard(disk_->mutex);
    if (disk_->life != life_) return dead(path_);
    ++disk_->stats.reads;
    if (fault) {
      if (fault->error.code == ErrorCode::kTimeout) ++disk_->stats.nowait_misses;
      return std::unexpected(fault->error);
    }
    return node_->cached.read(position, out);
  }

  const std::shared_ptr<MemoryDisk> disk_;
  const std::string path_;
  const Node node_;
  const std::uint64_t life_;
};

class MemoryFileSystem::Lock final : public FileLock {
 public:
  Lock(std::shared_ptr<MemoryDisk> disk, std::string path)
      : disk_(std::move(disk)), path_(std::move(path)), life_(disk_->life) {}
  ~Lock() override {
    const std::lock_guard guard(disk_->mutex);
    if (disk_->life == life_) disk_->locks.erase(path_);
  }

 private:
  const std::shared_ptr<MemoryDisk> disk_;
  const std::string path_;
  const std::uint64_t life_;
};

MemoryFileSystem::MemoryFileSystem(std::uint64_t capacity_bytes)
    : disk_(std::make_shared<MemoryDisk>()) {
  disk_->capacity = capacity_bytes;
  disk_->directories["/"];
  disk_->directories["."];
}

MemoryFileSystem::~MemoryFileSystem() = default;

Result<std::unique_ptr<File>> MemoryFileSystem::open(const std::string& path, OpenMode mode) {
  if (const auto fault = disk_->ask(FsOperation::kOpen, path)) return std::unexpected(fault->error);
  const std::lock_guard guard(disk_->mutex);
  const auto [parent, name] = split_path(path);
  const auto directory = disk_->directories.find(parent);
  if (directory == disk_->directories.end()) return missing(path);
  Node node = disk_->find(path);
  if (node && mode == OpenMode::kCreateNew) {
    return fail(ErrorCode::kStale, path + ": exists already");
  }
  if (!node) {
    if (mode == OpenMode::kRead || mode == OpenMode::kReadWrite) return missing(path);
    node = std::make_shared<MemoryFile>();
    directory->second.change({.erased = "", .set = name, .node = node});
  }
  return std::make_unique<Handle>(disk_, path, std::move(node));
}

Result<bool> MemoryFileSystem::exists(const std::string& path) {
  const std::lock_guard guard(disk_->mutex);
  return disk_->find(path) != nullptr || disk_->directories.contains(trimmed(path));
}

Result<void> MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  if (const auto fault = disk_->ask(FsOperation::kRename, to)) return std::unexpected(fault->error);
  const std::lock_guard guard(disk_->mutex);
  const auto [from_parent, from_name] = split_path(from);
  const auto [to_parent, to_name] = split_path(to);
  const Node node = disk_->find(from);
  if (!node || !disk_->directories.contains(to_parent)) return missing(node ? to : from);
  if (from_parent == to_parent) {
    disk_->directories[to_parent].change({.erased = from_name, .set = to_name, .node = node});
    return {};
  }
  disk_->directories[to_parent].change({.erased = "", .set = to_name, .node = node});
  disk_->directories[from_parent].change({.erased = from_name, .set = "", .node = nullptr});
  return {};
}

Result<void> MemoryFileSystem::remove(const std::string& path) {
  if (const auto fault = disk_->ask(FsOperation::kRemove, path)) {
    return std::unexpected(fault->error);
  }
  const std::lock_guard guard(disk_->mutex);
  if (!disk_->find(path)) return missing(path);
  const auto [parent, name] = split_path(path);
  disk_->directories[parent].change({.erased = name, .set = "", .node = nullptr});
  return {};
}

Result<void> MemoryFileSystem::make_directories(const std::string& path) {
  if (const auto fault = disk_->ask(FsOperation::kMakeDirectories, path)) {
    return std::unexpected(fault->error);
  }
  const std::lock_guard guard(disk_->mutex);
  const std::string whole = trimmed(path);
  for (std::size_t end = 0; end < whole.size();) {
    end = whole.find('/', end + 1);
    if (end == std::string::npos) end = whole.size();
    const std::string prefix = whole.substr(0, end);
    if (disk_->find(prefix)) {
      return fail(ErrorCode::kUnavailable, prefix + ": is a file, not a directory");
    }
    if (!prefix.empty()) disk_->directories[prefix];
  }
  return {};
}

Result<std::vector<std::string>> MemoryFileSystem::list(const std::string& directory) {
  if (const auto fault = disk_->ask(FsOperation::kList, directory)) {
    return std::unexpected(fault->error);
  }
  const std::lock_guard guard(disk_->mutex);
  const std::string whole = trimmed(directory);
  const auto found = disk_->directories.find(whole);
  if (found == disk_->directories.end()) return missing(directory);
  std::set<std::string> names;
  for (const auto& [name, node] : found->second.cached) names.insert(name);
  for (const auto& [path, below] : disk_->directories) {
    if (path != "/" && path != "." && path != whole && split_path(path).first == whole) {
      names.insert(split_path(path).second);
    }
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Result<void> MemoryFileSystem::remove_all(const std::string& path) {
  if (const auto fault = disk_->ask(FsOperation::kRemove, path)) {
    return std::unexpected(fault->error);
  }
  const std::lock_guard guard(disk_->mutex);
  const std::string whole = trimmed(path);
  std::erase_if(disk_->directories, [&](const auto& entry) {
    return entry.first == whole || entry.first.starts_with(whole + "/");
  });
  if (disk_->find(whole)) {
    const auto [parent, name] = split_path(whole);
    disk_->directories[parent].change({.erased = name, .set = "", .node = nullptr});
  }
  return {};
}

Result<void> MemoryFileSystem::sync_directory(const std::string& directory) {
  const auto fault = disk_->ask(FsOperation::kSyncDirectory, directory);
  if (fault) return std::unexpected(fault->error);
  const std::lock_guard guard(disk_->mutex);
  ++disk_->stats.directory_syncs;
  const auto found = disk_->directories.find(trimmed(directory));
  if (found == disk_->directories.end()) return missing(directory);
  found->second.sync();
  return {};
}

Result<std::unique_ptr<FileLock>> MemoryFileSystem::lock(const std::string& path) {
  if (const auto fault = disk_->ask(FsOperation::kLock, path)) return std::unexpected(fault->error);
  const std::lock_guard guard(disk_->mutex);
  if (!disk_->locks.insert(path).second) {
    return fail(ErrorCode::kInUse, path + " is locked by process 1",
                "Stop that process, or use another data directory.");
  }
  return std::make_unique<Lock>(disk_, path);
}

Result<std::uint64_t> MemoryFileSystem::free_bytes(const std::string&) {
  const std::lock_guard guard(disk_->mutex);
  if (disk_->capacity == UINT64_MAX) return UINT64_MAX;
  const std::uint64_t used = disk_->used();
  return disk_->capacity > used ? disk_->capacity - used : 0;
}

void MemoryFileSystem::kill() {
  const std::lock_guard guard(disk_->mutex);
  ++disk_->life;
  disk_->locks.clear();
}

void MemoryFileSystem::power_cut(Random& random) {
  kill();
  const std::lock_guard guard(disk_->mutex);
  for (const Node& node : disk_->nodes_in_order()) node->power_cut(random);
  for (auto& [path, directory] : disk_->directories) directory.power_cut(random);
}

void MemoryFileSystem::write_back(Random& random) {
  const std::lock_guard guard(disk_->mutex);
  for (const Node& node : disk_->nodes_in_order()) node->write_back(random);
}

void MemoryFileSystem::sync_all() {
  const std::lock_guard guard(disk_->mutex);
  for (const Node& node : disk_->nodes_in_order()) node->sync();
  for (auto& [path, directory] : disk_->directories) directory.sync();
}

void MemoryFileSystem::set_fault_hook(FsFaultHook hook) {
  const std::lock_guard guard(disk_->mutex);
  disk_->hook = std::move(hook);
}

void MemoryFileSystem::set_capacity(std::uint64_t bytes) {
  const std::lock_guard guard(disk_->mutex);
  disk_->capacity = bytes;
}

void MemoryFileSystem::flip_bit(const std::string& path, std::uint64_t position, unsigned bit) {
  const std::lock_guard guard(disk_->mutex);
  const Node node = disk_->find(path);
  ACKLINE_CHECK(node && position < node->cached.size());
  for (MemoryImage* image : {&node->cached, &node->disk}) {
    std::byte value{};
    if (image->read(position, {&value, 1}) == 0) continue;
    value ^= static_cast<std::byte>(1U << (bit % 8U));
    image->write(position, {&value, 1});
  }
}

std::optional<std::string> MemoryFileSystem::contents(const std::string& path) const {
  const std::lock_guard guard(disk_->mutex);
  const Node node = disk_->find(path);
  if (!node) return std::nullopt;
  std::string text(static_cast<std::size_t>(node->cached.size()), '\0');
  static_cast<void>(node->cached.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

std::vector<std::string> MemoryFileSystem::files() const {
  const std::lock_guard guard(disk_->mutex);
  std::vector<std::string> paths;
  for (const auto& [path, directory] : disk_->directories) {
    for (const auto& [name, node] : directory.cached) paths.push_back(join(path, name));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

FsStats MemoryFileSystem::stats() const {
  const std::lock_guard guard(disk_->mutex);
  return disk_->stats;
}

std::unique_ptr<MemoryFileSystem> MemoryFileSystem::clone() const {
  auto copy = std::make_unique<MemoryFileSystem>();
  const std::lock_guard guard(disk_->mutex);
  copy->disk_->capacity = disk_->capacity;
  copy->disk_->stats = disk_->stats;
  std::map<Node, Node> twins;
  const auto twin = [&](const Node& node) -> Node {
    if (!node) return nullptr;
    auto& known = twins[node];
    if (!known) known = std::make_shared<MemoryFile>(*node);
    return known;
  };
  for (const auto& [path, directory] : disk_->directories) {
    MemoryDirectory& made = copy->disk_->directories[path];
    for (const auto& [name, node] : directory.cached) made.cached[name] = twin(node);
    for (const auto& [name, node] : directory.disk) made.disk[name] = twin(node);
    for (const MemoryEntryChange& change : directory.pending) {
      made.pending.push_back({change.erased, change.set, twin(change.node)});
    }
  }
  return copy;
}

}  // namespace ackline::io

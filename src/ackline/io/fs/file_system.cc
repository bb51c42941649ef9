#include "ackline/io/fs/file_system.h"

#include "ackline/io/failpoint.h"

namespace ackline::io {

std::string join(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path.push_back('/');
  path.append(name);
  return path;
}

std::string parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

Result<std::string> read_file(FileSystem& fs, const std::string& path) {
  auto file = fs.open(path, OpenMode::kRead);
  if (!file) return fail(file);
  auto size = (*file)->size();
  if (!size) return fail(size);
  std::string content(static_cast<std::size_t>(*size), '\0');
  auto got = (*file)->read(0, std::as_writable_bytes(std::span(content)));
  if (!got) return fail(got);
  content.resize(*got);
  return content;
}

Result<void> write_file_atomic(FileSystem& fs, const std::string& path, std::string_view content) {
  const std::string beside = path + ".new";
  auto file = fs.open(beside, OpenMode::kCreate);
  if (!file) return fail(file);
  if (auto done = (*file)->resize(0); !done) return fail(done);
  if (auto done = (*file)->write(0, as_bytes(content)); !done) return fail(done);
  failpoint(Failpoint::kReplaceWritten);
  if (auto done = (*file)->sync(); !done) return fail(done);
  failpoint(Failpoint::kReplaceSynced);
  file->reset();
  if (auto done = fs.rename(beside, path); !done) return fail(done);
  failpoint(Failpoint::kReplaceRenamed);
  auto named = fs.sync_directory(parent_of(path));
  failpoint(Failpoint::kReplaceNamed);
  return named;
}

}  // namespace ackline::io

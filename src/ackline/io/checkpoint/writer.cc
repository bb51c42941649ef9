#include <fmt/core.h>

#include <algorithm>

#include "ackline/base/check.h"
#include "ackline/io/checkpoint/checkpoint.h"
#include "ackline/io/checkpoint/format.h"
#include "ackline/io/failpoint.h"

namespace ackline::io {
namespace {

constexpr std::string_view kManifestName = "MANIFEST";
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

}  // namespace

struct CheckpointWriter::Impl {
  enum class Stage : std::uint8_t { kOpen, kFinished, kPublished };

  FileSystem& fs;
  std::string directory;
  CheckpointInfo info;
  std::string name;
  std::unique_ptr<File> file;
  Stage stage = Stage::kOpen;
  std::string buffer;
  std::uint64_t flushed_bytes = 0;
  std::vector<checkpoint::SectionHead> heads;
  Lsn highest_applied{0};
  std::uint64_t index_at = 0;

  [[nodiscard]] Result<void> flush() {
    if (auto done = file->write(flushed_bytes, as_bytes(buffer)); !done) return done;
    flushed_bytes += buffer.size();
    buffer.clear();
    return {};
  }

  // Files of other sequences are of no use once the manifest names this one.
  void remove_others() {
    auto names = fs.list(directory);
    if (!names) return;
    for (const std::string& other : *names) {
      if (checkpoint::file_sequence(other) && other != name) {
        static_cast<void>(fs.remove(join(directory, other)));
      }
    }
  }
};

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::begin(FileSystem& fs,
                                                                  std::string directory,
                                                                  CheckpointInfo info) {
  if (auto done = fs.make_directories(directory); !done) return fail(done);
  auto names = fs.list(directory);
  if (!names) return fail(names);
  info.sequence = 1;
  for (const std::string& name : *names) {
    if (const auto taken = checkpoint::file_sequence(name)) {
      info.sequence = std::max(info.sequence, *taken + 1);
    }
  }
  const std::string name = checkpoint::file_name(info.sequence);
  auto file = fs.open(join(directory, name), OpenMode::kCreateNew);
  if (!file) return fail(file);
  failpoint(Failpoint::kCheckpointBegun);
  auto impl = std::make_unique<Impl>(Impl{.fs = fs,
                                          .directory = std::move(directory),
                                          .info = info,
                                          .name = name,
                                          .file = std::move(*file),
                                          .buffer = checkpoint::encode_header(info),
                                          .heads = {}});
  return std::unique_ptr<CheckpointWriter>(new CheckpointWriter(std::move(impl)));
}

CheckpointWriter::CheckpointWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

CheckpointWriter::~CheckpointWriter() {
  if (impl_->stage == Impl::Stage::kPublished) return;
  impl_->file.reset();
  static_cast<void>(impl_->fs.remove(join(impl_->directory, impl_->name)));
}

Result<void> CheckpointWriter::add(PartitionNumber partition, Lsn applied, ByteView body) {
  ACKLINE_CHECK(impl_->stage == Impl::Stage::kOpen);
  checkpoint::SectionHead head;
  head.partition = partition;
  head.applied = applied;
  head.body_at = bytes_written() + checkpoint::kSectionHeadBytes;
  head.body_bytes = body.size();
  head.body_checksum = checksum64(body);
  impl_->buffer += checkpoint::encode_section_head(head, impl_->info.sequence);
  impl_->buffer += as_text(body);
  impl_->buffer.append((8 - body.size() % 8) % 8, '\0');
  impl_->heads.push_back(head);
  impl_->highest_applied = std::max(impl_->highest_applied, applied);
  if (impl_->buffer.size() < kBufferBytes) return {};
  return impl_->flush();
}

Result<CheckpointInfo> CheckpointWriter::finish(Lsn applied_all) {
  ACKLINE_CHECK(impl_->stage == Impl::Stage::kOpen);
  impl_->index_at = bytes_written();
  impl_->buffer += checkpoint::encode_index(impl_->heads);
  if (auto done = impl_->flush(); !done) return fail(done);
  failpoint(Failpoint::kCheckpointWritten);
  if (auto done = impl_->file->sync(); !done) return fail(done);
  failpoint(Failpoint::kCheckpointSynced);
  // The file's name must be on disk before a manifest says it.
  if (auto done = impl_->fs.sync_directory(impl_->directory); !done) return fail(done);
  failpoint(Failpoint::kCheckpointNamed);
  Lsn lowest = applied_all;
  for (const auto& head : impl_->heads) lowest = std::min(lowest, head.applied);
  impl_->highest_applied = std::max(impl_->highest_applied, lowest);
  impl_->info.journal_lowest = lowest.next();
  impl_->info.journal_synced = impl_->highest_applied;
  impl_->stage = Impl::Stage::kFinished;
  return impl_->info;
}

Result<void> CheckpointWriter::publish(Lsn journal_synced) {
  ACKLINE_CHECK(impl_->stage == Impl::Stage::kFinished);
  if (journal_synced < impl_->highest_applied) {
    return fail(ErrorCode::kStale,
                fmt::format("the checkpoint holds batch {} and the journal is synced through {}",
                            impl_->highest_applied.value(), journal_synced.value()),
                "Sync the journal, then publish.");
  }
  const std::string copy = checkpoint::encode_manifest({.info = impl_->info,
                                                        .file_bytes = impl_->flushed_bytes,
                                                        .index_at = impl_->index_at,
                                                        .sections = impl_->heads.size()});
  const std::string path = join(impl_->directory, kManifestName);
  if (auto done = write_file_atomic(impl_->fs, path, copy + copy); !done) {
    // Where the rename may have happened, a power cut may leave either manifest: keep both files.
    const auto now = read_file(impl_->fs, path);
    const bool not_renamed = now ? *now != copy + copy : now.error().code == ErrorCode::kNotFound;
    if (!not_renamed) impl_->stage = Impl::Stage::kPublished;
    return done;
  }
  impl_->stage = Impl::Stage::kPublished;
  failpoint(Failpoint::kCheckpointPublished);
  impl_->remove_others();
  failpoint(Failpoint::kCheckpointOthersRemoved);
  return {};
}

std::uint64_t CheckpointWriter::bytes_written() const {
  return impl_->flushed_bytes + impl_->buffer.size();
}

}  // namespace ackline::io

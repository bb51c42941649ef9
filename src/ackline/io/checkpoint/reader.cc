#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "ackline/io/checkpoint/checkpoint.h"
#include "ackline/io/checkpoint/format.h"
#include "ackline/io/journal/recovery.h"

namespace ackline::io {
namespace {

using checkpoint::FormatState;
using checkpoint::Manifest;
using checkpoint::SectionHead;

constexpr std::string_view kRestore =
    "Restore the directory from a backup; do not remove it: it still holds data.";

std::unexpected<Error> newer(const std::string& path, std::string_view what, std::uint32_t found,
                             std::uint32_t known) {
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("{} has {} version {}; this program knows version {}", path, what, found, known),
      "Start the release that wrote it, or a newer one.");
}

Result<Manifest> read_manifest(const std::string& path, const std::string& content,
                               std::uint64_t& repaired) {
  const ByteView bytes = as_bytes(content);
  std::optional<Manifest> found;
  int good = 0;
  for (const std::size_t at : {std::size_t{0}, checkpoint::kManifestBytes}) {
    if (at > bytes.size()) break;
    Manifest manifest;
    std::uint32_t version = 0;
    const FormatState state = checkpoint::decode_manifest(bytes.subspan(at), manifest, version);
    if (state == FormatState::kNewer) return newer(path, "format", version, checkpoint::kVersion);
    if (state != FormatState::kGood) continue;
    ++good;
    if (!found) found = manifest;
  }
  if (!found) {
    return fail(ErrorCode::kCorrupt, path + ": neither copy of the manifest can be read",
                std::string(kRestore));
  }
  if (good == 1) ++repaired;
  return *found;
}

// The sections that can be named: by the index, and by their own heads where the index is lost.
class SectionFinder {
 public:
  SectionFinder(ByteView file, const Manifest& manifest) : file_(file), manifest_(manifest) {}

  std::vector<SectionHead> find(std::uint64_t& repaired) {
    const std::uint64_t end = std::min<std::uint64_t>(manifest_.file_bytes, file_.size());
    if (manifest_.index_at < end) {
      const auto at = static_cast<std::size_t>(manifest_.index_at);
      if (auto index =
              checkpoint::decode_index(file_.subspan(at, static_cast<std::size_t>(end) - at))) {
        return std::move(*index);
      }
    }
    ++repaired;
    return walk();
  }

 private:
  // Heads stand at multiples of eight; where one is lost, the next is searched for.
  [[nodiscard]] std::vector<SectionHead> walk() const {
    std::vector<SectionHead> heads;
    std::uint64_t at = checkpoint::kHeaderBytes;
    while (at + checkpoint::kSectionHeadBytes <= file_.size() && at < manifest_.index_at) {
      const auto head = checkpoint::decode_section_head(file_, at, manifest_.info.sequence);
      if (!head || head->body_bytes > file_.size()) {
        at += 8;
        continue;
      }
      heads.push_back(*head);
      at = (head->body_at + head->body_bytes + 7) / 8 * 8;
    }
    return heads;
  }

  ByteView file_;
  const Manifest& manifest_;
};

void take_sections(const std::vector<SectionHead>& heads, ByteView file, const std::string& path,
                   Checkpoint& result) {
  for (const SectionHead& head : heads) {
    const bool inside =
        head.body_at <= file.size() && head.body_bytes <= file.size() - head.body_at;
    const ByteView body = inside ? file.subspan(static_cast<std::size_t>(head.body_at),
                                                static_cast<std::size_t>(head.body_bytes))
                                 : ByteView{};
    if (inside && checksum64(body) == head.body_checksum) {
      result.sections.push_back({head.partition, head.applied, std::string(as_text(body))});
      continue;
    }
    result.damaged.push_back(
        {head.partition, fmt::format("{}, position {}: the state of partition {} cannot be read",
                                     path, head.body_at, head.partition.value())});
  }
}

// Without a manifest: a first checkpoint that a crash interrupted, with everything in the journal
// still, or one that lost its manifest, and with it all that the journal has given up since.
Result<std::optional<Checkpoint>> without_manifest(FileSystem& fs, const std::string& directory,
                                                   const std::string& manifest_path) {
  auto there = fs.exists(directory);
  if (!there) return fail(there);
  if (!*there) return std::nullopt;
  auto names = fs.list(directory);
  if (!names) return fail(names);
  const auto file = std::ranges::find_if(
      *names, [](const std::string& name) { return checkpoint::file_sequence(name).has_value(); });
  if (file == names->end()) return std::nullopt;
  const auto journal = recover_journal(fs, directory, {.any_shard = true}, {},
                                       [](Lsn, const JournalRecord&) { return Result<void>(); });
  if (!journal) return fail(journal);
  if (journal->damage.empty() && journal->last > Lsn{0}) return std::nullopt;
  return fail(ErrorCode::kCorrupt,
              fmt::format("{} is missing, beside {}, and the journal does not have everything from "
                          "its first batch on",
                          manifest_path, *file),
              std::string(kRestore));
}

}  // namespace

Result<std::optional<Checkpoint>> read_checkpoint(FileSystem& fs, const std::string& directory,
                                                  std::uint32_t data_version_max) {
  const std::string manifest_path = join(directory, "MANIFEST");
  auto there = fs.exists(manifest_path);
  if (!there) return fail(there);
  if (!*there) return without_manifest(fs, directory, manifest_path);
  auto content = read_file(fs, manifest_path);
  if (!content) return fail(content);
  Checkpoint result;
  auto manifest = read_manifest(manifest_path, *content, result.repaired);
  if (!manifest) return fail(manifest);
  result.info = manifest->info;
  if (result.info.data_version > data_version_max) {
    return newer(manifest_path, "data", result.info.data_version, data_version_max);
  }
  result.file = checkpoint::file_name(result.info.sequence);
  const std::string path = join(directory, result.file);
  auto bytes = read_file(fs, path);
  if (!bytes) {
    if (bytes.error().code != ErrorCode::kNotFound) return fail(bytes);
    return fail(ErrorCode::kCorrupt, path + " is missing; the manifest beside it names it",
                std::string(kRestore));
  }
  CheckpointInfo info;
  std::uint32_t version = 0;
  const FormatState state = checkpoint::decode_header(as_bytes(*bytes), info, version);
  if (state == FormatState::kNewer) return newer(path, "format", version, checkpoint::kVersion);
  if (state == FormatState::kBad) ++result.repaired;
  if (state == FormatState::kGood && info.sequence != result.info.sequence) {
    return fail(ErrorCode::kCorrupt, path + " is not the checkpoint that its name says",
                std::string(kRestore));
  }
  const auto heads = SectionFinder(as_bytes(*bytes), *manifest).find(result.repaired);
  take_sections(heads, as_bytes(*bytes), path, result);
  result.unnamed_damage = heads.size() < manifest->sections;
  return result;
}

}  // namespace ackline::io

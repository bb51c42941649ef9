#include "ackline/cli/repaired_checkpoint.h"

#include "ackline/runtime/shard_checkpoint.h"

namespace ackline::cli {
namespace {

std::string quarantined_body(std::string_view why) {
  std::string body;
  ByteWriter out(body);
  out.u8(runtime::kSectionQuarantined);
  out.blob(why);
  out.blob({});
  return body;
}

}  // namespace

Result<void> write_checkpoint(io::FileSystem& fs, const std::string& directory,
                              const RepairedCheckpoint& next) {
  const io::CheckpointInfo& info = next.read.info;
  auto writer = io::CheckpointWriter::begin(fs, directory, info);
  if (!writer) return fail(writer);
  for (const io::CheckpointSection& section : next.read.sections) {
    const auto changed = next.changed.find(section.partition);
    const std::string& body = changed == next.changed.end() ? section.body : changed->second;
    if (auto done = (*writer)->add(section.partition, section.applied, as_bytes(body)); !done) {
      return done;
    }
  }
  const Lsn before(info.journal_lowest.value() - 1);
  for (const io::DamagedSection& damaged : next.read.damaged) {
    const std::string body = quarantined_body(damaged.detail);
    if (auto done = (*writer)->add(damaged.partition, before, as_bytes(body)); !done) return done;
  }
  if (auto done = (*writer)->finish(before); !done) return fail(done);
  return (*writer)->publish(info.journal_synced);
}

}  // namespace ackline::cli

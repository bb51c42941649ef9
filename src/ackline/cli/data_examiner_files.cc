// Checkpoints, journals and partition files.
#include <fmt/format.h>

#include <charconv>

#include "ackline/base/bytes.h"
#include "ackline/base/counted.h"
#include "ackline/cli/data_examiner.h"
#include "ackline/io/checkpoint/checkpoint.h"
#include "ackline/log/local/doctor.h"
#include "ackline/log/local/format.h"
#include "ackline/log/local/records.h"
#include "ackline/runtime/shard_checkpoint.h"
#include "ackline/state/records.h"

namespace ackline::cli {

void Examiner::examine_shards() {
  const std::string journal = io::join(path_, state::kJournalName);
  const auto names = fs_.list(journal);
  if (!names) {
    if (names.error().code != ErrorCode::kNotFound) {
      add(FindingLevel::kProblem, journal, names.error());
    }
    return;
  }
  for (const std::string& name : *names) {
    const auto place = shard_place(journal, name);
    if (!place) continue;
    if (shards_ && place->count != *shards_) {
      add(FindingLevel::kNote, place->path, "left over from another number of shards",
          "The next start takes care of it.");
      continue;
    }
    io::RecoverOptions options;
    options.shard = ShardIndex(place->index);
    examine_checkpoint(*place, options);
    catalog_.expect_started(ShardIndex(place->index), options);
    examine_journal(*place, options);
  }
}

void Examiner::examine_checkpoint(const ShardPlace& place, io::RecoverOptions& options) {
  auto checkpoint = io::read_checkpoint(fs_, place.path, runtime::kSectionVersion);
  if (!checkpoint) {
    add(FindingLevel::kDamage, place.path, checkpoint.error());
    return;
  }
  if (!*checkpoint) {
    add(FindingLevel::kNote, place.path, "there is no checkpoint yet: all is in the journal");
    return;
  }
  const io::Checkpoint& found = **checkpoint;
  options.lowest_needed = found.info.journal_lowest;
  options.synced_at_least = found.info.journal_synced;
  for (const io::DamagedSection& damaged : found.damaged) {
    add(FindingLevel::kDamage, name_of(damaged.partition), damaged.detail,
        "The partition is quarantined at the next start; restore it from a backup.");
  }
  if (found.unnamed_damage) {
    add(FindingLevel::kDamage, io::join(place.path, found.file),
        "sections are lost and cannot be named", std::string(kRestore));
  }
  if (found.repaired > 0) {
    add(FindingLevel::kNote, io::join(place.path, found.file),
        "a damaged header or index was made good from its copy");
  }
  for (const io::CheckpointSection& section : found.sections) {
    if (section.partition == PartitionNumber{0}) continue;
    ByteReader in(as_bytes(section.body));
    const bool quarantined = in.u8() == runtime::kSectionQuarantined;
    const auto good = quarantined ? std::nullopt : runtime::read_good_section(in);
    const std::string first(quarantined ? in.blob() : good ? good->log : std::string_view());
    if (quarantined) static_cast<void>(in.blob());
    if (!in.ok() || !in.empty() || (!quarantined && !good)) {
      add(FindingLevel::kDamage, name_of(section.partition), "its checkpoint section is unreadable",
          std::string(kRestore));
    } else if (quarantined) {
      add(FindingLevel::kDamage, name_of(section.partition), "it is quarantined: " + first,
          "The other partitions go on; restore this one from a backup, or delete its topic.");
    } else {
      sections_[section.partition] = first;
      if (const auto log = log::decode_section(first)) ends_[section.partition] = log->next;
    }
  }
  add(FindingLevel::kFine, io::join(place.path, found.file),
      fmt::format("checkpoint of {}", counted(found.sections.size(), "section")));
}

void Examiner::examine_journal(const ShardPlace& place, const io::RecoverOptions& options) {
  const auto recovered = io::recover_journal(
      fs_, place.path, options, [](const io::JournalRecovery&) { return Result<void>(); },
      [this](Lsn, const io::JournalRecord& record) -> Result<void> {
        const auto type = static_cast<state::RecordType>(record.type);
        log_starts_.note(record);
        if (type != state::RecordType::kPublish) return {};
        if (const auto publish = log::decode_publish(record.body)) {
          Offset& end = ends_[record.partition];
          end = std::max(end, publish->base.plus(publish->events));
        }
        return {};
      });
  if (!recovered) {
    add(FindingLevel::kDamage, place.path, recovered.error());
    return;
  }
  for (const io::JournalDamage& damage : recovered->damage) {
    std::string hit = damage.every_partition ? "every partition of the shard" : "";
    for (const PartitionNumber number : damage.partitions) {
      hit += (hit.empty() ? "" : ", ") + name_of(number);
    }
    add(FindingLevel::kDamage, place.path,
        fmt::format("{} (batches {} to {}; hit: {})", damage.detail, damage.first.value(),
                    damage.last.value(), hit),
        "Those partitions are quarantined at the next start, the others go on.");
  }
  if (recovered->cut_batches > 0) {
    add(FindingLevel::kNote, place.path,
        fmt::format("{} whole after one that is torn or damaged: cut off at the next start",
                    counted(recovered->cut_batches, "batch", "batches")),
        "After a crash or a power cut this is as it should be: nothing says that they were ever "
        "synced, so nobody was promised them. After neither, the disk lost what it had: look at "
        "its health.");
  }
  if (recovered->repaired_headers > 0) {
    add(FindingLevel::kNote, place.path,
        fmt::format("{} with a lost header or trailer, whole all the same",
                    counted(recovered->repaired_headers, "batch", "batches")));
  }
  add(FindingLevel::kFine, place.path,
      fmt::format("journal of {}: the next start reads {} with {}",
                  counted(recovered->files.size() + recovered->leftovers.size(), "file"),
                  counted(recovered->batches, "batch", "batches"),
                  counted(recovered->records, "record")));
}

void Examiner::examine_partitions() {
  examine_missing_partitions();
  const auto names = fs_.list(data_->log_path());
  if (!names) {
    if (names.error().code != ErrorCode::kNotFound) {
      add(FindingLevel::kProblem, data_->log_path(), names.error());
    }
    return;
  }
  for (const std::string& name : *names) {
    std::uint32_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size()) {
      add(FindingLevel::kNote, io::join(data_->log_path(), name), "not a file of Ackline's");
      continue;
    }
    examine_partition(PartitionNumber(number), io::join(data_->log_path(), name));
  }
}

// A checkpoint has files of them, and not even the directory is there.
void Examiner::examine_missing_partitions() {
  for (const auto& [number, section] : sections_) {
    const auto log = log::decode_section(section);
    if (!log || log->segments.empty() || !names_.contains(number)) continue;
    const std::string directory = log::format::partition_directory(path_, number);
    const auto there = fs_.exists(directory);
    if (!there || *there) continue;
    add(FindingLevel::kDamage, directory,
        fmt::format("the directory of {} is missing, with {} in it", name_of(number),
                    counted(log->segments.size(), "segment")),
        "Put it back; else the partition is quarantined at the next start.");
  }
}

void Examiner::examine_partition(PartitionNumber number, const std::string& directory) {
  if (meta_read_ && number.value() >= catalog_.numbers.partition) return;  // told already
  if (meta_read_ && !names_.contains(number)) {
    add(FindingLevel::kNote, directory, "of a topic that was deleted",
        "It may be removed while no server runs.");
    return;
  }
  const auto section = sections_.find(number);
  const auto report = log::examine_partition(
      fs_, directory, number,
      section == sections_.end() ? std::nullopt : std::optional<std::string_view>(section->second),
      log_starts_.of(number));
  if (!report) {
    add(FindingLevel::kProblem, directory, report.error());
    return;
  }
  for (const log::Problem& problem : report->problems) {
    add(problem.severity == log::Severity::kDamage ? FindingLevel::kDamage : FindingLevel::kNote,
        fmt::format("{} at {}", problem.file, problem.position), problem.what, problem.remedy);
  }
  if (report->damaged()) return;
  add(FindingLevel::kFine, name_of(number),
      fmt::format("{} in {}", counted(static_cast<std::uint64_t>(report->events), "event"),
                  counted(report->segments.size(), "segment")));
}

std::string Examiner::name_of(PartitionNumber number) const {
  const auto found = names_.find(number);
  return found == names_.end() ? fmt::format("partition number {}", number.value())
                               : fmt::format("{} (number {})", found->second, number.value());
}

}  // namespace ackline::cli

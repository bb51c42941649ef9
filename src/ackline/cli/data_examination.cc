#include "ackline/cli/data_examination.h"

#include <fmt/format.h>

#include <algorithm>

#include "ackline/base/counted.h"
#include "ackline/base/random.h"
#include "ackline/cli/data_examiner.h"
#include "ackline/cli/row_store.h"
#include "ackline/cli/stored_catalog.h"
#include "ackline/io/kv/rocksdb_key_value.h"
#include "ackline/runtime/data_parts.h"
#include "ackline/state/store_factory.h"

namespace ackline::cli {

bool Examiner::open() {
  const auto format = fs_.exists(io::join(path_, state::kFormatName));
  if (!format) {
    add(FindingLevel::kProblem, path_, format.error());
    return false;
  }
  if (!*format) {
    const auto names = fs_.list(path_);
    if (!names) {
      const auto there = fs_.exists(path_);
      const bool gone = there && !*there;
      add(FindingLevel::kProblem, path_,
          gone ? "there is no such directory" : "it is no directory that can be read",
          gone ? "Name the right directory with --data; a server that starts there makes a new one."
               : "Name the data directory with --data; it must be one that this user may read.");
      return false;
    }
    if (names->empty()) {
      add(FindingLevel::kNote, path_, "there is no data yet",
          "Start a server there, or name the right directory with --data.");
      return false;
    }
    // With data but without a format is what a server refuses too.
    const bool data = std::ranges::any_of(*names, [](const std::string& name) {
      return name == state::kMetaName || name == state::kOffsetsName || name == state::kLogName ||
             name == state::kJournalName;
    });
    add(data ? FindingLevel::kDamage : FindingLevel::kNote, path_,
        data ? "there is data, but no file that says its format" : "this is no data directory",
        data ? "Restore the file `format` from a backup." : "Name the right one with --data.");
    return false;
  }
  auto data = state::DataDirectory::open(fs_, path_, {entropy_seed});
  if (data) {
    data_ = std::move(*data);
    add(FindingLevel::kFine, path_, fmt::format("data format {}", state::kDataFormat));
    for (const auto& [name, whole] : data_->worn()) {
      add(FindingLevel::kNote, io::join(path_, name), "one of its two copies is damaged or missing",
          "The next start writes it anew.");
    }
    return true;
  }
  switch (data.error().code) {
    case ErrorCode::kInUse:
      out_.in_use = true;
      add(FindingLevel::kNote, path_, data.error().detail,
          "Stop that server to have the files examined; /readyz says how it is.");
      break;
    case ErrorCode::kCorrupt:
      add(FindingLevel::kDamage, path_, data.error());
      break;
    default:
      add(FindingLevel::kProblem, path_, data.error());
  }
  return false;
}

void Examiner::examine_token() {
  const auto text = data_->read_admin_token();
  if (!text && text.error().code == ErrorCode::kNotFound) {
    add(FindingLevel::kNote, data_->admin_token_path(), "there is no admin token yet",
        "The next start makes one.");
  } else if (!text) {
    add(FindingLevel::kProblem, data_->admin_token_path(), text.error());
  }
}

void Examiner::examine_meta() {
  const std::string path = data_->meta_path();
  const auto there = state::meta_is_made(fs_, *data_);
  if (!there) {
    add(FindingLevel::kDamage, path, there.error());
    return;
  }
  if (!*there) {
    add(FindingLevel::kNote, path, "there is no meta store yet", "The next start makes one.");
    return;
  }
  std::vector<BadRecord> bad;
  auto catalog = read_stored_catalog(fs_, path, &bad);
  if (!catalog) {
    add(FindingLevel::kDamage, path, catalog.error().detail, std::string(state::kMetaRemedy));
    return;
  }
  for (const BadRecord& one : bad) {
    add(FindingLevel::kDamage, one.key, one.error.detail, std::string(kRestore));
  }
  if (catalog->shards > 0) shards_ = catalog->shards;
  names_ = catalog->partition_names();
  if (!bad.empty()) return;
  meta_read_ = true;
  catalog_ = std::move(*catalog);
  add(FindingLevel::kFine, path,
      fmt::format("{}, {}", counted(catalog_.topics.size(), "topic"),
                  counted(catalog_.groups.size(), "group")));
}

// What meta says must be there.
void Examiner::examine_parts() {
  if (!meta_read_) return;
  const auto missing = runtime::missing_parts(fs_, path_, catalog_.parts());
  if (!missing) {
    add(FindingLevel::kProblem, path_, missing.error());
    return;
  }
  for (const runtime::MissingPart& one : *missing) add(FindingLevel::kDamage, one.path, one.why);
}

void Examiner::examine_offsets() {
  const std::string path = data_->offsets_path();
  const auto there = io::rocksdb_is_made(fs_, path);
  if (there && !*there) return;  // elsewhere by `offset.path`, or not made yet
  auto kv =
      there ? io::open_rocksdb(fs_, path) : Result<std::unique_ptr<io::KeyValue>>(fail(there));
  if (!kv) {
    add(FindingLevel::kDamage, path, kv.error());
    return;
  }
  std::size_t records = 0;
  const auto done = (*kv)->scan("", "", [&](std::string_view, std::string_view) {
    ++records;
    return true;
  });
  if (!done) {
    add(FindingLevel::kDamage, path, done.error());
    return;
  }
  add(FindingLevel::kFine, path, counted(records, "record"));
}

// After the shards: progress cannot be ahead of the log.
void Examiner::examine_rows() {
  const std::string path = data_->deliveries_path();
  const auto there = fs_.exists(path);
  if (!there || !meta_read_ || (!*there && !catalog_.rows)) return;  // told where it is looked at
  const auto rows = read_rows(path, catalog_);
  if (!rows) {
    add(FindingLevel::kDamage, path,
        fmt::format("the delivery store is {}: {}", *there ? "damaged" : "missing",
                    rows.error().detail),
        std::string(state::kDeliveriesRemedy));
    return;
  }
  if (!catalog_.rows) {
    add(FindingLevel::kNote, path, "deliveries are in the journals; this store is of before",
        "It may be removed while no server runs.");
    return;
  }
  for (const auto& [progress, counts] : *rows) {
    add(FindingLevel::kFine, path,
        fmt::format("{}: {} in flight, {} settled past the frontier, {}, on {}",
                    catalog_.name_of(progress), counts.in_flight, counts.settled,
                    counted(counts.dead, "dead letter"), counted(counts.partitions, "partition")));
    for (const auto& [partition, frontier] : counts.frontiers) {
      const auto end = ends_.find(partition);
      if (end == ends_.end() || frontier < end->second) continue;
      add(FindingLevel::kProblem, path,
          fmt::format("{} has settled offset {} of {}, and the log ends at {}",
                      catalog_.name_of(progress), frontier.value(), name_of(partition),
                      end->second.value()),
          "Log and store are not of one moment. The next start lets the group begin where the log "
          "begins; restore both from one backup to have more.");
    }
  }
  if (rows->empty()) add(FindingLevel::kFine, path, "no rows");
}

Examination Examiner::run() {
  if (open()) {
    examine_token();
    examine_meta();
    examine_parts();
    examine_offsets();
    examine_shards();
    examine_rows();
    examine_partitions();
  }
  return std::move(out_);
}

std::string_view finding_level_name(FindingLevel level) {
  switch (level) {
    case FindingLevel::kFine:
      return "ok";
    case FindingLevel::kNote:
      return "note";
    case FindingLevel::kProblem:
      return "problem";
    case FindingLevel::kDamage:
      return "damage";
  }
  return "ok";
}

FindingLevel Examination::worst() const {
  FindingLevel level = FindingLevel::kFine;
  for (const Finding& finding : findings) level = std::max(level, finding.level);
  return level;
}

Examination examine_data_directory(io::FileSystem& fs, const std::string& path) {
  return Examiner(fs, path).run();
}

}  // namespace ackline::cli

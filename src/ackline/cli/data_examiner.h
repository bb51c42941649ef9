// One examination of a data directory under way (data_examination.h): what was learnt so far, and
// the steps. data_examination.cc has the small stores, data_examiner_files.cc journal and log.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ackline/base/types.h"
#include "ackline/cli/data_examination.h"
#include "ackline/cli/log_starts.h"
#include "ackline/cli/shard_place.h"
#include "ackline/cli/stored_catalog.h"
#include "ackline/io/journal/recovery.h"
#include "ackline/state/data_directory.h"

namespace ackline::cli {

inline constexpr std::string_view kRestore = "Restore the data directory from a backup.";

class Examiner {
 public:
  Examiner(io::FileSystem& fs, std::string path) : fs_(fs), path_(std::move(path)) {}
  Examination run();

 private:
  void add(FindingLevel level, std::string where, std::string what, std::string remedy = {}) {
    out_.findings.push_back({level, std::move(where), std::move(what), std::move(remedy)});
  }
  void add(FindingLevel level, std::string where, const Error& error) {
    add(level, std::move(where), error.detail, error.remedy);
  }
  // False: there is nothing more to look at.
  bool open();
  void examine_token();
  void examine_meta();
  void examine_parts();
  void examine_offsets();
  void examine_shards();
  void examine_rows();
  void examine_checkpoint(const ShardPlace& place, io::RecoverOptions& options);
  void examine_journal(const ShardPlace& place, const io::RecoverOptions& options);
  void examine_partitions();
  void examine_missing_partitions();
  void examine_partition(PartitionNumber number, const std::string& name);
  [[nodiscard]] std::string name_of(PartitionNumber number) const;

  io::FileSystem& fs_;
  std::string path_;
  Examination out_;
  std::optional<state::DataDirectory> data_;
  std::optional<std::uint32_t> shards_;  // of the layout that counts
  bool meta_read_ = false;
  StoredCatalog catalog_;  // when `meta_read_`
  std::map<PartitionNumber, std::string> names_;
  std::map<PartitionNumber, std::string> sections_;  // the log's part
  std::map<PartitionNumber, Offset> ends_;           // of what a start finds
  LogStarts log_starts_;
};

}  // namespace ackline::cli

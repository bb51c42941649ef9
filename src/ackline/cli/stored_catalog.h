// What the meta store of a stopped server says: topics, groups and lanes, how many shards there
// were, and where deliveries were kept. For `ackline doctor`.
//
// Blocking; the caller holds the data directory's lock. Errors: those of the meta store and its
// records.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ackline/base/result.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/io/journal/recovery.h"
#include "ackline/runtime/catalog.h"
#include "ackline/runtime/catalog_records.h"
#include "ackline/runtime/data_parts.h"

namespace ackline::cli {

struct StoredCatalog {
  std::map<std::string, runtime::Topic> topics;
  std::vector<runtime::Group> groups;
  std::vector<runtime::Lane> lanes;
  runtime::Numbers numbers;
  std::uint32_t shards = 0;                      // 0: no server has started yet
  bool rows = false;                             // deliveries are in the delivery store
  std::vector<runtime::StartedJournal> started;  // one a shard, or none

  // The partitions and dead-letter partitions of one shard.
  [[nodiscard]] std::vector<PartitionNumber> partitions_of(ShardIndex shard) const;
  // "orders/0" and "orders_DLQ/0", by number.
  [[nodiscard]] std::map<PartitionNumber, std::string> partition_names() const;
  // As a start looks for them.
  [[nodiscard]] runtime::KnownParts parts() const;
  // Adds what the last start wrote of the shard's journal to what the manifest says of it.
  void expect_started(ShardIndex shard, io::RecoverOptions& options) const;
  // "orders/billing", "lane r-7 of orders/billing".
  [[nodiscard]] std::string name_of(ProgressNumber progress) const;
};

struct BadRecord {
  std::string key;
  Error error;
};

// kNotFound when there is no store; none is made. With `bad` a record that cannot be read is listed
// there and left out, and the rest is read all the same; without, it is the error.
[[nodiscard]] Result<StoredCatalog> read_stored_catalog(io::FileSystem& fs,
                                                        const std::string& meta_path,
                                                        std::vector<BadRecord>* bad = nullptr);

}  // namespace ackline::cli

// The delivery store of rows (`delivery.store: rocksdb`) of a stopped server: is it whole, what is
// in it, and what can be made again of one that is damaged or gone. For `ackline doctor`.
//
// What can be made again: a group starts behind the last frontier that was exported to the offset
// store (once a second, always of what was synced), with the dead letters that lie in the
// dead-letter log. So events past that frontier come again, with their first attempt, and what was
// settled past it as well; what is dead stays dead and is not made a second time. Nothing that was
// not settled is lost.
//
// Blocking, one thread; the caller holds the data directory's lock.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ackline/base/result.h"
#include "ackline/cli/data_repair.h"
#include "ackline/cli/stored_catalog.h"
#include "ackline/io/fs/file_system.h"
#include "ackline/state/data_directory.h"

namespace ackline::cli {

// The rows of one group or lane.
struct RowCounts {
  std::uint64_t partitions = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t settled = 0;  // past the frontiers
  std::uint64_t dead = 0;     // dead letters
  std::map<PartitionNumber, Offset> frontiers;
};
using Rows = std::map<ProgressNumber, RowCounts>;

// Opens the store without changing it, verifies every block and reads every row. Errors: what is
// wrong, naming the store or the row.
[[nodiscard]] Result<Rows> read_rows(const std::string& path, const StoredCatalog& catalog);

struct RowStoreRepair {
  std::optional<RepairStep> step;
  std::optional<NoRepair> without;
};
// Nothing when the store is whole, or not there and not used. Changes nothing.
[[nodiscard]] RowStoreRepair plan_row_store_repair(io::FileSystem& fs,
                                                   const state::DataDirectory& data);

}  // namespace ackline::cli

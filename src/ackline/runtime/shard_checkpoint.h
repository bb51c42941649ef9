// A checkpoint under way: what was captured on the shard's thread and is written on a storage
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/io/checkpoint/checkpoint.h"
#include "ackline/runtime/shard.h"

namespace ackline::runtime {

// Version of what is inside a section (docs/formats/checkpoint.md):
//   u8 0, blob: the log's section, blob: the dispatcher's, u64: through where the dispatcher's
//         contains the journal, only if that is further than the log's
//   u8 1, blob: why it is quarantined, blob: the last good section, may be empty
// A damaged partition is carried along, so that no later start takes it for an empty one.
inline constexpr std::uint32_t kSectionVersion = 1;
inline constexpr std::uint8_t kSectionGood = 0;
inline constexpr std::uint8_t kSectionQuarantined = 1;

struct GoodSection {
  std::string_view log;
  std::string_view deliveries;
  std::optional<Lsn> deliveries_applied;
};
// What follows the kind; nullopt: it does not add up.
[[nodiscard]] std::optional<GoodSection> read_good_section(ByteReader& in);
[[nodiscard]] std::string good_section(const GoodSection& section);

// What a changed layout begins with is in its checkpoint and stands for a batch: its journal begins
// behind that, so that nobody takes it for one that has everything from the first batch on.
inline constexpr Lsn kMovedLsn{1};
[[nodiscard]] io::JournalRecovery moved_journal();

// Of a partition whose topic was deleted. The tombstone is durable: what stays on disk after a
// failure is an orphan that the doctor names.
void remove_files(log::LocalPartition& log);

struct Shard::CheckpointJob {
  struct Section {
    PartitionNumber partition;
    Lsn applied;
    std::string body;
  };
  struct Files {
    PartitionNumber partition;
    log::PartitionCheckpoint files;
    std::optional<Error> failed;
  };
  std::optional<std::optional<io::Checkpoint>> last;  // once it was read
  std::vector<Section> sections;
  std::vector<Files> files;
  Lsn applied{0};                   // everything up to here is in the sections
  StoredDeliveries::Mark rows = 0;  // and, where deliveries are rows, these
  io::CheckpointInfo info;
  std::unique_ptr<io::CheckpointWriter> writer;
  bool written = false;  // finished and synced; waits for the journal's sync
  bool publishing = false;
  // Of topics that were deleted while their directories were being synced; they go afterwards.
  std::vector<std::unique_ptr<log::LocalPartition>> removed;
  // Segments, then the checkpoint file. Blocking.
  [[nodiscard]] Result<void> write(io::FileSystem& fs, const std::string& directory);
};

}  // namespace ackline::runtime

// Named places where a test ends the process, as kill -9 would: between a write and its sync, a
// sync and its answer, a change of meta and what follows from it.
//
// They are in every build and do nothing until `arm_failpoints` is called (`ackline serve` does so
// when ACKLINE_FAILPOINTS is set): one load and one predictable branch at each, and none stands in
// a loop over events (docs/decisions/0012). Any thread. A point that is reached often enough kills
// the process with SIGKILL after one line on standard error; nothing is flushed or unwound. A text
// that names no point is an error.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "ackline/base/result.h"

namespace ackline::io {

enum class Failpoint : std::uint8_t {
  // The journal: a batch, a round of syncs, the next file, files that go, the file of a start.
  kJournalBatchBefore,
  kJournalBatchTorn,
  kJournalBatchAfter,
  kJournalSyncBefore,
  kJournalSyncAfter,
  kJournalSyncTold,
  kJournalRollHeader,
  kJournalSpareFilled,
  kJournalSpareSynced,
  kJournalSpareNamed,
  kJournalRemoveBefore,
  kJournalRemoveAfter,
  kJournalStartWritten,
  kJournalStartSynced,
  kJournalStartRenamed,
  kJournalStartNamed,
  // A small file that is replaced whole: manifest, epoch and the others of the data directory.
  kReplaceWritten,
  kReplaceSynced,
  kReplaceRenamed,
  kReplaceNamed,
  // A checkpoint and the cut of the journal.
  kCheckpointCaptured,
  kCheckpointSegmentSyncBefore,
  kCheckpointSegmentsSynced,
  kCheckpointDirectorySynced,
  kCheckpointBegun,
  kCheckpointWritten,
  kCheckpointSynced,
  kCheckpointNamed,
  kCheckpointPublished,
  kCheckpointOthersRemoved,
  kCutBefore,
  kCutAfter,
  // Segments and their indexes.
  kSegmentMade,
  kSegmentWriteBefore,
  kSegmentWriteAfter,
  kSegmentSealCut,
  kIndexWritten,
  kSegmentRemoveBefore,
  kSegmentRemoveAfter,
  kPartitionDestroyBefore,
  kPartitionDestroyAfter,
  // RocksDB.
  kMetaBatchBefore,
  kMetaBatchAfter,
  kOffsetsBatchBefore,
  kOffsetsBatchAfter,
  // A change that spans shards: in meta, and not yet at the shards; at the shards, and not yet
  // answered.
  kTopicInMeta,
  kGroupInMeta,
  kSubscriptionInMeta,
  kLaneInMeta,
  kRemovalInMeta,
  kChangeAdopted,
  kLaneTaken,
  kReopened,
  kLogStartMoved,
  kAuditWritten,
  kAuditSynced,
  // A turn of a shard.
  kDeliveriesBefore,
  kDeliveriesWritten,
  kDeadLetterAppended,
  kDeadLetterSettled,
  kPublishesWritten,
  kOffersReleased,
  kWrittenReleased,
  kSyncedReadable,
  kSyncedReleased,
  // A start.
  kBootMetaLoaded,
  kBootCleanMarkGone,
  kBootCheckpointsRead,
  kBootReplayed,
  kBootJournalStarted,
  kLayoutCleared,
  kLayoutCheckpointed,
  kLayoutInMeta,
  kLayoutJournalStarted,
  kLayoutRecorded,
  kLayoutOldRemoved,
  // Deliveries as rows: a move of all of them into the store, and a commit.
  kRowsCleared,
  kRowsTakenOver,
  kRowsStarted,
  kRowsInMeta,
  kRowsCommitBefore,
  kRowsCommitAfter,
  // An orderly stop.
  kStopCheckpointed,
  kStopMarked,
};

inline constexpr std::array<std::string_view, 84> kFailpointNames = {
    "journal.batch.before",
    "journal.batch.torn",
    "journal.batch.after",
    "journal.sync.before",
    "journal.sync.after",
    "journal.sync.told",
    "journal.roll.header",
    "journal.spare.filled",
    "journal.spare.synced",
    "journal.spare.named",
    "journal.remove.before",
    "journal.remove.after",
    "journal.start.written",
    "journal.start.synced",
    "journal.start.renamed",
    "journal.start.named",
    "replace.written",
    "replace.synced",
    "replace.renamed",
    "replace.named",
    "checkpoint.captured",
    "checkpoint.segment-sync.before",
    "checkpoint.segments.synced",
    "checkpoint.directory.synced",
    "checkpoint.begun",
    "checkpoint.written",
    "checkpoint.synced",
    "checkpoint.named",
    "checkpoint.published",
    "checkpoint.others.removed",
    "cut.before",
    "cut.after",
    "segment.made",
    "segment.write.before",
    "segment.write.after",
    "segment.seal.cut",
    "index.written",
    "segment.remove.before",
    "segment.remove.after",
    "partition.destroy.before",
    "partition.destroy.after",
    "meta.batch.before",
    "meta.batch.after",
    "offsets.batch.before",
    "offsets.batch.after",
    "change.topic.in-meta",
    "change.group.in-meta",
    "change.subscription.in-meta",
    "change.lane.in-meta",
    "change.removal.in-meta",
    "change.adopted",
    "lane.taken",
    "reopened",
    "log-start.moved",
    "audit.written",
    "audit.synced",
    "turn.deliveries.before",
    "turn.deliveries.written",
    "turn.dead-letter.appended",
    "turn.dead-letter.settled",
    "turn.publishes.written",
    "turn.offers.released",
    "turn.written.released",
    "turn.synced.readable",
    "turn.synced.released",
    "boot.meta.loaded",
    "boot.clean-mark.gone",
    "boot.checkpoints.read",
    "boot.replayed",
    "boot.journal.started",
    "layout.cleared",
    "layout.checkpointed",
    "layout.in-meta",
    "layout.journal.started",
    "layout.recorded",
    "layout.old.removed",
    "rows.cleared",
    "rows.taken-over",
    "rows.started",
    "rows.in-meta",
    "rows.commit.before",
    "rows.commit.after",
    "stop.checkpointed",
    "stop.marked"};
static_assert(kFailpointNames.size() == static_cast<std::size_t>(Failpoint::kStopMarked) + 1);

// `name:nth=kill`, several with commas: at the nth time that a thread comes by, counted from 1.
// Before the threads start. kBadValue: what is wrong with the text.
[[nodiscard]] Result<void> arm_failpoints(std::string_view text);

inline std::atomic<bool>& failpoints_armed() {
  static constinit std::atomic<bool> armed{false};
  return armed;
}

// Counts the visit. True: the process is to die here.
[[nodiscard]] bool failpoint_reached(Failpoint which);
[[noreturn]] void die_at(Failpoint which);

inline void failpoint(Failpoint which) {
  if (!failpoints_armed().load(std::memory_order_relaxed)) [[likely]]
    return;
  if (failpoint_reached(which)) die_at(which);
}

// For a step that is to be done in half before the end.
[[nodiscard]] inline bool failpoint_due(Failpoint which) {
  return failpoints_armed().load(std::memory_order_relaxed) && failpoint_reached(which);
}

}  // namespace ackline::io

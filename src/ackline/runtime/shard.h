// A shard: one thread that owns partitions, everything of every group on them, and one journal.
//
// Work comes in as tasks on the shard's executor. They change the dispatcher and queue publishes; a
// turn follows them:
//
//   timers -> offers -> dead letters -> commit (delivery batch) -> publishes -> commit (publish
//   batch) -> release
//
// so that input is read before timers fire (invariant 14), a dead letter and its settle share a
// batch (J7), and a publish that cannot be written is taken back whole. What may leave after the
// write leaves at the end of the turn, the rest after the sync (J5). A delivery batch that cannot
// be written stays open and is tried again; until it is written nothing new is offered, settles
// answer the error and lease clocks stand still (invariant 13).
//
// Everything here runs on the shard's thread, except construction and `recover`, which run before
// the thread starts.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ackline/api/admin.h"
#include "ackline/base/random.h"
#include "ackline/base/result.h"
#include "ackline/delivery/dispatcher.h"
#include "ackline/io/checkpoint/checkpoint.h"
#include "ackline/io/journal/journal.h"
#include "ackline/log/local/partition.h"
#include "ackline/runtime/catalog.h"
#include "ackline/runtime/repeated.h"
#include "ackline/runtime/shard_options.h"
#include "ackline/runtime/stored_deliveries.h"
#include "ackline/runtime/timed_storage.h"

namespace ackline::runtime {

class Shard final : public delivery::DispatcherPort {
 public:
  Shard(ShardOptions options, ShardDependencies dependencies);
  ~Shard() override;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // --- boot, before the thread runs (shard_recovery.cc)

  // Takes the catalog and opens this shard's partitions from their checkpoint sections.
  // `old_shards`: of the layout that wrote those and the journals.
  [[nodiscard]] Result<void> open_partitions(const Catalog& catalog,
                                             const std::vector<io::Checkpoint*>& checkpoints,
                                             std::uint32_t old_shards);
  // One record of a journal that concerns this shard.
  [[nodiscard]] Result<void> replay(Lsn lsn, const io::JournalRecord& record);
  // A record of a whole shard's journal (boot, alive).
  [[nodiscard]] Result<void> replay_shard_record(const io::JournalRecord& record);
  void quarantine(PartitionNumber partition, const std::string& why);
  // Of the partitions with numbers below `below`, those that need what was lost.
  void quarantine_hit(const io::JournalDamage& damage, std::uint32_t below);
  // Every record was handed over: looks whether the segments are whole.
  [[nodiscard]] Result<void> finish_replay();
  // Starts the new journal file and finishes: nothing was offered or answered before it is synced
  // (J10).
  [[nodiscard]] Result<void> start_journal(const io::JournalRecovery& recovered);
  // A full checkpoint at once, blocking, that refers to no journal (a changed shard count, J11).
  [[nodiscard]] Result<void> checkpoint_now();

  // Deliveries as rows (shard_rows.cc): they contain the journal that is replayed now through here.
  void begin_rows(Lsn contained);
  // After `start_journal`: rows are ready for work, or all is in a checkpoint and there are none.
  // A data directory that kept it otherwise is changed over; `rows_are_kept` once meta says so.
  [[nodiscard]] Result<void> start_rows(bool clean);
  void rows_are_kept() { rows_only_ = true; }
  // The last step: groups are opened, leases go on.
  void resume(bool clean);
  // Whether this shard owns the partition.
  [[nodiscard]] bool owns(PartitionNumber partition) const;

  // --- the catalog changes
  void adopt(const Delta& delta);
  [[nodiscard]] const Catalog& catalog() const { return catalog_; }

  // --- traffic
  using PublishDone = std::move_only_function<void(Result<Offset>)>;  // offset of the first frame
  void publish(PartitionNumber partition, std::vector<std::string> frames, PublishDone done);
  using SettleDone = std::move_only_function<void(Result<delivery::SettleAnswer>)>;
  // The views in `request` live until this returns.
  void settle(const delivery::SettleRequest& request, SettleDone done);
  void set_window(ClientNumber client, std::uint32_t events, std::uint64_t bytes);
  void set_demand(ClientNumber client, std::uint32_t events);
  void connected(ClientNumber client);
  void disconnected(ClientNumber client);
  void withdraw(const delivery::DeliveryId& id);

  // --- reports: captured after this turn's batch, handed over when it is synced (invariant 13)
  // An error instead, when this turn's batch cannot be written or synced: what is only in memory is
  // nobody's progress.
  template <class T>
  void report(std::move_only_function<T()> capture, std::move_only_function<void(Result<T>)> done);
  // As it is, even then: for what is not progress.
  template <class T>
  void report_anyway(std::move_only_function<T()> capture, std::move_only_function<void(T)> done);
  // The same for a change that must be synced before it is answered (reset, replay, lane, purge).
  void after_sync(std::move_only_function<void(const Error*)> done);
  // When what can be offered now has left, after its sync where it needs one; or could not.
  void when_offered(Task done);
  [[nodiscard]] delivery::Dispatcher& dispatcher() { return *dispatcher_; }
  // For who reads it, whoever keeps it; null when it is not of this shard.
  [[nodiscard]] log::PartitionLog* partition(PartitionNumber number);
  // This shard's part of a redrive. A part that is there already stays as it is.
  [[nodiscard]] Result<delivery::LanePartReport> start_lane(const Lane& lane);
  // Gives back the space of dead letters that are all purged, from the oldest on.
  void trim_dead_letters(const Topic& topic);
  // Writes what is only in memory to the segment files, for who reads them (the lag audit).
  void flush_tails();
  // Runs `attempt`, bringing in what it lacks, until it answers something else than kTimeout.
  void read_cold(PartitionNumber number, Offset at, std::move_only_function<bool()> attempt);
  // The same for a search by append time.
  void read_cold_time(PartitionNumber number, WallMs at, std::move_only_function<bool()> attempt);

  // --- life
  void set_draining(bool draining);
  // Everything written, checkpointed and exported; then `done`. Nothing may be asked of the shard
  // afterwards.
  void stop(std::move_only_function<void()> done);
  struct Health {
    bool poisoned = false;
    bool full = false;
    std::string detail;
    std::uint64_t quarantined = 0;
  };
  [[nodiscard]] Health health() const;
  // As of the end of the last turn; any thread.
  [[nodiscard]] Health health_view() const;
  [[nodiscard]] std::optional<WallMs> exported_at(delivery::ProgressKey key,
                                                  const state::OffsetValue& value) const;
  [[nodiscard]] const io::Journal& own_journal() const { return *journal_; }
  [[nodiscard]] ShardIndex index() const { return options_.index; }
  [[nodiscard]] MonoMs now() const { return deps_.executor.clock().mono(); }
  [[nodiscard]] WallMs wall() const { return deps_.executor.clock().wall(); }
  [[nodiscard]] Executor& executor() { return deps_.executor; }
  [[nodiscard]] StorageExecutor& storage() { return deps_.storage; }
  [[nodiscard]] io::FileSystem& fs() { return deps_.fs; }

 private:
  struct Partition {
    std::unique_ptr<log::LocalPartition> log;
    TopicPtr topic;
    PartitionIndex index;
    bool dead_letter = false;
    Lsn applied{0};             // of its checkpoint section; replay skips up to here
    Lsn deliveries_applied{0};  // and up to here what is not the log's
    Offset committed_end{0};    // end offset of what is in written batches
    bool in_turn = false;       // has appends in the batch that is being made
    bool damaged = false;
    Offset left_below{0};  // files below were to be removed, and were not
  };
  struct QueuedPublish {
    PartitionNumber partition;
    std::vector<std::string> frames;
    PublishDone done;
  };
  struct Appended {
    PartitionNumber partition;
    Offset end;
  };
  struct UnsyncedBatch {
    Lsn lsn;
    std::vector<Appended> appended;
  };
  using Release = std::move_only_function<void(const Error*)>;
  struct Mark {
    Lsn lsn;
    StoredDeliveries::Mark rows = 0;
  };
  struct AfterSync {
    Mark mark;
    Release release;
  };
  struct SyncOffer {
    Mark mark;
    MonoMs at;
    delivery::Offer offer;
    bool written = false;  // waits for the rows' write only
  };
  struct SlotKey {
    delivery::ProgressKey key;
    std::uint32_t slot;
    Offset offset;
    friend auto operator<=>(const SlotKey&, const SlotKey&) = default;
  };

  struct WaitingSettle;  // waiting_settle.h

  // DispatcherPort
  void journal(state::RecordType type, PartitionNumber partition, ByteView body) override;
  delivery::ReadStatus read(delivery::ProgressKey key, Offset from, std::uint32_t max_events,
                            std::uint32_t max_bytes, log::ReadBatch& out) override;
  void deliver(delivery::Offer offer) override;
  void dead_letter(delivery::DeadLetterRequest request) override;
  void count(delivery::ProgressKey key, delivery::DeliveryEvent what,
             std::uint64_t events) override;
  void lane_part_done(ProgressNumber lane, PartitionNumber partition) override;
  void forgot(delivery::ProgressKey key, const delivery::DeadLetterKey& dead) override;

  // The turn (shard.cc).
  void schedule_turn();
  void turn();
  [[nodiscard]] bool sync_stalled() const;
  [[nodiscard]] bool commit_deliveries();
  void commit_publishes();
  void release_written();
  void on_synced(Lsn synced);
  void on_poisoned(const Error& why);
  void give_up(const Error& why);
  void note_stall();
  void stand_still_or_go_on();
  void arm();
  void fire();
  void fail_waiting(const Error& why);
  void hold_writes(const Error& why);
  void release_reached();
  [[nodiscard]] Mark here() const;
  [[nodiscard]] bool reached(const Mark& mark) const;
  void want_synced();
  [[nodiscard]] const Error* poison() const;
  // Rows (shard_rows.cc).
  [[nodiscard]] std::unique_ptr<StoredDeliveries> make_rows(std::uint32_t shards, ShardIndex shard);
  [[nodiscard]] Result<void> restore_rows_of(std::uint32_t old_shards);
  [[nodiscard]] Result<void> open_rows();
  [[nodiscard]] Result<void> checkpoint_through(Lsn applied, Lsn synced);
  [[nodiscard]] bool commit_rows(Lsn journaled);
  void queue_for_rows();
  void release_rows();
  void on_rows_failed(const Error& why);
  [[nodiscard]] std::vector<Release>& settled_releases();
  // Publishing (shard_publish.cc).
  void append_queued(std::vector<QueuedPublish>& taken, std::vector<Appended>& appended,
                     std::vector<std::pair<PublishDone, Offset>>& done);
  [[nodiscard]] Result<void> room_for(std::uint64_t bytes);
  void look_at_disk();
  // Dead letters (shard_dead_letters.cc).
  void write_dead_letters();
  void write_dead_letter(const delivery::DeadLetterRequest& request, const log::StoredEvent& event);
  void finish_dead_letter(const delivery::DeadLetterRequest& request, Result<Offset> dlq_offset);
  void wait_for_dead_letter(const delivery::SettleRequest& request, bool again, SettleDone done);
  [[nodiscard]] std::vector<WaitingSettle> take_waiting(const delivery::DeadLetterRequest& request);
  void drop_dead_letter(const delivery::DeadLetterRequest& request);
  // Behind the hot path (shard_checkpoint.cc).
  void capture_checkpoint();
  void publish_checkpoint();
  void end_checkpoint(const Result<void>& outcome);
  void finish_stop();
  void export_offsets();
  void look_for_stuck();
  void run_retention();
  void truncate(PartitionNumber number, Partition& partition, Offset start);
  void remove_truncated(PartitionNumber number, Offset start);
  struct CheckpointJob;
  // This shard's partitions as sections. `carry`: one that cannot be written keeps its last one.
  [[nodiscard]] Result<void> gather_sections(CheckpointJob& job, Lsn applied, bool carry);
  [[nodiscard]] Result<void> carry_last(CheckpointJob& job, PartitionNumber number,
                                        const Partition& partition);

  void run_read(PartitionNumber number, std::function<std::unique_ptr<log::ReadJob>()> job,
                std::move_only_function<bool()> attempt);
  void add_topic(const TopicPtr& topic);
  void remove_topic(const TopicPtr& topic);
  void add_group(const GroupPtr& group);
  void open_group(const GroupPtr& group);
  void add_subscription(const SubscriptionPtr& subscription);
  [[nodiscard]] Result<void> open_partition(const TopicPtr& topic, PartitionIndex index,
                                            bool dead_letter,
                                            const std::vector<io::Checkpoint*>& checkpoints,
                                            std::uint32_t old_shards);

  ShardOptions options_;
  ShardDependencies deps_;
  Catalog catalog_;
  log::ReadCache cache_;
  std::unordered_map<PartitionNumber, Partition> partitions_;
  std::unique_ptr<delivery::Dispatcher> dispatcher_;
  std::unique_ptr<io::Journal> journal_;
  std::unique_ptr<StoredDeliveries> rows_;  // null: deliveries are in the journal
  bool rows_only_ = false;                  // checkpoints hold no deliveries
  Lsn rows_contained_;                      // of the journal that is replayed
  bool burying_ = false;                    // records belong in the journal's batch, too
  bool buried_ = false;
  bool rows_failed_ = false;
  std::vector<Release> turn_after_write_;  // of rows
  std::deque<AfterSync> after_write_;

  std::vector<QueuedPublish> publishes_;
  std::vector<delivery::DeadLetterRequest> dead_letters_;
  std::map<SlotKey, std::vector<WaitingSettle>> waiting_settles_;
  std::vector<delivery::Offer> written_offers_;
  std::deque<SyncOffer> synced_offers_;
  std::vector<delivery::Offer> turn_sync_offers_;
  std::vector<Release> written_;          // released by this turn's commit
  std::vector<Release> turn_after_sync_;  // get this turn's mark
  std::vector<Task> turn_offered_;
  std::deque<AfterSync> after_sync_;
  std::vector<Release> turn_published_;  // the same, of the journal only
  std::deque<AfterSync> published_after_sync_;
  std::deque<UnsyncedBatch> unsynced_;
  std::vector<Appended> turn_appended_;

  bool turn_scheduled_ = false;
  bool started_ = false;
  bool stopping_ = false;
  bool draining_ = false;
  std::optional<Error> write_error_;  // the delivery batch could not be written
  MonoMs write_error_since_;
  bool still_ = false;       // told the dispatcher so
  bool only_marks_ = false;  // the open batch has nothing but alive marks
  bool unexported_ = true;   // frontiers may have moved since the last export
  std::string scratch_;

  // Deadlines of what is behind the hot path; unset: nothing to do.
  struct Deadlines {
    std::optional<MonoMs> exports, checkpoint, retention, retry;
  } due_;
  Executor::TimerId timer_ = 0;
  std::optional<MonoMs> timer_at_;
  std::optional<MonoMs> expected_at_;  // of the armed timer: a later turn means a stall

  std::unique_ptr<CheckpointJob> checkpoint_;
  std::uint64_t last_checkpoint_bytes_ = 0;
  // What the last checkpoint could not cut: a quarantined partition keeps its records.
  std::uint64_t journaled_floor_ = 0;
  // With the time of the write, once it is done.
  std::map<delivery::ProgressKey, std::pair<state::OffsetValue, std::optional<WallMs>>> exported_;
  bool checkpoint_wanted_ = false;
  MonoMs checkpoint_not_before_;  // after one that failed
  bool exporting_ = false;
  Repeated exports_;
  Repeated dead_letter_writes_;
  std::uint64_t free_bytes_ = 0;
  std::uint64_t used_since_look_ = 0;
  bool looking_ = false;
  bool full_ = false;
  std::uint64_t quarantined_ = 0;
  std::move_only_function<void()> stopped_;
  mutable std::mutex health_mutex_;
  Health health_view_;

  std::shared_ptr<Histogram> publish_seconds_;
  std::shared_ptr<Histogram> fsync_seconds_;
  std::unique_ptr<TimedStorage> sync_storage_;  // the journal's
  struct GroupMetrics;
  std::unordered_map<ProgressNumber, std::unique_ptr<GroupMetrics>> group_metrics_;
  std::unordered_map<PartitionNumber, std::shared_ptr<Counter>> published_;
};

template <class T>
void Shard::report(std::move_only_function<T()> capture,
                   std::move_only_function<void(Result<T>)> done) {
  // The capture happens at the end of this turn, so that it sees what the turn did; the wait covers
  // the same batch.
  written_.push_back(
      [this, capture = std::move(capture), done = std::move(done)](const Error* error) mutable {
        if (error != nullptr) {
          done(std::unexpected(*error));
          return;
        }
        T value = capture();
        const Mark mark = here();
        if (reached(mark)) {
          done(std::move(value));
          return;
        }
        want_synced();
        after_sync_.push_back(
            {mark, [value = std::move(value), done = std::move(done)](const Error* failed) mutable {
               if (failed != nullptr) {
                 done(std::unexpected(*failed));
               } else {
                 done(std::move(value));
               }
             }});
      });
  schedule_turn();
}

template <class T>
void Shard::report_anyway(std::move_only_function<T()> capture,
                          std::move_only_function<void(T)> done) {
  auto shared = std::make_shared<std::move_only_function<T()>>(std::move(capture));
  report<T>([shared] { return (*shared)(); },
            [shared, done = std::move(done)](Result<T> value) mutable {
              done(value ? std::move(*value) : (*shared)());
            });
}

}  // namespace ackline::runtime

// The dispatcher of one shard: who is offered which event, for how long, and what has become of it.
//
// A pure state machine: every call gets `now`, effects go out through DispatcherPort, nothing
// blocks and nothing reads a clock. It holds, for each group on each partition of the shard, the
// frontier, the slots of what is in flight, the retry wheel, the keys that are busy and the dead
// letters; and the clients that take deliveries with their demand and window. The same interface
// serves a client in this process and, later, one behind a peer stream (edge and owner).
//
// Used on the shard's thread only. Every change of state that must survive is a record handed to
// the port before the call returns; the shard commits the batch at the end of its turn and releases
// offers and answers after that (J5). Invariants 1 to 7, 9, 11 to 23, 30.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/random.h"
#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/delivery/policy.h"
#include "ackline/delivery/port.h"
#include "ackline/delivery/report.h"
#include "ackline/delivery/touched.h"
#include "ackline/state/delivery_change.h"

namespace ackline::delivery {

// A partition that this shard owns.
struct PartitionSpec {
  PartitionNumber number;
  PartitionIndex index;
  std::string topic;
  Incarnation incarnation;
  PartitionNumber dlq_number;  // 0: a dead-letter partition itself
  Offset log_start;
  Offset end;                 // next offset; the high watermark is end - 1
  std::uint32_t journal = 0;  // in recovery: the old shard whose journal has its records
};

enum class Verb : std::uint8_t { kAck, kNack, kReject, kExtend };

struct SettleRequest {
  Verb verb = Verb::kAck;
  std::string_view client_id;  // as the caller says it; need not be registered
  std::string_view principal;
  DeliveryId id;
  std::optional<std::int64_t> delay_ms;   // nack
  std::optional<std::int64_t> extend_ms;  // extend
  std::string_view reason;                // nack, reject
};

enum class SettleStatus : std::uint8_t { kAcked, kNacked, kRejected, kExtended, kAlready };

struct SettleAnswer {
  SettleStatus status = SettleStatus::kAcked;
  std::int64_t lease_ms = 0;  // kExtended: left from now
  // No answer yet: a dead letter of this event is being written. After `dead_lettered` a reject
  // that asked for it is answered by its outcome; `again`: this one is asked again then.
  bool pending = false;
  bool again = false;
};

// A group, or a lane of it, that makes no progress on a partition although it could.
struct StuckReport {
  ProgressKey key;
  ProgressNumber group;
  std::int64_t for_ms = 0;
  bool stuck = true;  // false: it was, and moves again
};

class Dispatcher {
 public:
  struct Options {
    Epoch epoch;                            // of this boot
    std::uint64_t ahead_max = 4'194'304;    // delivery.maxAhead: events offered past the frontier
    std::uint32_t suspects_per_client = 1;  // delivery.suspects
    std::uint32_t jitter_percent = 20;      // of a backoff wait, up or down
    std::uint32_t restarts_max = 20;
    std::int64_t reconnect_grace_ms = 5'000;
    std::uint32_t read_events = 256;  // per read
    std::uint32_t read_bytes = 256 * 1024;
    // The dispatcher journals the alive marks itself: before the first record of a moment and in
    // `tick`, while timers are armed. Nobody else writes them.
    std::int64_t alive_ms = 1'000;
  };
  Dispatcher(Options options, DispatcherPort& port, Random random);
  ~Dispatcher();

  // --- what exists (from meta, at boot and while running)
  void add_partition(PartitionSpec partition);
  void remove_partition(
      PartitionNumber partition);  // tombstone: all progress on it goes, no records
  void add_group(GroupSpec group);
  void update_group(ProgressNumber group, GroupPolicy policy);
  void remove_group(ProgressNumber group);
  // Opens the group's progress on a partition: restored when there is a snapshot or records, else
  // at `start`.
  void open_progress(ProgressKey key, Offset start);

  // --- recovery: snapshot, then the records after it, then resume

  // One section of a checkpoint: everything of
  // one partition. kCorrupt: damaged or of an unknown version.
  [[nodiscard]] Result<void> restore(PartitionNumber partition, ByteView section);
  void snapshot(PartitionNumber partition, MonoMs now, std::string& out) const;
  // Process and time in which a section was taken.
  struct Origin {
    Epoch epoch;
    MonoMs at;
    MonoMs boot_at;
  };
  [[nodiscard]] static std::optional<Origin> origin_of(ByteView section);
  // The records of another journal follow. Each has a clock of its own, so partitions say whose
  // records they have (`PartitionSpec::journal`); `origin`: of its checkpoint, needed where none of
  // its sections is here. Boot and alive records that the checkpoint includes are left out.
  void begin_journal(std::uint32_t journal, const std::optional<Origin>& origin);
  // All journals were read: their clocks become one, with every lease and wait as far off as it
  // was. `resume` does it, too; a snapshot before `resume` needs it.
  void end_replay();
  // A record that is not the log's own, boot and alive included (partition 0). Records of a
  // partition that its section has applied already are left out by the caller. Groups and
  // partitions are added before; lanes come from the records (`end_unknown_lanes`).
  [[nodiscard]] Result<void> apply(state::RecordType type, PartitionNumber partition,
                                   ByteView body);
  // For a store of rows: what became of what a batch of records touched. A group that was opened
  // anew comes with its lanes. `section_of_rows` (stored.h) is the way back.
  void capture(const TouchedRows& touched, MonoMs now,
               std::vector<state::DeliveryChange>& out) const;
  // All of it.
  void capture_all(MonoMs now, std::vector<state::DeliveryChange>& out) const;
  [[nodiscard]] bool has_progress(ProgressKey key) const;
  // What was exported of it and is durable: progress that is behind that was lost, and is raised by
  // `resume`.
  void note_exported(ProgressKey key, Generation generation, Offset frontier);
  // Starts that followed a clean stop: replay counts none of them for the offers that it finds.
  void note_clean_starts(std::vector<Epoch> epochs);
  // The partition is damaged: where its log ends is not known, and nothing is judged by it.
  void distrust(PartitionNumber partition);
  // Recovery is over. Leases and waits go on with the time that they had left; the first offers may
  // leave. `clean`: the last stop was a drain, so no offer has lived through an unclean start.
  void resume(MonoMs now, WallMs wall, bool clean);

  // --- clients
  void add_client(ClientSpec client, MonoMs now);  // or replaces its options, newest wins
  // Unsubscribed: its leases end at once and are offered to others.
  void remove_client(ClientNumber client, MonoMs now);
  // How much the client may hold on this shard; lent by its home shard.
  void set_window(ClientNumber client, std::uint32_t events, std::uint64_t bytes);
  // How many more offers the client takes now: kUnlimited for a stream, n for a poll, 0 to stop.
  static constexpr std::uint32_t kUnlimited = 0xffffffff;
  void set_demand(ClientNumber client, std::uint32_t events);
  [[nodiscard]] std::uint32_t demand(ClientNumber client) const;
  // One of its offers did not leave.
  void give_back_demand(ClientNumber client);
  // A stream opened: cancels a pending loss and sends again what the client still holds (`resent`).
  void connected(ClientNumber client, MonoMs now);
  // A stream broke: its leases stay for the grace, then end as lost.
  void disconnected(ClientNumber client, MonoMs now);
  // An offer that never left (its poller went away): the attempt is given back.
  void withdraw(const DeliveryId& id, MonoMs now);

  // --- work
  void on_available(PartitionNumber partition, Offset end);
  void on_read(ProgressKey key, Offset from, Result<log::ReadBatch> batch, MonoMs now);
  // Offers what can be offered, at most about `budget` events. True: there is more to do at once.
  bool pump(MonoMs now, WallMs wall, std::uint32_t budget);
  [[nodiscard]] Result<SettleAnswer> settle(const SettleRequest& request, MonoMs now);
  // The answer to DispatcherPort::dead_letter. An error keeps the delivery `dead_lettering` and is
  // tried again.
  void dead_lettered(const DeadLetterRequest& request, Result<Offset> dlq_offset, MonoMs now);
  // The earliest moment at which `tick` has something to do; nullopt: never.
  [[nodiscard]] std::optional<MonoMs> next_due() const;
  void tick(MonoMs now);
  // The server itself stands still (a pause, a disk that does not answer): from `since`, which may
  // be past, until `go_on` no time goes by for leases and waits (invariant 14).
  void stand_still(MonoMs since);
  void go_on(MonoMs now);
  // The data directory's own time at `now` (decision 0008): the one of leases and waits. It stands
  // while the server does, and goes back to when that began.
  [[nodiscard]] MonoMs time(MonoMs now) const;
  // An offer that had to wait leaves now. What it has left of its lease; 0: it is not current any
  // more and does not leave. Its client has it from here on; one that is `resent` it has had
  // before.
  [[nodiscard]] std::int64_t leave(const DeliveryId& id, bool resent, MonoMs now);
  // While true no client can come back (drain), so none is lost: graces begin anew at its end.
  void set_draining(bool draining, MonoMs now);
  // While true nothing new is offered (drain, failed writes); settles go on.
  void set_paused(bool paused);

  // --- retention, replay, reset, lanes

  // Retention took
  // everything below `log_start`; what groups had not passed is `gone` (invariant 30).
  void on_log_start(PartitionNumber partition, Offset log_start);
  // The lowest offset that some group still needs; nullopt: no group on it.
  [[nodiscard]] std::optional<Offset> held_from(PartitionNumber partition) const;
  // Frontier becomes `from` - 1 in a new generation; in flight ones stay with their ids.
  [[nodiscard]] Result<ReopenReport> replay(ProgressKey key, Offset from, bool dry_run, MonoMs now);
  // Frontier becomes `to` - 1, forward too; in flight ids become stale.
  [[nodiscard]] Result<ReopenReport> reset(ProgressKey key, Offset to, bool dry_run, MonoMs now);
  // A lane's part on one partition: delivers again dead entries, or any terminal events (a replay).
  // What is not terminal, not `dead`, or under way in another lane is left out. A part that is
  // there already does nothing. Returns how many were taken.
  [[nodiscard]] Result<LanePartReport> start_lane(LanePart part, MonoMs now);
  void end_lane(ProgressNumber lane, MonoMs now);
  // After `resume`: ends the lanes that meta does not know, so that their events are free.
  void end_unknown_lanes(const std::function<bool(ProgressNumber)>& known, MonoMs now);
  // The lane is done, and meta says so: its parts need their items no more. Returns those that had
  // some, which no record says.
  [[nodiscard]] std::vector<ProgressKey> reduce_lane(ProgressNumber lane);
  // Of these events, the ones that a replay would take now.
  [[nodiscard]] std::vector<Offset> replayable(ProgressKey key,
                                               std::span<const Offset> sources) const;
  // Purge of entries that are dead or resolved: they become `purged`. One under way stays.
  std::uint64_t purge_dead(ProgressKey key, std::span<const Offset> dlq_offsets);

  // --- reports (of the state as it is in memory; the shard waits for the sync before it answers)
  [[nodiscard]] std::optional<ProgressReport> progress(ProgressKey key) const;
  [[nodiscard]] HolePage holes(ProgressKey key, Offset from, std::uint32_t limit) const;
  [[nodiscard]] BlockerReport blocker(ProgressKey key, MonoMs now) const;
  // At most `limit`, from the event `from` on, which may have several.
  [[nodiscard]] std::vector<DeadEntry> dead_entries(ProgressKey key, Offset from,
                                                    std::uint32_t limit) const;
  // Each entry's record and state, in the order of events.
  void for_each_dead(ProgressKey key,
                     const std::function<void(Offset dlq, EntryState state)>& visit) const;
  // The newest entry of an event; and the one whose record lies at an offset of the dead-letter
  // partition (after a replay an event may have several).
  [[nodiscard]] std::optional<DeadEntry> dead_entry(ProgressKey key, Offset source_offset) const;
  [[nodiscard]] std::optional<DeadEntry> dead_entry_at(ProgressKey key, Offset dlq_offset) const;
  [[nodiscard]] LaneReport lane(ProgressNumber lane) const;
  [[nodiscard]] std::vector<ClientReport> clients() const;
  [[nodiscard]] std::vector<ProgressKey> keys() const;
  // Visits what is in flight: conformance and audits.
  void for_each_delivery(ProgressKey key,
                         const std::function<void(const DeliveryReport&)>& visit) const;
  [[nodiscard]] std::size_t memory_bytes() const;
  // Looks whether something that could be offered is not, to be called between pumps a second or so
  // apart: what shows no sign of work for `after_ms` is stuck, which is a bug. Returns what became
  // stuck or moves again since the last look.
  [[nodiscard]] std::vector<StuckReport> look_for_stuck(MonoMs now, std::int64_t after_ms);
  // As of the last look.
  [[nodiscard]] std::vector<StuckReport> stuck() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ackline::delivery

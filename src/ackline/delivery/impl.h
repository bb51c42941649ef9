// The inside of the dispatcher, shared by its sources: setup.cc, clients.cc, offers.cc, leases.cc,
// reads.cc, settles.cc, attempts.cc, dead_letters.cc, timers.cc, recovery.cc, lost_state.cc,
// snapshot.cc, stored.cc, reopen.cc, reorder.cc, lanes.cc, lane_choice.cc, lane_ends.cc,
// reports.cc, stuck.cc.
//
// Time in here is the data directory's own: it advances with the process's monotonic clock, stands
// still while the process is down or the server itself is stalled (`skew_` is the difference), and
// goes on at the next start where the last alive mark left it. So restarts and stalls move no
// lease and no wait (invariants 14, 15, 23), and no slot is touched for it.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/offset_range.h"
#include "ackline/delivery/dispatcher.h"
#include "ackline/delivery/model.h"
#include "ackline/delivery/section_rows.h"
#include "ackline/delivery/touched.h"
#include "ackline/state/delivery_change.h"

namespace ackline::delivery {

// A dead letter that could not be written is asked for again after it.
inline constexpr std::int64_t kAskAgainMs = 1'000;

class Dispatcher::Impl {
 public:
  Impl(Options options, DispatcherPort& port, Random random)
      : options_(options), port_(port), random_(random), timers_(MonoMs(0)) {}

  // --- setup.cc
  void add_partition(PartitionSpec spec);
  void remove_partition(PartitionNumber number);
  void add_group(GroupSpec spec);
  void update_group(ProgressNumber number, GroupPolicy policy);
  void remove_group(ProgressNumber number);
  void open_progress(ProgressKey key, Offset start);
  Progress& make_progress(ProgressKey key, Group& group, Partition& partition, Offset start);
  void remove_progress(Progress& progress);
  [[nodiscard]] Progress* find(ProgressKey key) const;
  [[nodiscard]] Progress* route(ProgressNumber progress, PartitionIndex partition) const;
  [[nodiscard]] Group* find_group(ProgressNumber number) const;
  [[nodiscard]] Client* find_client(ClientNumber number) const;

  // --- clients.cc
  void add_client(ClientSpec spec);
  void remove_client(ClientNumber number);
  void set_window(ClientNumber number, std::uint32_t events, std::uint64_t bytes);
  void set_demand(ClientNumber number, std::uint32_t events);
  void connected(ClientNumber number);
  void disconnected(ClientNumber number);
  void set_draining(bool draining);
  void lose_client(Client& client);
  void end_unsubscribed(Progress& progress, std::uint32_t index);
  void end_lost(Progress& progress, std::uint32_t index);
  void end_if_left(Progress& progress, std::uint32_t index);
  void forget_client(Client& client);
  void adopt_leases(Progress& progress, const Client* only);
  struct Held {
    Progress* progress;
    std::uint32_t index;
  };
  [[nodiscard]] static std::vector<Held> held_by(const Client& client);
  // Its share in a lease: taken by `hold`, given back by `unhold`.
  void hold(Progress& progress, std::uint32_t index, Client& client);
  void unhold(Progress& progress, std::uint32_t index);
  void refresh_open(Client& client);
  [[nodiscard]] Client* pick(Progress& progress, std::uint32_t size_bytes, bool suspect);
  [[nodiscard]] bool eligible(const Client& client, const Partition& partition, bool suspect) const;
  void close_short(Progress& progress, std::uint32_t size_bytes, bool suspect);
  void open_short(Progress& progress, const ShortBytes& before, bool kept);
  void forget_short(Progress& progress);
  [[nodiscard]] static std::uint32_t room_wanted(const Client& client);
  [[nodiscard]] std::uint32_t credit_events(const Group& group, std::uint32_t at_most) const;
  [[nodiscard]] std::string_view holder_name(ClientNumber number) const;

  // --- offers.cc
  enum class Served : std::uint8_t { kIdle, kMore, kParked, kReading };
  bool pump(WallMs wall, std::uint32_t budget);
  void wake(Progress& progress);
  void unpark(Group& group);
  void schedule(Group& group);
  Served serve(Progress& progress, std::uint32_t quantum, std::uint32_t& used);
  Served serve_again(Progress& progress, SlotList& list, bool suspects, std::uint32_t quantum,
                     std::uint32_t& used);
  Served serve_keys(Progress& progress, std::uint32_t quantum, std::uint32_t& used);
  Served serve_cursor(Progress& progress, std::uint32_t quantum, std::uint32_t& used);
  enum class Taken : std::uint8_t { kDone, kNoClient, kFull };
  Taken take_new(Progress& progress, const log::StoredEvent& event,
                 const std::shared_ptr<const void>& buffer);
  void expire_new(Progress& progress, Offset offset);
  Slot& new_slot(Progress& progress, std::uint32_t& index, Offset offset);
  void flush_skipped(Progress& progress);
  void serve_resends();
  bool serve_resend(Progress& progress);
  // Leases the slot to `client`, journals and delivers it.
  void lease(Progress& progress, std::uint32_t index, Client& client, const log::StoredEvent& event,
             std::shared_ptr<const void> buffer);
  void deliver(Progress& progress, std::uint32_t index, const Client& client,
               const log::StoredEvent& event, std::shared_ptr<const void> buffer, bool resent,
               bool after_sync);
  [[nodiscard]] bool is_suspect(const Progress& progress, const Slot& slot) const;

  // --- reads.cc
  void on_available(PartitionNumber number, Offset end);
  void on_read(ProgressKey key, Offset from, Result<log::ReadBatch> batch);
  [[nodiscard]] ReadStatus read(Progress& progress, ReadPlace from, std::uint32_t events,
                                log::ReadBatch& out);
  [[nodiscard]] static ReadPlace place_of(const Progress& progress, Offset offset);
  // What keeps the events of `batch` alive.
  [[nodiscard]] static std::shared_ptr<const void> keep(log::ReadBatch& batch);
  void queue_resends(Progress& progress);
  // The one event of a slot, or of a key whose turn it is. `missing`: the log has it no more.
  [[nodiscard]] ReadStatus read_one(Progress& progress, Offset offset, log::ReadBatch& out,
                                    bool& missing);

  // --- settles.cc
  [[nodiscard]] Result<SettleAnswer> settle(const SettleRequest& request);
  [[nodiscard]] Result<SettleAnswer> settle_current(Progress& progress, std::uint32_t index,
                                                    const SettleRequest& request);
  [[nodiscard]] Result<SettleAnswer> settle_over(Progress& progress, const SettleRequest& request);
  [[nodiscard]] Result<SettleAnswer> reject(Progress& progress, std::uint32_t index,
                                            std::string_view reason);
  [[nodiscard]] Result<SettleAnswer> nack(Progress& progress, std::uint32_t index,
                                          const SettleRequest& request);
  [[nodiscard]] Result<SettleAnswer> extend(Progress& progress, std::uint32_t index,
                                            const SettleRequest& request);
  [[nodiscard]] bool is_current(const Slot& slot, const DeliveryId& id) const;
  // The event of the slot is terminal: journals it, moves the frontier, frees the slot.
  void finish(Progress& progress, std::uint32_t index, state::Outcome outcome);
  void settle_frontier(Progress& progress, Offset offset);

  // --- attempts.cc
  void withdraw(const DeliveryId& id);
  // The lease of a slot ends without an outcome.
  void end_attempt(Progress& progress, std::uint32_t index, state::EndCause cause,
                   std::int64_t retry_in_ms, std::string_view error);
  void make_ready(Progress& progress, std::uint32_t index);
  void free_slot(Progress& progress, std::uint32_t index);
  void leave_state(Progress& progress, std::uint32_t index);
  void set_error(Progress& progress, std::uint32_t index, std::string_view error);
  void release_key(Progress& progress, Slot& slot);
  [[nodiscard]] std::int64_t backoff(const Progress& progress, std::uint32_t attempt);
  [[nodiscard]] DeliveryId id_of(const Progress& progress, std::uint32_t index) const;
  [[nodiscard]] std::int64_t leave(const DeliveryId& id, bool resent);

  // --- dead_letters.cc
  void ask_dead_letter(Progress& progress, std::uint32_t index, DeadReason reason);
  void dead_lettered(const DeadLetterRequest& request, const Result<Offset>& dlq_offset);
  void bury(Progress& progress, std::uint32_t index, DeadReason reason, Offset dlq_offset);
  void bury_in_lane(Progress& lane, std::uint32_t index, DeadReason reason, Offset dlq_offset);
  void expire_event(Progress& progress, std::uint32_t index);

  // --- timers.cc
  [[nodiscard]] std::optional<MonoMs> next_due() const;
  void tick();
  void slot_due(Progress& progress, std::uint32_t index);
  void arm(Progress& progress, std::uint32_t index, MonoMs at);
  void arm_node(std::uint32_t node, MonoMs at);
  void rearm(Progress& progress);
  // Before a record whose time counts: how far the clock has come.
  void stamp();
  void stand_still(MonoMs since);
  void go_on(MonoMs now);

  // --- recovery.cc, snapshot.cc
  void begin_journal(std::uint32_t journal, const std::optional<Origin>& origin);
  void end_replay();
  [[nodiscard]] Result<void> restore(PartitionNumber partition, ByteView section);
  void snapshot(PartitionNumber partition, std::string& out) const;
  [[nodiscard]] Result<void> apply(state::RecordType type, PartitionNumber partition,
                                   ByteView body);
  void resume(MonoMs now, WallMs wall, bool clean);
  void resume_progress(Progress& progress, bool clean);
  void note_progress(Progress& progress);
  // What was lost (lost_state.cc).
  void note_exported(ProgressKey key, Generation generation, Offset frontier);
  void distrust(PartitionNumber number);
  void look_for_lost();
  void raise_to_exported(Progress& progress);
  void cut_at_end(Progress& progress);
  void apply_boot(const state::BootRecord& record);
  void apply_offer(PartitionNumber partition, const state::OfferRecord& record);
  void apply_end(PartitionNumber partition, const state::EndRecord& record);
  void apply_extend(PartitionNumber partition, const state::ExtendRecord& record);
  void apply_settle(PartitionNumber partition, const state::SettleRecord& record);
  void apply_reopen(PartitionNumber partition, const state::ReopenRecord& record);
  [[nodiscard]] Progress* recovered(ProgressNumber progress, PartitionNumber partition);
  // The slot takes its place in recovery; false when its event is terminal.
  bool adopt(Progress& progress, std::uint32_t index, Offset offset, std::uint64_t key_hash);
  void drop_recovered(Progress& progress, std::uint32_t index);
  [[nodiscard]] Result<void> restore_progress(Progress& progress, ByteView body);
  // False: the bytes do not add up.
  [[nodiscard]] bool restore_slots(Progress& progress, ByteReader& in);
  void restore_dead(Progress& progress, ByteReader& in);
  static void restore_lane(LaneState& lane, ByteReader& in);
  void snapshot_progress(const Progress& progress, std::string& out) const;
  [[nodiscard]] static bool is_kept(const Slot& slot);
  [[nodiscard]] section::SlotRow slot_row(const Progress& progress, std::uint32_t index) const;

  // --- stored.cc
  void capture(ProgressKey key, const Touched& touched,
               std::vector<state::DeliveryChange>& out) const;
  void capture_progress(const Progress& progress, const Touched& touched,
                        std::vector<state::DeliveryChange>& out) const;
  void capture_slot(const Progress& progress, std::uint32_t index,
                    state::DeliveryChange& out) const;
  [[nodiscard]] Touched all_of(const Progress& progress) const;

  // --- reopen.cc
  void on_log_start(PartitionNumber partition, Offset log_start);
  void drop_below(Progress& progress, Offset log_start);
  void drop_purged(Progress& progress, Offset dlq_start);
  [[nodiscard]] std::optional<Offset> held_from(PartitionNumber partition) const;
  [[nodiscard]] Result<ReopenReport> replay(ProgressKey key, Offset from, bool dry_run);
  [[nodiscard]] Result<ReopenReport> reset(ProgressKey key, Offset to, bool dry_run);
  void drop_all_slots(Progress& progress);
  void drop_slots_from(Progress& progress, Offset from);
  void note_gone(Progress& progress, Offset first, std::uint64_t events);
  [[nodiscard]] Result<void> reopen_from(Progress& progress, Generation generation, Offset from,
                                         std::span<const Offset> kept);
  void start_generation(Progress& progress, Generation generation, Offset from);
  [[nodiscard]] static std::uint64_t settled_from(const Progress& progress, Offset from);
  [[nodiscard]] static std::vector<OffsetRange> ranges_from(const Progress& progress, Offset from);

  // --- reorder.cc
  void reorder(Progress& progress);
  void list_unread(Progress& progress);
  Served serve_unread(Progress& progress, std::uint32_t quantum, std::uint32_t& used);
  // What a slot that the journal kept did not know of its event.
  void learn_size(Progress& progress, std::uint32_t index, const log::StoredEvent& event);

  // --- lanes.cc, lane_choice.cc, lane_ends.cc
  [[nodiscard]] Result<LanePartReport> start_lane(LanePart part);
  [[nodiscard]] static std::vector<LaneItem> choose_entries(const Progress& of,
                                                            std::vector<Offset> entries,
                                                            LanePartReport& report);
  [[nodiscard]] static std::vector<LaneItem> choose_events(const Progress& of,
                                                           std::vector<Offset> sources,
                                                           LanePartReport& report);
  [[nodiscard]] std::vector<Offset> replayable(ProgressKey key,
                                               std::span<const Offset> sources) const;
  void end_lane(ProgressNumber lane);
  void end_unknown_lanes(const std::function<bool(ProgressNumber)>& known);
  void free_abandoned(Progress& progress);
  [[nodiscard]] std::vector<ProgressKey> reduce_lane(ProgressNumber lane);
  bool abandon_items(Progress& lane, Offset from);
  static void open_what_nobody_holds(Progress& lane);
  void end_lanes_over(Progress& progress, Offset from);
  std::uint64_t purge_dead(ProgressKey key, std::span<const Offset> dlq_offsets);
  Served serve_lane(Progress& progress, std::uint32_t quantum, std::uint32_t& used);
  [[nodiscard]] bool lane_may_offer(Progress& progress);
  void resolve_entry(Progress& progress, std::uint32_t index);
  void fail_entry(Progress& progress, std::uint32_t index, bool missing = false);
  [[nodiscard]] std::optional<Offset> entry_of(const Progress& lane, Offset source) const;
  void entry_done(Progress& progress, Offset source, bool resolved, const std::string& error);
  void entry_made(Progress& lane, Offset source, Offset dlq);
  void tell_if_done(const Progress& lane);
  void journal_entry(const Progress& progress, Offset source, state::EntryState entry_state);
  Progress& make_lane(ProgressNumber number, Group& group, Partition& partition,
                      std::vector<LaneItem> items);
  void apply_lane_part(PartitionNumber partition, const state::LanePartRecord& record);
  void apply_lane_entry(PartitionNumber partition, const state::LaneEntryRecord& record);
  [[nodiscard]] Progress* group_progress(const Progress& lane) const;

  // --- reports.cc
  [[nodiscard]] std::optional<ProgressReport> progress(ProgressKey key) const;
  [[nodiscard]] HolePage holes(ProgressKey key, Offset from, std::uint32_t limit) const;
  [[nodiscard]] BlockerReport blocker(ProgressKey key) const;
  [[nodiscard]] std::vector<DeadEntry> dead_entries(ProgressKey key, Offset from,
                                                    std::uint32_t limit) const;
  void for_each_dead(ProgressKey key, const std::function<void(Offset, EntryState)>& visit) const;
  [[nodiscard]] std::optional<DeadEntry> dead_entry(ProgressKey key, Offset source) const;
  [[nodiscard]] std::optional<DeadEntry> dead_entry_at(ProgressKey key, Offset dlq) const;
  [[nodiscard]] LaneReport lane(ProgressNumber lane) const;
  [[nodiscard]] std::vector<ClientReport> clients() const;
  [[nodiscard]] std::vector<ProgressKey> keys() const;
  void for_each_delivery(ProgressKey key,
                         const std::function<void(const DeliveryReport&)>& visit) const;
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] std::optional<frontier::Hole> next_hole(const Progress& progress,
                                                        Offset from) const;
  [[nodiscard]] DeliveryReport report_of(const Progress& progress, std::uint32_t index) const;

  // --- stuck.cc
  struct Watch {
    std::uint32_t offers = 0;
    Offset cursor;
    Offset committed;
    Generation generation;
    ProgressNumber group;
    MonoMs since;
    bool stuck = false;
    [[nodiscard]] bool same(const Watch& other) const {
      return offers == other.offers && cursor == other.cursor && committed == other.committed &&
             generation == other.generation;
    }
  };
  [[nodiscard]] bool could_offer(const Progress& progress) const;
  [[nodiscard]] static bool has_work(const Progress& progress);
  [[nodiscard]] std::vector<StuckReport> look_for_stuck(std::int64_t after_ms);
  [[nodiscard]] std::vector<StuckReport> stuck() const;
  std::map<ProgressKey, Watch> watches_;  // what could be offered at the last look

  // Metrics of a lane are its group's.
  void count(const Progress& progress, DeliveryEvent what, std::uint64_t events = 1) {
    port_.count({progress.group->spec.number, progress.key.partition}, what, events);
  }

  // --- time
  // From the caller's clock to the one in here, and back.
  void enter(MonoMs now) {
    if (resumed_ && !still_) {
      clock_ = std::max(clock_, MonoMs(now.value() - skew_));
    }
  }
  [[nodiscard]] MonoMs outer(MonoMs inner) const { return inner.plus(skew_); }

  // --- journal
  template <class Record>
  void record(const Progress& progress, const Record& what) {
    buffer_.clear();
    what.encode(buffer_);
    port_.journal(Record::kType, progress.key.partition, as_bytes(buffer_));
  }

  Options options_;
  DispatcherPort& port_;
  Random random_;
  bool resumed_ = false;
  bool paused_ = false;
  bool draining_ = false;
  bool still_ = false;  // the clock stands
  MonoMs clock_{0};
  MonoMs ticked_{0};            // what the timers have seen of it
  std::int64_t skew_ = 0;       // caller's now - clock_
  std::int64_t wall_skew_ = 0;  // wall - clock_, for alive marks
  MonoMs boot_at_{0};           // clock_ at this boot
  MonoMs alive_at_{0};          // of the newest alive mark
  WallMs wall_{0};
  // Until `resume`.
  struct {
    std::map<ProgressKey, std::pair<Generation, Offset>> exported;
    std::set<PartitionNumber> untrusted;
  } lost_;
  // Recovery: the journals, each with its own clock. `clock_` and `replay_epoch_` are those of the
  // one that is read.
  struct JournalTime {
    Epoch epoch;
    MonoMs at{0};
    std::map<Epoch, MonoMs> boots;  // where on the clock each known boot was
  };
  std::map<std::uint32_t, JournalTime> journals_;
  std::uint32_t journal_ = 0;
  Epoch replay_epoch_;
  std::vector<Epoch> clean_starts_;  // of replayed boots, those that followed a clean stop
  MonoMs section_at_{0};             // of the section that is being read

  std::map<PartitionNumber, std::unique_ptr<Partition>> partitions_;
  boost::unordered_flat_map<ProgressNumber, std::unique_ptr<Group>, std::hash<ProgressNumber>>
      groups_;
  std::map<ProgressKey, std::unique_ptr<Progress>> progress_;
  boost::unordered_flat_map<std::uint64_t, Progress*> routes_;  // progress << 32 | partition index
  boost::unordered_flat_map<ClientNumber, std::unique_ptr<Client>, std::hash<ClientNumber>>
      clients_;
  // Names of clients that are gone: a last holder may still settle.
  boost::unordered_flat_map<ClientNumber, std::string, std::hash<ClientNumber>> former_;
  std::deque<ClientNumber> former_order_;

  mutable Progress* recent_progress_ = nullptr;  // of the newest look-up
  mutable Client* recent_client_ = nullptr;

  TimerNodes nodes_;
  io::TimerWheel<TimerNodes> timers_;
  std::deque<Group*> work_;
  std::vector<Progress*> resending_;
  std::string buffer_;
  std::vector<OffsetRange> filtered_;  // of the read that is being served
  std::vector<OffsetRange> expired_;
  std::uint64_t offered_ = 0;
};

}  // namespace ackline::delivery

// What the journal's records add up to: deliveries in flight, progress, lanes.
//
// Fed with records in journal order, from a replay or as they are written. The dispatcher holds the
// same in its own, denser form, and that is what the product reads; this one is the plain statement
// of what each record means, a second reading for tests and the fuzz target of the records.
//
// Time is the image's own: it advances by alive marks and by `advance_to`, and stands still between
// a process's last mark and the next boot record (invariant 15).
//
// Single-threaded, no I/O. Errors: kCorrupt for a body that cannot be read; the image is unchanged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ackline/base/offset_range.h"
#include "ackline/state/delivery_state_store.h"
#include "ackline/state/records.h"

namespace ackline::state {

// One delivery; the times are the image's.
struct ImageDelivery {
  DeliveryState state;
  MonoMs due;
  MonoMs since;
};

struct ImageProgress {
  Generation generation{1};
  Offset frontier{-1};
  std::map<Offset, Offset> settled;  // first -> last, disjoint, not touching, above the frontier
  std::map<Offset, ImageDelivery> deliveries;
  std::optional<ProgressNumber> lane_of;  // a lane: its group
  std::map<Offset, LaneEntry> entries;    // a lane's, by offset
  std::map<Offset, DeadLetterMark> dead;  // settled into the DLQ, by offset
  std::map<Outcome, std::uint64_t> settled_count;

  [[nodiscard]] bool is_settled(Offset offset) const;
  // Marks them terminal, drops their deliveries, moves the frontier. Returns how many are new.
  std::uint64_t settle(OffsetRange range, Outcome outcome);
  // Gaps of the log: nothing exists up to `offset` that is not terminal.
  void raise_frontier(Offset offset);
  // Everything above `to` is open again. `keep_below`: what is past the frontier and not above `to`
  // stays as it is (a replay); else all up to `to` is terminal (a reset).
  void reopen(Offset to, bool keep_below);
};

class DeliveryImage {
 public:
  using Key = std::pair<ProgressNumber, PartitionNumber>;

  // Records of the event log (publish) are passed over.
  [[nodiscard]] Result<void> apply(RecordType type, PartitionNumber partition, ByteView body);

  [[nodiscard]] const ImageProgress* find(ProgressNumber progress, PartitionNumber partition) const;
  [[nodiscard]] ImageProgress* find(ProgressNumber progress, PartitionNumber partition);
  [[nodiscard]] const std::map<Key, ImageProgress>& all() const { return progress_; }
  [[nodiscard]] std::size_t delivery_count() const;
  [[nodiscard]] std::optional<Offset> log_start(PartitionNumber partition) const;
  [[nodiscard]] Epoch epoch() const { return boot_.epoch; }
  [[nodiscard]] std::uint32_t shard_count() const { return boot_.shard_count; }
  // How far the image's time has come.
  [[nodiscard]] MonoMs now() const { return now_; }
  // The running process's time since its boot record; never goes back.
  void advance_to(MonoMs elapsed_since_boot);
  // The state with `due_in_ms` and `since_ms` as of now.
  [[nodiscard]] DeliveryState at_now(const ImageDelivery& delivery) const;

 private:
  void on_offer(PartitionNumber partition, const OfferRecord& record);
  void on_end(PartitionNumber partition, const EndRecord& record);
  void on_extend(PartitionNumber partition, const ExtendRecord& record);
  void on_settle(PartitionNumber partition, const SettleRecord& record);
  void on_reopen(PartitionNumber partition, const ReopenRecord& record);
  void on_lane_part(PartitionNumber partition, const LanePartRecord& record);
  void on_lane_entry(PartitionNumber partition, const LaneEntryRecord& record);
  // The delivery that `offset`, `slot` and `offer` name, if it is the current one.
  ImageDelivery* current(ProgressNumber progress, PartitionNumber partition, Offset offset,
                         std::uint32_t slot, std::uint32_t offer);

  std::map<Key, ImageProgress> progress_;
  std::map<PartitionNumber, Offset> log_start_;
  BootRecord boot_;
  MonoMs boot_at_;  // the image's time at the boot record
  MonoMs now_;
};

}  // namespace ackline::state

// Deliveries in flight, durable: what a restarted dispatcher continues with.
//
// The unit is a batch of one progress on one partition, applied as one moment. Of two puts of one
// offset the last counts; a removal means terminal and wins over every put of that offset in the
// same generation, so a retry that races an ack cannot bring a delivery back.
//
// Three steps: `apply` takes a batch, after `commit` kill -9 cannot undo it (an ack is answered
// then), after `flush` a power cut cannot. A backend that writes each batch at once commits in
// `apply`.
//
// Time: `due_in_ms` and `since_ms` stand still while the process is down (invariant 15). Threading
// and blocking are the backend's; the journal one is used on its shard's thread and does not block
// but in `flush`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/offset_range.h"
#include "ackline/base/types.h"
#include "ackline/state/records.h"
#include "ackline/state/stateful_store.h"

namespace ackline::state {

// For errors about a store that cannot be read.
inline constexpr std::string_view kDeliveriesRemedy =
    "Run `ackline doctor --repair`: it makes the store again from exported frontiers and dead "
    "letters, and nothing that is not settled is lost; or restore the data directory from a "
    "backup.";

// Which delivery: what its deliveryId says.
struct DeliveryRef {
  ProgressNumber progress;
  PartitionNumber partition;
  Offset offset;
  std::uint32_t slot = 0;
  std::uint32_t offer = 0;
  friend auto operator<=>(const DeliveryRef&, const DeliveryRef&) = default;
};

struct DeliveryState {
  DeliveryRef ref;
  Epoch epoch;          // of the process that made the offer; with `ref` it is the deliveryId
  bool leased = false;  // else it waits for its next attempt
  bool lane = false;
  std::uint32_t attempt = 0;  // attempts begun and not given back
  std::uint32_t restarts = 0;
  std::uint32_t losses = 0;     // attempts lost to expiry or client loss (invariant 14, suspects)
  ClientNumber client;          // holder, or the last one
  std::uint64_t due_in_ms = 0;  // leased: lease left; waiting: until the next attempt
  std::uint64_t since_ms = 0;   // how long it has been so; a backend may count from the put
  std::uint64_t key_hash = 0;
  std::string last_error;
  friend bool operator==(const DeliveryState&, const DeliveryState&) = default;
};

struct SettledRange {
  OffsetRange range;
  Outcome outcome = Outcome::kAcked;
  friend bool operator==(const SettledRange&, const SettledRange&) = default;
};

struct Removal {
  Offset offset;
  Outcome outcome = Outcome::kAcked;
  std::optional<DeadLetterMark> dead;
};

struct DeliveryBatch {
  ProgressNumber progress;
  PartitionNumber partition;
  // Above the stored one: a reset; all deliveries but `puts` are dropped. Below: kStale.
  Generation generation;
  // Inclusive, as the caller knows it; gaps of the log may put it past what is settled here.
  Offset frontier;
  std::vector<SettledRange> settled;  // became terminal without a delivery
  std::vector<DeliveryState> puts;
  std::vector<Removal> removes;  // became terminal; unknown offsets are fine
};

struct StoredProgress {
  Generation generation;
  Offset frontier;                   // at least the contiguous settled one
  std::vector<OffsetRange> settled;  // past the frontier
  friend bool operator==(const StoredProgress&, const StoredProgress&) = default;
};

class DeliveryStateStore : public StatefulStore {
 public:
  // All or nothing. Errors: kStale (older generation), kBadValue (a put at or below the frontier,
  // of another progress or without an attempt; a range that is none), and those of the backend,
  // after which nothing changed.
  [[nodiscard]] virtual Result<void> apply(const DeliveryBatch& batch) = 0;
  // What was applied before is written, all of it as one moment. An error keeps what was not
  // written for the next try.
  [[nodiscard]] virtual Result<void> commit() = 0;
  // nullopt: that id is not current here (settled, offered again since, or never known).
  [[nodiscard]] virtual Result<std::optional<DeliveryState>> get(const DeliveryRef& ref) = 0;
  // nullopt: no batch of it was ever applied.
  [[nodiscard]] virtual Result<std::optional<StoredProgress>> progress(
      ProgressNumber progress, PartitionNumber partition) = 0;
  // By partition and offset, until `visit` returns false. `visit` must not call the store.
  [[nodiscard]] virtual Result<void> iterate(
      ProgressNumber progress, const std::function<bool(const DeliveryState&)>& visit) = 0;
  // Deliveries of all progresses.
  [[nodiscard]] virtual Result<std::size_t> count() = 0;

  // Batches of one, in the generation and at the frontier that are stored (generation 1 and
  // frontier -1 where there is none).
  [[nodiscard]] Result<void> put(const DeliveryState& delivery);
  // False: that id is not current here, nothing changed; a late ack of an id that was offered again
  // removes nothing (EventMesh #5291).
  [[nodiscard]] Result<bool> remove(const DeliveryRef& ref, Outcome outcome);

 private:
  [[nodiscard]] Result<DeliveryBatch> batch_of_one(ProgressNumber progress,
                                                   PartitionNumber partition);
};

// What `apply` refuses whatever the backend. `known`: the stored generation, if there is one.
[[nodiscard]] Result<void> check_batch(const DeliveryBatch& batch, std::optional<Generation> known);

}  // namespace ackline::state

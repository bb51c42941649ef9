// What a dispatcher asks of the shard that owns it. Effects out, as calls.
//
// All calls come on the shard's thread, from inside a dispatcher call, and must not call the
// dispatcher back before that call has returned (`dead_letter` and `read` answer later or by their
// return value). Nothing here blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ackline/base/bytes.h"
#include "ackline/base/types.h"
#include "ackline/delivery/delivery_id.h"
#include "ackline/log/event_log.h"
#include "ackline/state/records.h"

namespace ackline::delivery {

// One group (or lane) on one partition: the unit of progress.
struct ProgressKey {
  ProgressNumber progress;
  PartitionNumber partition;
  friend auto operator<=>(const ProgressKey&, const ProgressKey&) = default;
};

// One event handed to one client. `event` stays alive while `hold` does.
struct Offer {
  DeliveryId id;
  ClientNumber client;
  ProgressNumber group;  // the group, also where the offer belongs to a lane
  PartitionNumber partition;
  PartitionIndex partition_index;
  Offset offset;
  std::uint32_t attempt = 1;
  std::uint32_t max_attempts = 1;
  std::int64_t lease_ms = 0;  // left, from now
  bool resent = false;        // the client held it already; same id, lease clock untouched
  bool streamed = false;      // made for the client's stream: no poll gets it
  // False: may leave once the journal batch is written. True: only once it is synced (J5: an event
  // offered before).
  bool after_sync = false;
  std::optional<ProgressNumber> lane;  // set on a redrive and on a replay by filter
  Offset lane_entry{-1};               // offset in the dead-letter partition; -1: no dead letter
  log::StoredEvent event;
  std::shared_ptr<const void> hold;
};

enum class DeadReason : std::uint8_t { kMaxAttempts, kMaxRestarts, kRejected, kExpired };
// As the journal and the dead letter itself have it.
[[nodiscard]] state::DeadReason record_reason(DeadReason reason);

struct DeadLetterRequest {
  ProgressKey key;
  ProgressNumber group;  // whose dead letter it becomes; `key` may be a lane's
  std::uint32_t slot = 0;
  Offset offset;
  Generation generation;
  DeliveryId id;
  std::uint32_t attempts = 0;
  DeadReason reason = DeadReason::kMaxAttempts;
  std::string error;  // last error, for `dlqerror`
};

// An event may have a dead letter of each generation.
struct DeadLetterKey {
  Offset source;
  Generation generation;
  friend auto operator<=>(const DeadLetterKey&, const DeadLetterKey&) = default;
};

enum class ReadStatus : std::uint8_t {
  kReady,    // `out` is filled; empty events with a larger `next` are gaps
  kPending,  // comes by Dispatcher::on_read: later, or has come while `read` ran
  kFailed,   // quarantined or unavailable: the dispatcher asks again after a wait
};

enum class DeliveryEvent : std::uint8_t {
  kOffered,
  kReoffered,
  kAcked,
  kNacked,
  kRejected,
  kExtended,
  kExpiredLease,
  kLostClient,
  kWithdrawn,
  kFiltered,
  kFilterError,
  kExpiredEvent,
  kDeadLettered,
  kGone,
  kStaleAck,
  kForeignAck,
};

class DispatcherPort {
 public:
  virtual ~DispatcherPort() = default;
  // Into the open journal batch of this shard, in order.
  virtual void journal(state::RecordType type, PartitionNumber partition, ByteView body) = 0;
  // The events of `key.partition` from `from` on, at most `max_events` and about `max_bytes`, never
  // past the high watermark. A lane reads dead letters in the dead-letter partition: there `key` is
  // the lane on that one, and `from` an offset of it. `key` comes back in `on_read`. A partition
  // and its dead-letter partition are on one shard.
  virtual ReadStatus read(ProgressKey key, Offset from, std::uint32_t max_events,
                          std::uint32_t max_bytes, log::ReadBatch& out) = 0;
  virtual void deliver(Offer offer) = 0;
  // The lease of `id` ended and the client should forget it (an outbox that has not sent it yet
  // drops it).
  virtual void withdrawn(ClientNumber /*client*/, const DeliveryId& /*id*/) {}
  // Append the event to the dead-letter partition; answer by Dispatcher::dead_lettered in the same
  // journal batch.
  virtual void dead_letter(DeadLetterRequest request) = 0;
  // Metrics and log lines: one call per thing that happened (see DeliveryEvent). `key` names the
  // group, for a lane the group that it belongs to.
  virtual void count(ProgressKey key, DeliveryEvent what, std::uint64_t events) = 0;
  // A lane's part on this shard has no unfinished entry left.
  virtual void lane_part_done(ProgressNumber lane, PartitionNumber partition) = 0;
  // A purged dead letter that the log has no more is forgotten. No record says so: this is for who
  // keeps the dispatcher's state as rows.
  virtual void forgot(ProgressKey /*key*/, const DeadLetterKey& /*dead*/) {}
};

}  // namespace ackline::delivery

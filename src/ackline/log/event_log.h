// The event log contract: what the rest of Ackline may ask of the place where events are kept.
//
// One `PartitionLog` is one partition of one topic incarnation. It answers reads from what is in
// memory at once; what is not, it hands out as a `ReadJob` for a storage thread, so that the
// shard's loop never waits for a disk or a broker. What a backend cannot do it does not pretend:
// its `Capabilities` say so and `require` makes the 501 that names the missing one.
//
// Owned by one shard and used on its thread only, except `ReadJob::run`. Errors: kTimeout (not in
// memory: run a ReadJob, then ask again), kBadValue (outside the log), kQuarantined (damaged; this
// partition only), kUnavailable (not done, try again), kUnsupported.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/base/result.h"
#include "ackline/base/types.h"

namespace ackline::log {

enum class Capability : std::uint8_t {
  kDurable,            // survives the process and the power
  kOrdered,            // reads come in append order
  kContiguousOffsets,  // no gaps: lag is exact without a scan
  kEndOffset,          // the high watermark is known
  kLogStart,           // the oldest offset is known
  kReadByOffset,
  kReadByTime,    // `offset_at_time`
  kTruncation,    // retention and purge are ours
  kBlockingRead,  // a read may wait at the backend for the next event
  kNotification,  // the backend tells of new events
  kDeferredAck,   // the backend wants acks of its own
  kLiteTopic,     // a topic costs next to nothing
  kTopicManagement,
};

// The word for people and 501 answers, e.g. "read_by_time". Never empty.
[[nodiscard]] std::string_view capability_name(Capability capability);

class Capabilities {
 public:
  constexpr Capabilities() = default;
  constexpr Capabilities(std::initializer_list<Capability> have) {
    for (const Capability one : have) bits_ |= bit(one);
  }
  [[nodiscard]] constexpr bool has(Capability one) const { return (bits_ & bit(one)) != 0; }
  // kUnsupported naming the capability and `backend` ("local", "kafka") when it is missing.
  [[nodiscard]] Result<void> require(Capability one, std::string_view backend) const;

 private:
  static constexpr std::uint32_t bit(Capability one) {
    return std::uint32_t{1} << static_cast<unsigned>(one);
  }
  std::uint32_t bits_ = 0;
};

// One event as it lies in the log. `frame` is the event's stored form (ackline/event knows it) and
// points into a buffer of the ReadBatch it came with.
struct StoredEvent {
  Offset offset;
  WallMs append_time;
  ByteView frame;
};

// What a read yielded. Cheap to move; the views live as long as the batch (or whoever took a
// reference of its `buffers`).
struct ReadBatch {
  std::vector<StoredEvent> events;
  // The position reached: an offset below it, at or above the `from` asked for, that is not in
  // `events` does not exist and is never waited for (invariant 2). Read on from here.
  Offset next;
  // Keep the bytes alive; shared with the log's cache, so a batch copies no payload. May be used
  // and dropped on any thread.
  std::vector<std::shared_ptr<const void>> buffers;
};

struct ReadLimits {
  std::uint32_t max_events = 1024;
  // Of frames. The first event is returned whatever its size.
  std::uint64_t max_bytes = std::uint64_t{1} << 20U;
};

// Bytes of the frames of a range of offsets. `exact` is false when a bound was not in memory and
// its place was taken from the index (at most one index step wrong at each end).
struct ByteCount {
  std::uint64_t bytes = 0;
  bool exact = true;
};

// A read that may wait. Made by a PartitionLog, run once on any thread, then handed back to
// `absorb` on the shard's thread. It holds all that it needs: the log may be truncated, closed or
// destroyed meanwhile.
class ReadJob {
 public:
  virtual ~ReadJob() = default;
  virtual void run() = 0;
};

class PartitionLog {
 public:
  virtual ~PartitionLog() = default;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  // Oldest offset that is kept; next offset when nothing is.
  [[nodiscard]] virtual Offset log_start() const = 0;
  // Newest readable event: next readable offset - 1; -1 only before the first. Never falls.
  [[nodiscard]] virtual Offset high_watermark() const = 0;
  // Bytes that the kept events take where they are kept, as far as this log knows.
  [[nodiscard]] virtual std::uint64_t stored_bytes() const = 0;
  // Why it answers kQuarantined or kPoisoned, if it does; the others go on.
  [[nodiscard]] virtual const std::optional<Error>& damage() const = 0;

  // Events from `from` on, in order. At the end of the log an empty batch with next == from. From
  // below the log start it begins at the log start (whoever reads compares `next` and knows what is
  // gone). Errors: kTimeout, kBadValue (from beyond the end), kQuarantined, kUnavailable.
  [[nodiscard]] virtual Result<ReadBatch> read(Offset from, ReadLimits limits) = 0;
  // The first offset whose append time is >= `time`; the next readable offset when there is none.
  // Append times are the wall clock's and may go back; the answer is the first event all the same.
  [[nodiscard]] virtual Result<Offset> offset_at_time(WallMs time) = 0;
  // Of one readable offset.
  [[nodiscard]] virtual Result<WallMs> append_time(Offset offset) = 0;
  // Frame bytes of [from, to), clamped to what is readable.
  [[nodiscard]] virtual ByteCount bytes_between(Offset from, Offset to) = 0;

  // Brings what `read(from)` or `append_time(from)` answered kTimeout for.
  [[nodiscard]] virtual std::unique_ptr<ReadJob> read_job(Offset from) = 0;
  // Brings what `offset_at_time(time)` answered kTimeout for.
  [[nodiscard]] virtual std::unique_ptr<ReadJob> time_job(WallMs time) = 0;
  // Takes what a finished job of this log found; then ask again. The job's error, if it had one;
  // who asks again gets that error once instead of kTimeout.
  [[nodiscard]] virtual Result<void> absorb(std::unique_ptr<ReadJob> job) = 0;
};

}  // namespace ackline::log

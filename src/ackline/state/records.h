// What the journal says about deliveries: the typed bodies of its records.
//
// The dispatcher writes them and its recovery reads them; tests have a second reading. The
// journal itself carries a record's type and its PartitionNumber, so neither is in a body. Frontier
// and cursor are derived from these records, never journaled (architecture.md, J2). The layout of a
// type never changes: a new layout is a new type number. Byte tables: docs/formats/records.md.
//
// Pure functions on values, any thread. `encode` appends to `out` and checks (ACKLINE_CHECK) what
// only a bug can break, such as unsorted ranges. `decode` survives any bytes: kCorrupt for a body
// that is cut, has bytes left over, or holds a value outside its range; it is never guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/base/offset_range.h"
#include "ackline/base/result.h"
#include "ackline/base/types.h"

namespace ackline::state {

// The number of a record's type in the journal. 1 to 31 belong to this table.
enum class RecordType : std::uint8_t {
  kPublish = 1,  // body owned by the local event log
  kOffer = 2,
  kEnd = 3,
  kExtend = 4,
  kSettle = 5,
  kReopen = 6,
  kLanePart = 7,
  kLaneEntry = 8,
  kLogStart = 9,
  kAlive = 10,
  kBoot = 11,
};

// "offer", "settle" …; "unknown" for a number that is not in the table.
[[nodiscard]] std::string_view record_name(RecordType type);

// Longest error text that a record keeps; longer ones are cut at a character border when encoded.
inline constexpr std::size_t kErrorTextMaxBytes = 1024;
// Longest duration that a record keeps (over 100 000 years); longer ones are written as this.
inline constexpr std::uint64_t kDurationMaxMs = 1ULL << 52U;

// An attempt begins: `offset` is leased in `slot` to `client`.
struct OfferRecord {
  ProgressNumber progress;  // the group, or the lane when `lane` is set
  Offset offset;
  std::uint32_t slot = 0;
  std::uint32_t offer = 0;     // counter per (progress, partition), part of the deliveryId
  std::uint32_t attempt = 1;   // from 1
  std::uint32_t restarts = 0;  // unclean starts that this event's offers lived through (inv. 14)
  // Attempts of this event lost to expiry or client loss; 0 leaves what its end records add up to.
  std::uint32_t losses = 0;
  ClientNumber client;
  std::uint64_t lease_ms = 0;  // length of the lease from this record on
  std::uint64_t key_hash = 0;  // of the ordering key; 0: no key
  bool redelivery = false;     // offered before, in whatever attempt (J5: sent after the sync)
  bool lane = false;
  static constexpr RecordType kType = RecordType::kOffer;
  void encode(std::string& out) const;
  [[nodiscard]] static Result<OfferRecord> decode(ByteView body);
  friend bool operator==(const OfferRecord&, const OfferRecord&) = default;
};

enum class EndCause : std::uint8_t {
  kNack = 1,
  kExpiry = 2,
  kLoss = 3,       // the client went away and did not come back in time
  kWithdrawn = 4,  // before its first byte was sent: gives the attempt back (invariant 14)
  kRestart = 5,    // given up when the server started again
};
[[nodiscard]] std::string_view end_cause_name(EndCause cause);

// An attempt ends without a terminal outcome: the event waits `retry_in_ms`, then is offered again.
struct EndRecord {
  ProgressNumber progress;
  Offset offset;
  std::uint32_t slot = 0;
  std::uint32_t offer = 0;
  EndCause cause = EndCause::kNack;
  std::uint64_t retry_in_ms = 0;
  std::string error;  // <= kErrorTextMaxBytes
  static constexpr RecordType kType = RecordType::kEnd;
  void encode(std::string& out) const;
  [[nodiscard]] static Result<EndRecord> decode(ByteView body);
  friend bool operator==(const EndRecord&, const EndRecord&) = default;
};

// The lease of one offer now ends `lease_ms` from this record on.
struct ExtendRecord {
  ProgressNumber progress;
  Offset offset;
  std::uint32_t slot = 0;
  std::uint32_t offer = 0;
  std::uint64_t lease_ms = 0;
  static constexpr RecordType kType = RecordType::kExtend;
  void encode(std::string& out) const;
  [[nodiscard]] static Result<ExtendRecord> decode(ByteView body);
  friend bool operator==(const ExtendRecord&, const ExtendRecord&) = default;
};

// The terminal outcomes (vocabulary, "terminal").
enum class Outcome : std::uint8_t {
  kAcked = 1,
  kRejected = 2,   // dead-lettered at the client's word
  kExhausted = 3,  // dead-lettered after its last attempt or its last unclean start
  kFiltered = 4,
  kExpired = 5,
  kGone = 6,  // retention took it
};
[[nodiscard]] std::string_view outcome_name(Outcome outcome);

// The words of `dlqreason`.
enum class DeadReason : std::uint8_t { kMaxAttempts = 1, kMaxRestarts, kRejected, kExpired };
[[nodiscard]] std::string_view dead_reason_name(DeadReason reason);

// Where a settled event lies in its dead-letter partition.
struct DeadLetterMark {
  Offset dlq_offset;
  DeadReason reason = DeadReason::kMaxAttempts;
  friend bool operator==(const DeadLetterMark&, const DeadLetterMark&) = default;
};

// Offsets become terminal for a group or a lane.
struct SettleRecord {
  ProgressNumber progress;
  Outcome outcome = Outcome::kAcked;
  std::vector<OffsetRange> ranges;     // at least one; ascending and disjoint (`normalise`)
  std::optional<DeadLetterMark> dead;  // only with one range of one offset
  static constexpr RecordType kType = RecordType::kSettle;
  void encode(std::string& out) const;
  // The same bytes without a vector: the dispatcher's hot path.
  static void encode_one(std::string& out, ProgressNumber progress, Outcome outcome, Offset offset,
                         const std::optional<DeadLetterMark>& dead = std::nullopt);
  static void encode_ranges(std::string& out, ProgressNumber progress, Outcome outcome,
                            std::span<const OffsetRange> ranges);
  [[nodiscard]] static Result<SettleRecord> decode(ByteView body);
  friend bool operator==(const SettleRecord&, const SettleRecord&) = default;
};

enum class ReopenKind : std::uint8_t {
  // First sight of the group on this partition: its resolved start (invariant 4). Again in the same
  // generation it only raises the frontier, over offsets that do not exist (invariant 2).
  kStart = 1,
  kReplay = 2,  // keeps in-flight slots and their ids
  kReset = 3,   // drops them
};
[[nodiscard]] std::string_view reopen_kind_name(ReopenKind kind);

// A new generation of a group's progress: everything above `frontier` is open again.
struct ReopenRecord {
  ProgressNumber progress;
  Generation generation;
  Offset frontier;  // inclusive; -1 is before the first
  ReopenKind kind = ReopenKind::kStart;
  std::vector<Offset> kept;  // in-flight offsets that keep their slot; strictly ascending
  static constexpr RecordType kType = RecordType::kReopen;
  void encode(std::string& out) const;
  [[nodiscard]] static Result<ReopenRecord> decode(ByteView body);
  friend bool operator==(const ReopenRecord&, const ReopenRecord&) = default;
};

// State of one dead-letter entry (docs/guarantees.md, "Dead letters and lanes").
enum class EntryState : std::uint8_t { kDead = 1, kRedriving = 2, kResolved = 3, kPurged = 4 };
[[nodiscard]] std::string_view entry_state_name(EntryState state);

enum class LaneKind : std::uint8_t { kRedrive = 1, kReplay = 2 };

struct LaneEntry {
  Offset offset;      // of the event in its own partition
  Offset dlq_offset;  // -1: not from a dead letter
  EntryState state = EntryState::kDead;
  friend bool operator==(const LaneEntry&, const LaneEntry&) = default;
};

// This partition's part of a job over chosen offsets (invariant 18). One record, whatever its size.
struct LanePartRecord {
  ProgressNumber lane;
  ProgressNumber group;
  LaneKind kind = LaneKind::kRedrive;
  std::vector<LaneEntry> entries;  // any order; ascending ones are smallest
  static constexpr RecordType kType = RecordType::kLanePart;
  void encode(std::string& out) const;
  [[nodiscard]] static Result<LanePartRecord> decode(ByteView body);
  friend bool operator==(const LanePartRecord&, const LanePartRecord&) = default;
};

// One entry changes state.
struct LaneEntryRecord {
  ProgressNumber lane;  // 0: no lane did it (purge)
  ProgressNumber group;
  LaneEntry entry;
  static constexpr RecordType kType = RecordType::kLaneEntry;
  void encode(std::string& out) const;
  [[nodiscard]] static Result<LaneEntryRecord> decode(ByteView body);
  friend bool operator==(const LaneEntryRecord&, const LaneEntryRecord&) = default;
};

// Retention moved the partition's first readable offset.
struct LogStartRecord {
  Offset offset;
  static constexpr RecordType kType = RecordType::kLogStart;
  void encode(std::string& out) const;
  [[nodiscard]] static Result<LogStartRecord> decode(ByteView body);
  friend bool operator==(const LogStartRecord&, const LogStartRecord&) = default;
};

// How far this process's clocks had come (inv. 15): before the first record whose time counts of
// each moment, each second while timers are armed, and when a stall set the clock back, so that it
// may be behind the one before. Partition number 0.
struct AliveRecord {
  MonoMs elapsed;  // since the boot record of this process
  WallMs wall;
  static constexpr RecordType kType = RecordType::kAlive;
  void encode(std::string& out) const;
  [[nodiscard]] static Result<AliveRecord> decode(ByteView body);
  friend bool operator==(const AliveRecord&, const AliveRecord&) = default;
};

// A process begins to write. Partition number 0.
struct BootRecord {
  Epoch epoch;
  std::uint32_t shard_count = 1;
  static constexpr RecordType kType = RecordType::kBoot;
  void encode(std::string& out) const;
  [[nodiscard]] static Result<BootRecord> decode(ByteView body);
  friend bool operator==(const BootRecord&, const BootRecord&) = default;
};

// Where records go: the shard's journal in the product (the runtime adapts it), a list in tests.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // Takes the record into the current batch; it is on its way, not yet written. `body` is copied.
  // Errors: kPoisoned, kFull.
  [[nodiscard]] virtual Result<void> append(RecordType type, PartitionNumber partition,
                                            ByteView body) = 0;
};

}  // namespace ackline::state

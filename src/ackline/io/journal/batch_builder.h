// Gathers the records of one batch and wraps them in header and trailer.
//
// One buffer, reused from batch to batch: records go in after a gap, the header is laid into the
// gap when the batch is sealed, so that header, body and trailer are one write. Sealing changes
// nothing that was gathered: a batch whose write failed can be sealed again, with more in it.
#pragma once

#include <vector>

#include "ackline/io/journal/format.h"

namespace ackline::io::journal {

class BatchBuilder {
 public:
  BatchBuilder();
  void add(std::uint8_t type, PartitionNumber partition, ByteView body);
  // A whole body that was read back from a file.
  void add_body(ByteView body, std::span<const PartitionNumber> partitions);
  void clear();
  [[nodiscard]] bool empty() const { return end_ == kGap; }
  [[nodiscard]] std::size_t body_bytes() const { return end_ - kGap; }
  [[nodiscard]] std::uint64_t records() const { return records_; }

  struct Sealed {
    ByteView bytes;  // valid until the next call
    std::uint64_t checksum = 0;
  };
  [[nodiscard]] Sealed seal(std::uint64_t journal_id, Lsn lsn, Lsn synced_through,
                            std::uint64_t previous);

 private:
  static constexpr std::size_t kGap = kMarkBytesMax;
  void reserve(std::size_t more) {
    if (buffer_.size() - end_ < more) grow(more);
  }
  void grow(std::size_t more);
  void touch(PartitionNumber partition) {
    if (partition == last_ && !touched_.empty()) return;
    last_ = partition;
    touch_slowly(partition);
  }
  void touch_slowly(PartitionNumber partition);
  void widen_slots();

  // One slot a partition touched in this batch; a slot of an older round is free.
  struct Slot {
    std::uint32_t partition = 0;
    std::uint32_t round = 0;
  };
  std::vector<std::byte> buffer_;
  std::size_t end_ = kGap;
  std::uint64_t records_ = 0;
  PartitionNumber last_;
  std::vector<PartitionNumber> touched_;
  BatchMark mark_;  // kept for its memory
  std::vector<Slot> slots_;
  std::uint32_t round_ = 1;
};

}  // namespace ackline::io::journal
